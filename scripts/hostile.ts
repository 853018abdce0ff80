/**
 * `npm run hostile [-- --count N --seed S --connections C | --seed S --shot N]`: bad bodies and bad requests from a seed, over keep-alive
 * connections, at a service in a process of its own. Prints what was answered and how its memory went. Exit code 1 on any
 * 5xx, hang or death, when the log does not hold exactly what was answered 202, or when the memory grew beyond the bound.
 * With `--shot` the bytes of that one request are printed instead.
 */
import { makeShot } from "../test/hostile/fire.ts";
import { fireAtService } from "../test/hostile/fire-at-service.ts";
import { readOptions } from "./read-options.ts";

/** What V8's heap and malloc's arenas breathe by; a leak of 100 bytes a request is 76 MiB over a million minus its warm-up. */
const GROWTH_MIB_MAX = 64;

const USAGE = `npm run hostile [-- --count N] [--seed S] [--connections C]
npm run hostile -- --seed S --shot N

Bad bodies and bad requests at a service of its own. Exit code 1 on any 5xx, hang, death, loss or growth of memory. With
--shot the bytes of that one request are printed instead.`;

const values = readOptions(USAGE, {
  count: { type: "string", default: "20000" },
  seed: { type: "string", default: "1" },
  connections: { type: "string", default: "32" },
  shot: { type: "string" },
});
if (values.shot !== undefined) {
  process.stdout.write(makeShot(Number(values.seed), Number(values.shot), "TOKEN").bytes);
  process.exit();
}
const report = await fireAtService({
  count: Number(values.count),
  seed: Number(values.seed),
  connections: Number(values.connections),
  onSample: ({ fired, mib }) => console.log(`${fired} fired, ${mib} MiB`),
});
const rate = Math.round(report.fired / report.seconds);
console.log(
  `\n${report.fired} fired in ${report.seconds.toFixed(1)} s (${rate} a second), seed ${values.seed}`,
);
for (const [status, count] of [...report.byStatus].sort()) console.log(`  ${status}: ${count}`);
console.log("by kind");
for (const [kind, count] of [...report.byKind].sort()) console.log(`  ${kind}: ${count}`);
console.log(`memory: grown by ${report.grownMib} MiB from after the warm-up (bound ${GROWTH_MIB_MAX})`);
console.log(`problems: ${report.problems.length}`);
for (const problem of report.problems) console.log(`  ${problem}`);
if (report.problems.length > 0 || report.fired !== Number(values.count) || report.grownMib > GROWTH_MIB_MAX)
  process.exitCode = 1;
