/**
 * `npm run campaign -- figure-sets [--sets 100000] [--seed N]`: random reservations against the naive model of docs/figures.md
 * (test/workload/figure-sets.ts). Exits with 1 if a figure differs, and prints the first differences.
 */
import { startTestService } from "../test/support/service.ts";
import { runFigureSets } from "../test/workload/figure-sets.ts";
import { readOptions } from "./read-options.ts";

const USAGE = `npm run campaign -- figure-sets [--sets 100000] [--seed N]

Random sets of shares, overlapping stays, day use and cancellations, compared with the naive model of docs/figures.md.

  --sets N   sets to draw
  --seed N   of the sets`;

const values = readOptions(USAGE, {
  sets: { type: "string", default: "100000" },
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
});
const service = await startTestService();
const [sets, seed] = [Number(values.sets), Number(values.seed)];
const problems = await runFigureSets(service, { sets, seed, shown: (done) => console.log(`${done} sets`) });
await service.stop();
console.log(`${sets} sets of seed ${seed}: ${problems.length} nights differ`);
for (const problem of problems.slice(0, 5)) console.log(problem);
process.exitCode = problems.length === 0 ? 0 : 1;
