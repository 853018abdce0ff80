/** `npm run campaign -- soak`: a service under steady load for hours within the documented memory (bench/strain/README.md). */
import { writeFileSync } from "node:fs";
import { readOptions } from "../../scripts/read-options.ts";
import { asSuperuser } from "../as-superuser.ts";
import { ChildTask } from "../child-task.ts";
import { Closers } from "../closers.ts";
import { machineLine, machineOf } from "../machine.ts";
import { childrenOf, parentOf } from "../process-meter.ts";
import { ProcessorTime } from "../processor-time.ts";
import { startService } from "../started-service.ts";
import { untilDrained } from "../until-drained.ts";
import { findCapacity, type OfferedLoad, orderOf, searchBelow } from "./capacity.ts";
import { countedRows, deadRowLines, tableRows } from "./dead-rows.ts";
import { configOf, holdSnapshot } from "./held-snapshot.ts";
import { MemoryGroup } from "./memory-group.ts";
import { boundlessPartners } from "./partners.ts";
import { lookAtMinute, minuteHead, minuteLine, type SoakMinute, walPosition } from "./soak-minute.ts";
import { undisturbedOf, verdictOf } from "./soak-verdict.ts";
import type { SteadyResult } from "./steady-load.ts";

const USAGE = `npm run campaign -- soak [--minutes M] [--load SHARE] [--grown M] [--memory 512M] [--held-snapshot] [--seed S] [--json FILE]

Finds how much the service accepts and applies, then offers a share of it for long, and says each minute how it fares.

  --minutes M        by default 30
  --load SHARE       of the capacity that was found; by default 0.8
  --capacity R       batches a second instead of finding out
  --grown M          minutes of that load before all else, after which the capacity is found once more on tables that have
                     grown, in steps of a minute; what is held is held from before on
  --memory SIZE      the most that the node's process may take (a control group; PostgreSQL is outside); 512M by default,
                     0 for no bound
  --held-snapshot    a transaction with a snapshot is left open in the database all the while
  --minute SECONDS   how long one is, to try the command out; by default 60
  --seed S           of when what is sent
  --json FILE        every minute`;

const GROWING_RUN = 2_000;

const values = readOptions(USAGE, {
  minutes: { type: "string", default: "30" },
  load: { type: "string", default: "0.8" },
  capacity: { type: "string" },
  grown: { type: "string", default: "0" },
  memory: { type: "string", default: "512M" },
  minute: { type: "string", default: "60" },
  "held-snapshot": { type: "boolean", default: false },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
});

function bytesOf(size: string): number {
  const [, number = "", unit = ""] = /^(\d+)([MG]?)$/.exec(size) ?? [];
  if (number === "") throw new Error(`--memory takes a size such as 512M.\n\n${USAGE}`);
  return Number(number) * { "": 1, M: 2 ** 20, G: 2 ** 30 }[unit as "" | "M" | "G"];
}

/** The groups of the node, with its limit, and of PostgreSQL; undefined without a limit or support. */
function makeGroups(closers: Closers): { node: MemoryGroup; postgres: MemoryGroup } | undefined {
  const limit = bytesOf(values.memory);
  if (limit === 0) return undefined;
  const node = MemoryGroup.make("soak-node", limit);
  const postgres = MemoryGroup.make("soak-postgres");
  if (node === undefined || postgres === undefined) {
    console.log("NO BOUND ON MEMORY: this machine has no control groups (v1) that can be made here.");
    return undefined;
  }
  closers.add(() => node.remove());
  closers.add(() => postgres.remove());
  return { node, postgres };
}

const minutes = Number(values.minutes);
const share = Number(values.load);
const closers = new Closers();
const seen: SoakMinute[] = [];
let isFlat = false;
try {
  const groups = makeGroups(closers);
  const { service, client } = closers.kept(await startService("bellhop", { groupFile: groups?.node.file }));
  const before = await tableRows(client);
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const postmasterPid = parentOf(rows[0]?.pid ?? 0);
  groups?.postgres.add([postmasterPid, ...childrenOf(postmasterPid)]);
  const { clientIds, ...targets } = await boundlessPartners(service);
  const steady = closers.kept(new ChildTask(new URL("./steady-load.ts", import.meta.url)));
  const load: OfferedLoad = { ...targets, seed: Number(values.seed) };
  const said = (line: string) => console.log(line);
  let capacity =
    values.capacity === undefined ? await findCapacity(steady, client, load, said) : Number(values.capacity);
  if (values["held-snapshot"]) {
    const held = await holdSnapshot(configOf(client));
    closers.add(() => held.letGo());
    console.log("a snapshot is held");
  }
  if (Number(values.grown) > 0) {
    const seconds = Number(values.grown) * 60;
    await steady.call<SteadyResult>("run", orderOf(load, capacity * share, seconds, GROWING_RUN));
    await untilDrained(client, Date.now());
    console.log(`after ${values.grown} minutes of ${(capacity * share).toFixed(0)} batches a second:`);
    capacity = await findCapacity(steady, client, load, said, searchBelow(capacity));
  }
  const perSecond = capacity * share;
  console.log(
    `capacity ${capacity.toFixed(0)} batches a second of 20 reservations, and a push of 730 dates for each 85 of them; offered ${perSecond.toFixed(0)}`,
  );
  const watched = {
    client,
    nodePid: service.pid,
    postmasterPid,
    clientIds,
    processors: new ProcessorTime(),
  };
  console.log(minuteHead());
  let looking: Promise<void> = Promise.resolve();
  for (let minute = 1; minute <= minutes; minute += 1) {
    const wal = await walPosition(client);
    const result = await steady.call<SteadyResult>(
      "run",
      orderOf(load, perSecond, Number(values.minute), minute),
    );
    if (result.sent.every(({ status }) => status === 0))
      throw new Error(`The service is gone; its log: ${service.dataDir}/service.log`);
    const walBytes = (await walPosition(client)) - wal;
    await looking;
    // The load continues meanwhile.
    looking = lookAtMinute(watched, result, walBytes).then((of) => {
      seen.push(of);
      console.log(minuteLine(minute, of));
    });
  }
  await looking;
  await untilDrained(client, Date.now());
  const after = await asSuperuser(configOf(client), service.dataDir, countedRows);
  console.log(deadRowLines(after).join("\n"));
  if (groups !== undefined) {
    const { node, postgres } = groups;
    console.log(
      `group of the node: ${(node.residentBytes / 1e6).toFixed(0)} MB of ${values.memory} at the end, ${node.refusals} times at its bound (files' cache is then given back); PostgreSQL, in another without bound: ${(postgres.residentBytes / 1e6).toFixed(0)} MB`,
    );
  }
  const verdict = verdictOf(seen, before, after);
  for (const { what, said: text, isFlat: flat } of verdict)
    console.log(`${flat ? "met    " : "NOT MET"} ${what}: ${text}`);
  for (const { what, said: text, isFlat: flat } of undisturbedOf(seen))
    console.log(`(${flat ? "met" : "NOT MET"} undisturbed: ${what}: ${text})`);
  isFlat = verdict.every((one) => one.isFlat);
} finally {
  await closers.close();
}
console.log(machineLine(machineOf()));
if (values.json !== undefined)
  writeFileSync(
    values.json,
    `${JSON.stringify({ machine: machineOf(), options: values, minutes: seen }, null, 1)}\n`,
  );
process.exit(isFlat ? 0 : 1);
