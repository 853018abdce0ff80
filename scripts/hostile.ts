/**
 * `npm run hostile`: requests from a seed, over keep-alive connections, at a service in a process of its own. Prints what was
 * answered and how its memory went. Exit code 1 on any 5xx, hang or death, on an answer that is not as documented, when the
 * log does not hold exactly what was answered 202, when a secret or a guest's name is found, or when the memory grew beyond
 * the bound. With `--shot` the bytes of that one request are printed instead.
 */
import { fireAtService, type ServiceFireReport } from "../test/hostile/fire-at-service.ts";
import type { Arms } from "../test/hostile/shot.ts";
import { makeShot, TARGETS, type TargetName } from "../test/hostile/target.ts";
import { readOptions } from "./read-options.ts";

/** What V8's heap and malloc's arenas breathe by; a leak of 100 bytes a request is 76 MiB over a million minus its warm-up. */
const GROWTH_MIB_MAX = 64;

const NAMES = Object.keys(TARGETS) as TargetName[];
const USAGE = `npm run hostile [-- --target ${NAMES.join("|")}|all] [--count N] [--seed S] [--connections C]
npm run hostile -- --target T --seed S --shot N

Requests made from a seed at a service of its own, N at each target. Exit code 1 on any 5xx, hang, death, loss, leak, answer
that is not as documented, or growth of memory. With --shot the bytes of that one request are printed instead.`;

const values = readOptions(USAGE, {
  target: { type: "string", default: "bodies" },
  count: { type: "string", default: "20000" },
  seed: { type: "string", default: "1" },
  connections: { type: "string", default: "32" },
  shot: { type: "string" },
});
const targets = values.target === "all" ? NAMES : NAMES.filter((name) => name === values.target);
if (targets.length === 0) {
  console.error(`There is no target ${values.target}.\n\n${USAGE}`);
  process.exit(2);
}
if (values.shot !== undefined) {
  const { bytes, kind, expect } = makeShot(
    targets[0] as TargetName,
    Number(values.seed),
    Number(values.shot),
    unarmed(),
  );
  console.error(`${kind}, to be ${expect}`);
  process.stdout.write(bytes);
  process.exit();
}
const reports = await fireAtService({
  shots: Object.fromEntries(targets.map((target) => [target, Number(values.count)])),
  seed: Number(values.seed),
  connections: Number(values.connections),
  onSample: ({ fired, mib }) => console.log(`${fired} fired, ${mib} MiB`),
});
for (const report of reports) {
  print(report);
  const { problems, fired, grownMib } = report;
  if (problems.length > 0 || fired !== Number(values.count) || grownMib > GROWTH_MIB_MAX)
    process.exitCode = 1;
}

function print(report: ServiceFireReport): void {
  const rate = Math.round(report.fired / report.seconds);
  console.log(
    `\n${report.target}: ${report.fired} fired in ${report.seconds.toFixed(1)} s (${rate} a second), seed ${values.seed}`,
  );
  for (const [status, count] of [...report.byStatus].sort()) console.log(`  ${status}: ${count}`);
  console.log("by kind");
  for (const [kind, count] of [...report.byKind].sort()) console.log(`  ${kind}: ${count}`);
  console.log(`memory: grown by ${report.grownMib} MiB from after the warm-up (bound ${GROWTH_MIB_MAX})`);
  console.log(`log: ${report.logLines} lines looked through`);
  console.log(`problems: ${report.problems.length}`);
  for (const problem of report.problems) console.log(`  ${problem}`);
}

/** Names in the place of credentials: what differs from a real shot is only how long they are. */
function unarmed(): Arms {
  const token = "HEADER.CLAIMS.SIGNATURE";
  return {
    ...{
      token,
      writerToken: token,
      foreignToken: token,
      clientId: "CLIENT_ID",
      clientSecret: "CLIENT_SECRET",
    },
    requestId: "01999999-0000-7000-8000-000000000000",
    foreignRequestId: "01999999-0000-7000-8000-000000000001",
    pages: [{ address: "/api/public/v1/requests", cursor: "CURSOR" }],
  };
}
