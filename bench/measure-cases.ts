import type { BenchCase } from "./cases.ts";
import { measureRound, type RoundFigures } from "./measure-round.ts";
import { type BenchOptions, openBench } from "./open-bench.ts";
import type { CaseResult } from "./report.ts";

function sayRates(round: number, { name }: BenchCase, { contestants }: RoundFigures): void {
  const rates = Object.entries(contestants).map(([contestant, { acceptedPerSecond, appliedPerSecond }]) => {
    const applied = contestant === "bellhop" ? ` (applied ${Math.round(appliedPerSecond)})` : "";
    return `${contestant} ${Math.round(acceptedPerSecond)}${applied}`;
  });
  console.error(`round ${round || "(warm-up)"} ${name}: ${rates.join(", ")}`);
}

/**
 * Measures the cases in several rounds. Round 0 is an uncounted warm-up whose records later rounds change. Each round
 * runs all cases, so that changes of the machine affect all of them.
 */
export async function measureCases(
  cases: readonly BenchCase[],
  rounds: number,
  options: BenchOptions,
): Promise<CaseResult[]> {
  const bench = await openBench(options);
  const figures = new Map<string, RoundFigures[]>(cases.map(({ name }) => [name, []]));
  try {
    for (let round = 0; round <= rounds; round += 1) {
      let fullRates: RoundFigures["contestants"] = {};
      for (const benchCase of cases) {
        const measured = await measureRound(bench, benchCase, round, fullRates);
        if (benchCase.mode === "full") fullRates = measured.contestants;
        sayRates(round, benchCase, measured);
        if (round > 0) figures.get(benchCase.name)?.push(measured);
      }
    }
    for (const line of await bench.statementLines()) console.log(line);
  } finally {
    await bench.close();
  }
  return cases.map((benchCase) => ({ benchCase, rounds: figures.get(benchCase.name) ?? [] }));
}
