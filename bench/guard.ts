/**
 * `npm run bench:guard [-- --rounds N] [--baseline REVISION]`: fails if a record needs over 1.1 times the CPU time of
 * the committed baseline revision (guard-baseline), for accepting, and for accepting and applying. Both services get
 * the same bodies in alternating rounds; the median of the ratios counts, never absolute times.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "../scripts/read-options.ts";
import { type BenchCase, chooseCases } from "./cases.ts";
import { checkOut } from "./checked-out.ts";
import { Closers } from "./closers.ts";
import { type Figures, measureContestant } from "./contestant.ts";
import { LoadProcess } from "./load-process.ts";
import type { StartedService } from "./started-service.ts";
import { spreadOf } from "./statistics.ts";

const RATIO_MAX = 1.1;
const ROUND_SHARE = 0.3;
const CASES = ["reservations-1-new", "reservations-100-new", "reservations-100-unchanged90"];

const USAGE = `npm run bench:guard [-- --rounds N] [--baseline REVISION] [--case NAME …]

Whether a record costs more CPU than in the baseline revision; by default the one of bench/guard-baseline. Exit code 1
when the median of the ratios is above 1.1.`;

const values = readOptions(USAGE, {
  rounds: { type: "string", default: "6" },
  baseline: { type: "string" },
  case: { type: "string", multiple: true, default: CASES },
});
const revision = values.baseline ?? readFileSync(new URL("./guard-baseline", import.meta.url), "utf8").trim();

/** Many short rounds are more robust than few long ones, because a disturbance rarely affects most of them. */
function shortened(benchCase: BenchCase): BenchCase {
  return { ...benchCase, recordsPerRound: benchCase.recordsPerRound * ROUND_SHARE };
}

/** Compares the CPU time per record of a node and its database. */
const MODES = ["accept", "accept and apply"] as const;

interface Pair {
  readonly mode: string;
  readonly baseline: StartedService;
  readonly head: StartedService;
}

/** Starts each revision with its own bench code, which knows its settings and tables. */
async function startPairs(checkout: string, isHeadFirst: boolean, closers: Closers): Promise<Pair[]> {
  const pairs: Pair[] = [];
  for (const mode of MODES) {
    const start = async (module: string): Promise<StartedService> => {
      const bench = (await import(module)) as typeof import("./started-service.ts");
      const settings = mode === "accept" ? bench.ACCEPT_ONLY : {};
      return closers.kept(await bench.startService("bellhop", { settings }));
    };
    const [ofBaseline, ofHead] = [join(checkout, "bench/started-service.ts"), "./started-service.ts"];
    const first = await start(isHeadFirst ? ofHead : ofBaseline);
    const second = await start(isHeadFirst ? ofBaseline : ofHead);
    pairs.push(
      isHeadFirst ? { mode, head: first, baseline: second } : { mode, baseline: first, head: second },
    );
  }
  return pairs;
}

function microsOf({ nodeMicros, postgresMicros }: Figures): number {
  return nodeMicros + postgresMicros;
}

async function ratiosOf(
  pairs: readonly Pair[],
  load: LoadProcess,
  benchCase: BenchCase,
): Promise<number[][]> {
  const ratios: number[][] = pairs.map(() => []);
  for (let round = 0; round <= Number(values.rounds); round += 1) {
    const prepared = await load.prepare({ benchCase, round });
    for (const [at, { baseline, head }] of pairs.entries()) {
      const measure = async ({ contestant }: StartedService) =>
        microsOf(await measureContestant(contestant, load, benchCase, prepared));
      // The order alternates.
      const [first, second] = round % 2 === 0 ? [baseline, head] : [head, baseline];
      const micros = new Map([
        [first, await measure(first)],
        [second, await measure(second)],
      ]);
      if (round > 0) ratios[at]?.push((micros.get(head) ?? 0) / (micros.get(baseline) ?? 0));
    }
  }
  return ratios;
}

/** Ratios by case and mode, with one of the services started first. */
async function measure(
  checkout: string,
  cases: readonly BenchCase[],
  isHeadFirst: boolean,
): Promise<number[][][]> {
  const closers = new Closers();
  try {
    const load = closers.kept(new LoadProcess());
    const pairs = await startPairs(checkout, isHeadFirst, closers);
    const ratios: number[][][] = [];
    for (const benchCase of cases) ratios.push(await ratiosOf(pairs, load, benchCase));
    return ratios;
  } finally {
    await closers.close();
  }
}

let worst = 0;
const baseline = checkOut(revision);
try {
  const cases = chooseCases(values.case, false).map(shortened);
  const baselineFirst = await measure(baseline.folder, cases, false);
  // The service started second costs 0.92 to 0.95 of the first at the same revision, so both orders count.
  const headFirst = await measure(baseline.folder, cases, true);
  console.log(`CPU a record against ${revision} (at most ${RATIO_MAX})`);
  cases.forEach(({ name }, of) => {
    MODES.forEach((mode, at) => {
      const others = headFirst[of]?.[at] ?? [];
      const both = (baselineFirst[of]?.[at] ?? []).map((ratio, round) =>
        Math.sqrt(ratio * (others[round] ?? Number.NaN)),
      );
      const { median, min, max } = spreadOf(both);
      worst = Math.max(worst, median);
      console.log(
        `  ${median > RATIO_MAX ? "WORSE" : "ok   "}  ${name}, ${mode}: ${median.toFixed(3)} [${min.toFixed(3)} to ${max.toFixed(3)}]`,
      );
    });
  });
} finally {
  baseline.stop();
}
process.exit(worst > RATIO_MAX ? 1 : 0);
