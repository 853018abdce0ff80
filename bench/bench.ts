/**
 * `npm run bench [-- --quick] [--rounds N] [--case NAME …] [--peer NAME …] [--json FILE]`: what the service takes in and
 * applies, beside its peers and the limits of the same run. README.md beside this file says what is measured and how.
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { chooseCases } from "./cases.ts";
import { machineLine, machineOf } from "./machine.ts";
import { measureRound, type RoundFigures } from "./measure-round.ts";
import { openBench } from "./open-bench.ts";
import { PEERS } from "./peers.ts";
import { type CaseResult, caseLines } from "./report.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string" },
    case: { type: "string", multiple: true, default: [] },
    peer: { type: "string", multiple: true },
    threads: { type: "string", default: "1" },
    json: { type: "string" },
    profile: { type: "string" },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 5));
if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a whole number from 1.");
const cases = chooseCases(values.case, values.quick);
const peers = PEERS.filter(({ name }) => values.peer === undefined || values.peer.includes(name));

const bench = await openBench({
  peers,
  threads: Number(values.threads),
  profileDirectory: values.profile === undefined ? undefined : resolve(values.profile),
});
// Nothing is left running by a bench that is interrupted.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => void bench.close().finally(() => process.exit(1)));
}

async function measure(): Promise<CaseResult[]> {
  const figures = new Map<string, RoundFigures[]>(cases.map(({ name }) => [name, []]));
  // Round 0 warms up, is not counted, and leaves the records that the later rounds change. Rounds take turns over the
  // cases, so that what changes on the machine during the run changes all of them.
  for (let round = 0; round <= rounds; round += 1) {
    for (const benchCase of cases) {
      const taking = bench.contestants.filter(({ share }) => share === 1 || benchCase.everyPeer);
      const measured = await measureRound(taking, bench.load, bench.client, benchCase, round);
      const rates = Object.entries(measured.contestants).map(
        ([name, { acceptedPerSecond, appliedPerSecond }]) =>
          `${name} ${Math.round(acceptedPerSecond)}${name === "bellhop" ? ` (applied ${Math.round(appliedPerSecond)})` : ""}`,
      );
      console.error(`round ${round || "(warm-up)"} ${benchCase.name}: ${rates.join(", ")}`);
      if (round > 0) figures.get(benchCase.name)?.push(measured);
    }
  }
  return cases.map((benchCase) => ({ benchCase, rounds: figures.get(benchCase.name) ?? [] }));
}

const machine = machineOf();
let results: CaseResult[] = [];
try {
  results = await measure();
  for (const line of await bench.statementLines()) console.log(line);
} finally {
  await bench.close();
}
console.log(machineLine(machine));
for (const result of results) console.log(`\n${caseLines(result).join("\n")}`);
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ machine, results }, null, 1)}\n`);
process.exit();
