/**
 * `npm run bench [-- --quick] [--rounds N] [--case NAME …] [--no-peer] [--growth 1,10] [--json FILE] [--plot
 * FILE.svg]`: measures how fast the service accepts and applies batches, compared with the good team and the limits in
 * the same run (bench/README.md).
 */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { readOptions } from "../scripts/read-options.ts";
import { readConfig } from "../src/config.ts";
import { chooseCases } from "./cases.ts";
import { goalLines, goalsOf } from "./goals.ts";
import { type GrowthResult, measureGrowth } from "./growth.ts";
import { growthGoals } from "./growth-report.ts";
import { machineLine, machineOf } from "./machine.ts";
import { measureCases } from "./measure-cases.ts";
import { type FloodResult, floodGoal, measureFlood } from "./measure-flood.ts";
import { plotOf } from "./plot.ts";
import { type CaseResult, caseLines } from "./report.ts";

const USAGE = `npm run bench [-- --quick] [--rounds N] [--case NAME …] [--no-peer] [--threads N] [--json FILE] [--plot FILE.svg]
npm run bench -- --growth 1,10 [--rounds N] [--json FILE]

What the service takes in and applies, beside the good team and the limits of the same run; bench/README.md says how.

  --quick           one round of the first cases
  --rounds N        rounds that count, after a warm-up; by default 5
  --case NAME       only this case; the flood of large bodies is then left out
  --no-peer         without the good team, whose packages are installed from the registry
  --threads N       threads of the limits; by default as many as the service has for HTTP
  --growth 1,10     the same beside so many million versions instead
  --profile DIR     CPU profiles of the service
  --json, --plot    files for the figures of every round, and for the bars`;

const values = readOptions(USAGE, {
  quick: { type: "boolean", default: false },
  rounds: { type: "string" },
  case: { type: "string", multiple: true, default: [] },
  "no-peer": { type: "boolean", default: false },
  threads: { type: "string" },
  growth: { type: "string" },
  json: { type: "string" },
  plot: { type: "string" },
  profile: { type: "string" },
});

function wholeFrom1(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1.`);
  return value;
}

const rounds = wholeFrom1("rounds", values.rounds ?? (values.quick ? "1" : "5"));
const machine = machineOf();
let results: CaseResult[] = [];
const growth: GrowthResult[] = [];
let flood: FloodResult | undefined;
if (values.growth === undefined) {
  results = await measureCases(chooseCases(values.case, values.quick), rounds, {
    withPeer: !values["no-peer"],
    threads: wholeFrom1("threads", values.threads ?? String(readConfig(process.env).httpThreads)),
    profileDirectory: values.profile === undefined ? undefined : resolve(values.profile),
  });
  if (values.case.length === 0) flood = await measureFlood();
} else {
  for (const millions of values.growth.split(",")) growth.push(await measureGrowth(Number(millions), rounds));
}
const goals = [...(growth.length > 0 ? growth.flatMap(growthGoals) : goalsOf(results))];
if (flood !== undefined) goals.push(floodGoal(flood));
console.log(machineLine(machine));
for (const result of results) console.log(`\n${caseLines(result).join("\n")}`);
console.log(`\nGoals\n${goalLines(goals).join("\n")}`);
if (values.plot !== undefined) writeFileSync(values.plot, plotOf(results, machineLine(machine)));
if (values.json !== undefined) {
  writeFileSync(values.json, `${JSON.stringify({ machine, goals, results, flood, growth }, null, 1)}\n`);
}
process.exit();
