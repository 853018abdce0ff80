/** `npm run campaign -- simulation --seeds N --from S [--plant NAME] [--trace]`: see README.md. */
import { readOptions } from "../../scripts/read-options.ts";
import { PLANTS, type PlantName } from "./plants.ts";
import { runSeed, type Verdict } from "./world.ts";

const NAMES = Object.entries(PLANTS).map(([name, what]) => `    ${name.padEnd(25)} ${what}`);
const USAGE = `npm run campaign -- simulation [--seeds 10000] [--from 1] [--plant NAME] [--trace]

The protocol of acceptance and apply under simulated faults, one world a seed. Exit code 1 at the first that fails.

  --seeds N     seeds to run; --from N is the first one
  --trace       print the events of each
  --plant NAME  a fault that must be found, one of:
${NAMES.join("\n")}`;

const values = readOptions(USAGE, {
  seeds: { type: "string", default: "10000" },
  from: { type: "string", default: "1" },
  plant: { type: "string" },
  trace: { type: "boolean", default: false },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const plant = values.plant as PlantName | undefined;
if (
  !Number.isSafeInteger(from) ||
  !Number.isSafeInteger(seeds) ||
  (plant !== undefined && !(plant in PLANTS))
) {
  console.error(USAGE);
  process.exit(2);
}
const plants = new Set(plant === undefined ? [] : [plant]);
if (!values.trace) Error.stackTraceLimit = 0;

let strayError: unknown;
process.on("unhandledRejection", (error) => {
  strayError ??= error;
});

const startedAt = process.cpuUsage();
let done = 0;
let events = 0;
let stored = 0;
let drainMsMax = 0;
let takeoverMsMax = 0;
let failed: Verdict | undefined;
for (let seed = from; seed < from + seeds && failed === undefined; seed += 1) {
  const verdict = await runSeed(seed, { plants, isTraced: values.trace });
  // Node reports rejections that nobody handles once a turn of the loop is over.
  await new Promise((resolve) => setImmediate(resolve));
  done += 1;
  events += verdict.events;
  stored += verdict.stored;
  drainMsMax = Math.max(drainMsMax, verdict.drainMs);
  takeoverMsMax = Math.max(takeoverMsMax, verdict.takeoverMs);
  if (strayError !== undefined) failed = { ...verdict, failure: `nobody handled: ${String(strayError)}` };
  else if (verdict.failure !== undefined) failed = verdict;
  if (values.trace) {
    for (const line of verdict.lines) console.log(line);
    console.log(`seed ${seed}: ${verdict.failure ?? "all is true"}; hash ${verdict.hash}`);
  }
}
const { user, system } = process.cpuUsage(startedAt);
const minutes = (user + system) / 60e6;
console.log(
  `${done} seeds, ${events} events, ${stored} parts stored and applied; ${Math.round(done / minutes)} seeds a minute of CPU; drained at the latest ${(drainMsMax / 1000).toFixed(1)} s after the last fault; where one node failed, nothing waited longer than ${(takeoverMsMax / 1000).toFixed(1)} s`,
);
if (failed !== undefined) {
  const { seed, failure } = failed;
  const traced = values.trace ? failed : await runSeed(seed, { plants, isTraced: true });
  for (const line of traced.lines.slice(-60)) console.log(line);
  console.log(`seed ${seed} fails, the ${done}th that was run: ${failure}`);
  console.log(
    `npm run campaign -- simulation --seeds 1 --from ${seed}${plant === undefined ? "" : ` --plant ${plant}`} --trace`,
  );
  process.exitCode = 1;
}
