/** `npm run campaign -- retention-soak`: whether disk usage stays flat, and latency, while windows of a minute come and go (bench/strain/README.md). */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOptions } from "../../scripts/read-options.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { runRetention } from "../../src/retention/run-retention.ts";
import { RETAINED } from "../../src/retention/terms.ts";
import { ChildTask } from "../child-task.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { startService } from "../started-service.ts";
import { untilDrained } from "../until-drained.ts";
import { findCapacity, type OfferedLoad, orderOf } from "./capacity.ts";
import { boundlessPartners } from "./partners.ts";
import {
  lookAtRetention,
  type RetentionMinute,
  readTables,
  retentionHead,
  retentionLine,
} from "./retention-minute.ts";
import { retentionVerdict } from "./retention-verdict.ts";
import type { SteadyResult } from "./steady-load.ts";
import { WindowWatch } from "./window-watch.ts";

const USAGE = `npm run campaign -- retention-soak [--minutes M] [--load SHARE] [--capacity R] [--json FILE]

Windows of a minute and terms of two, at nearly full rate: is the disk flat, and who waits when a window comes or goes?

  --minutes M        by default 30
  --load SHARE       of the capacity that was found; by default 0.9
  --capacity R       batches a second instead of finding out
  --term SECONDS     how long payloads, outcomes and versions are kept; by default 120
  --seed S           of when what is sent
  --json FILE        every minute and every window`;

const values = readOptions(USAGE, {
  minutes: { type: "string", default: "30" },
  load: { type: "string", default: "0.9" },
  capacity: { type: "string" },
  term: { type: "string", default: "120" },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
});

/** Batches per second of permanent records: all 1,200 batches once. */
const STAYING_PER_SECOND = 100;
const STAYING_SECONDS = 12;

/** The service's log lines of replaced windows, slowest first, and of failed runs. */
function replacementLines(dataDir: string): string[] {
  const lines = readFileSync(join(dataDir, "service.log"), "utf8").split("\n");
  const replaced = lines.flatMap((line) => {
    if (!line.includes("past its term is gone")) return [];
    const { table, rows, keptRows, tries, gateMs, waitMs, lockMs } = JSON.parse(line) as Record<
      string,
      number | string
    >;
    return [
      { table: String(table), rows, keptRows, tries, gateMs: Number(gateMs), waitMs, lockMs: Number(lockMs) },
    ];
  });
  const failed = lines.filter((line) => line.includes("retention failed"));
  const most = (pick: (one: (typeof replaced)[number]) => number) => Math.max(0, ...replaced.map(pick));
  return [
    `${replaced.length} windows replaced by the service; longest gate ${most(({ gateMs }) => gateMs).toFixed(0)} ms, longest lock ${most(({ lockMs }) => lockMs).toFixed(0)} ms, most tries ${most(({ tries }) => Number(tries))}; runs that failed: ${failed.length}`,
    ...replaced
      .toSorted((left, right) => right.gateMs - left.gateMs)
      .slice(0, 5)
      .map((one) => `  ${JSON.stringify(one)}`),
    ...failed.map((line) => `  ${line}`),
    ...lines.filter((line) => line.includes('"statusCode":5')).slice(0, 10),
  ];
}

const minutes = Number(values.minutes);
const closers = new Closers();
const seen: RetentionMinute[] = [];
let isMet = false;
const watch = new WindowWatch();
try {
  const started = await startService("bellhop", { settings: { RETENTION_WINDOW: "1m", LOG_LEVEL: "info" } });
  const { service, client } = closers.kept(started);
  for (const kind of RETAINED)
    await setTerm(client, { clientCode: "*", kind, resource: undefined }, Number(values.term) * 1_000);
  // Outcomes and versions get their windows while they are empty.
  await runRetention({ clientConfig: started.database });
  const { targets, pushTargets } = await boundlessPartners(service);
  const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
  const load: OfferedLoad = { targets, pushTargets, seed: Number(values.seed), asOfNow: "again" };
  const staying: OfferedLoad = { ...load, pushTargets: [], asOfNow: "once" };
  const sentOnce = await steady.call<SteadyResult>(
    "run",
    orderOf(staying, STAYING_PER_SECOND, STAYING_SECONDS, 0),
  );
  await untilDrained(client, sentOnce.startedAt);
  const stayed = await watch.rememberCurrent(client);
  const said = (line: string) => console.log(line);
  const capacity =
    values.capacity === undefined ? await findCapacity(steady, client, load, said) : Number(values.capacity);
  const perSecond = capacity * Number(values.load);
  console.log(
    `capacity ${capacity.toFixed(0)} batches a second of 20 changed reservations, and a push for each 85; offered ${perSecond.toFixed(0)}`,
  );
  console.log(`${stayed} records stay current from before the first minute on`);
  closers.add(() => watch.stop());
  await watch.start(started.database);
  console.log(retentionHead());
  let looking: Promise<void> = Promise.resolve();
  for (let minute = 1; minute <= minutes; minute += 1) {
    const result = await steady.call<SteadyResult>("run", orderOf(load, perSecond, 60, minute));
    for (const { status, answeredAt, acceptMs } of result.sent)
      if (status !== 202)
        console.log(`  ${status} at ${new Date(answeredAt).toISOString()} after ${acceptMs.toFixed(0)} ms`);
    await looking;
    looking = lookAtRetention(client, result).then((of) => {
      seen.push(of);
      console.log(retentionLine(minute, of));
    });
  }
  await looking;
  console.log("tables at the end, MB:");
  for (const { table, bytes } of await readTables(client))
    console.log(`  ${table.padEnd(40)}${(bytes / 1e6).toFixed(1)}`);
  const lost = await watch.countLost(client);
  for (const line of replacementLines(service.dataDir)) console.log(line);
  const verdict = retentionVerdict(seen, watch.events, lost);
  for (const { what, said: text, isFlat } of verdict)
    console.log(`${isFlat ? "met    " : "NOT MET"} ${what}: ${text}`);
  isMet = verdict.every(({ isFlat }) => isFlat);
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
if (values.json !== undefined)
  writeFileSync(
    values.json,
    `${JSON.stringify({ machine: machineOf(), options: values, minutes: seen.map(({ sent: _, ...of }) => of), windows: watch.events }, null, 1)}\n`,
  );
process.exit(isMet ? 0 : 1);
