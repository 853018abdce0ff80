/**
 * `npm run hostile`: requests from a seed, over keep-alive connections, at a service in a process of its own. Prints what was
 * answered and how its memory went. Exit code 1 on any 5xx, hang or death, on an answer that is not as documented, when the
 * log does not hold exactly what was answered 202, when a secret or a guest's name is found, or when the memory grew beyond
 * the bound. With `--shot` the bytes of that one request are printed instead. `npm run hostile -- bodies` floods every route instead.
 */
import { fireAtService, type ServiceFireReport } from "../test/hostile/fire-at-service.ts";
import { type FloodReport, floodBodies, type VisitedRoute } from "../test/hostile/flood-bodies.ts";
import { askWorst } from "../test/hostile/questions.ts";
import type { Arms } from "../test/hostile/shot.ts";
import { makeShot, TARGETS, type TargetName } from "../test/hostile/target.ts";
import { readOptions } from "./read-options.ts";

/** V8's heap and malloc's arenas vary by this much; a leak of 100 bytes per request exceeds it after a million requests. */
const GROWTH_MIB_MAX = 64;

/** The limit for a query, and for its statement after the client has disconnected. */
const QUESTION_MS_MAX = 2_000;
const CANCEL_MS_MAX = 1_000;

const NAMES = Object.keys(TARGETS) as TargetName[];
const USAGE = `npm run hostile [-- --target ${NAMES.join("|")}|all] [--count N] [--seed S] [--connections C]
npm run hostile -- --target T --seed S --shot N
npm run hostile -- bodies [--routes TEXT] [--seconds S] [--mbit M]
npm run hostile -- questions

Requests made from a seed at a service of its own, N at each target. Exit code 1 on any 5xx, hang, death, loss, leak, answer
that is not as documented, or growth of memory. With --shot the bytes of that one request are printed instead.

"bodies" uses every route of the OpenAPI document and of the console's API, then floods it, S seconds each (1 by default), with and
without credentials: one-byte chunks, bodies that are never finished, slow ones, announced ones of the largest size, one byte each from many
addresses, many headers, headers of 15 kB of each white space, and 1,000 pipelined requests whose answers are never read; at last every
read of the API and of the console is asked for the worst records. --routes keeps the routes whose
method and path contain TEXT. The flooder is a process of its own that runs only while nothing else wants the processor, and sends M Mbit/s of
bodies (100 by default), as an attacker elsewhere would; the same flood at a process that only reads it shows what a full machine does
alone. Exit code 1 when the service is not up at the end, when it had 512 MiB or more, or when the p99 of a neighbour's batches
rose by more than 20 % and 10 ms.

"questions" asks every insight of the worst records over the widest range, leaves in the middle, and has a neighbour post beside them.
Exit code 1 when a question was refused or took longer than 2 s, none was left in the middle, a statement ran for more than 1 s after
its client had left, or the p99 of the neighbour's batches rose by more than 20 % and 10 ms.`;

if (process.argv[2] === "bodies") {
  process.argv.splice(2, 1);
  await floodRoutes();
  process.exit();
}
if (process.argv[2] === "questions") process.exit(await runQuestions());
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

async function floodRoutes(): Promise<void> {
  const { routes, seconds, mbit } = readOptions(USAGE, {
    routes: { type: "string", default: "" },
    seconds: { type: "string", default: "1" },
    mbit: { type: "string", default: "100" },
  });
  console.log("route | connections | neighbour's batches | p99, ms | RSS, MiB | heaps, MiB");
  const row = ({ name, connections, pushes, p99, rssMib, heapMib }: VisitedRoute) =>
    console.log(`${name} | ${connections} | ${pushes} | ${p99.toFixed(1)} | ${rssMib} | ${heapMib}`);
  const report = await floodBodies({
    routes,
    secondsEach: Number(seconds),
    megabitsPerSecond: Number(mbit),
    onRoute: row,
  });
  printFlood(report);
  if (report.problems.length > 0) process.exitCode = 1;
}

function printFlood(report: FloodReport): void {
  const { routes, p99Before, p99Control, p99, busyBefore, busy, peakRssMib, problems } = report;
  const connections = routes.reduce((sum, route) => sum + route.connections, 0);
  console.log(`\n${routes.length} routes, ${connections} connections`);
  const [before, control, during] = [p99Before, p99Control, p99].map((ms) => `${ms.toFixed(1)} ms`);
  console.log(
    `neighbour's p99: ${before} before, ${control} beside a flood elsewhere, ${during} during the flood`,
  );
  console.log(
    `processors used by the service: ${busyBefore.toFixed(2)} before, ${busy.toFixed(2)} during the flood`,
  );
  console.log(`peak RSS: ${peakRssMib} MiB`);
  console.log(`problems: ${problems.length}`);
  for (const problem of problems) console.log(`  ${problem}`);
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

/** Prints the cost of the queries and returns the exit code. */
async function runQuestions(): Promise<number> {
  const report = await askWorst(console.log);
  console.log("slowest questions");
  for (const { ms, status, question } of report.slowest) console.log(`  ${ms} ms, ${status}: ${question}`);
  console.log(
    `left in the middle: ${report.cancelled}, the longest statement went on for ${report.cancelledMs} ms`,
  );
  const [alone, beside] = [report.alone, report.beside].map(([p50, p99]) => `p50 ${p50} ms, p99 ${p99} ms`);
  console.log(`a neighbour's POST alone: ${alone}; beside ${report.answered} questions: ${beside}`);
  const isDisturbed = report.beside[1] > Math.max(report.alone[1] * 1.2, report.alone[1] + 10);
  const isSlow = (report.slowest[0]?.ms ?? 0) > QUESTION_MS_MAX || report.cancelledMs > CANCEL_MS_MAX;
  return isSlow || isDisturbed || report.cancelled === 0 ? 1 : 0;
}

/** Placeholders for credentials, of different lengths than real ones. */
function unarmed(): Arms {
  const token = "HEADER.CLAIMS.SIGNATURE";
  return {
    token,
    writerToken: token,
    foreignToken: token,
    clientId: "CLIENT_ID",
    clientSecret: "CLIENT_SECRET",
    requestId: "01999999-0000-7000-8000-000000000000",
    foreignRequestId: "01999999-0000-7000-8000-000000000001",
    pages: [{ address: "/api/public/v1/requests", cursor: "CURSOR" }],
  };
}
