/** `node bench/changes.ts`: how fast the change feed is read from far behind, and what those cost who wait for what does not come. */
import { setTimeout as delay } from "node:timers/promises";
import { readOptions } from "../scripts/read-options.ts";
import { Batches } from "./batches.ts";
import { made } from "./cases.ts";
import { Closers } from "./closers.ts";
import { machineLine, machineOf } from "./machine.ts";
import type { ProcessMeter } from "./process-meter.ts";
import { type StartedService, startService } from "./started-service.ts";
import { median, percentile } from "./statistics.ts";
import { untilDrained } from "./until-drained.ts";

const USAGE = `node bench/changes.ts [--changes N] [--rounds N] [--seconds S]

Changes and answers a second from the beginning of the feed, and the cost of 0, 1 and 100 long polls while nothing changes.

  --changes N   reservations that are pushed first, in batches of 1,000; by default 40000
  --rounds N    walks over all of them for each size of answer; by default 3
  --seconds S   of each measurement of who waits; by default 10`;

const values = readOptions(USAGE, {
  changes: { type: "string", default: "40000" },
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "10" },
});

const HOTELS = 40;
const WAITING = [0, 1, 100] as const;

interface LastLine {
  readonly cursor: string;
  readonly caughtUp: boolean;
}

/** One answer of the feed: how many lines it had, its bytes, and its last one. */
async function ask(
  { service }: StartedService,
  query: string,
): Promise<LastLine & { lines: number; bytes: number }> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/public/v1/changes?${query}`, {
    headers: { authorization: `Bearer ${service.token}` },
  });
  const body = Buffer.from(await answer.arrayBuffer());
  const last = body.lastIndexOf("\n", -2) + 1;
  if (answer.status !== 200) throw new Error(`The feed answered ${answer.status}: ${body.toString()}`);
  let lines = 0;
  for (let at = body.indexOf("\n"); at >= 0; at = body.indexOf("\n", at + 1)) lines += 1;
  return { ...(JSON.parse(body.toString("utf8", last)) as LastLine), lines, bytes: body.length };
}

async function fill(started: StartedService, changes: number): Promise<void> {
  const target = started.contestant.targetOf("reservations", false);
  const batches = new Batches(made("reservations-1000-new", { recordsPerRound: changes, hotels: HOTELS }));
  const startedAt = Date.now();
  for (const body of batches.bodiesOf(0)) {
    const answer = await fetch(`http://127.0.0.1:${target.port}${target.path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${started.service.token}`, "content-type": "application/json" },
      body,
    });
    if (answer.status !== 202) throw new Error(`A batch was answered ${answer.status}.`);
    await answer.arrayBuffer();
  }
  await untilDrained(started.client, startedAt);
}

/** CPU of the service and of PostgreSQL while `work` runs, as milliseconds a second. */
async function metered(
  { contestant }: StartedService,
  work: () => Promise<unknown>,
): Promise<{ seconds: number; node: number; postgres: number }> {
  const meters: readonly (ProcessMeter | undefined)[] = [contestant.node, contestant.database?.postgres];
  for (const meter of meters) meter?.start();
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1_000;
  const [node = Number.NaN, postgres = Number.NaN] = meters.map(
    (meter) => ((meter?.stop()?.cpuSeconds ?? Number.NaN) * 1_000) / seconds,
  );
  return { seconds, node, postgres };
}

async function walk(started: StartedService, limit: number): Promise<void> {
  const times: number[] = [];
  let [changes, bytes] = [0, 0];
  const used = await metered(started, async () => {
    let cursor: string | undefined;
    for (;;) {
      const startedAt = performance.now();
      const page = await ask(started, `limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      times.push(performance.now() - startedAt);
      changes += page.lines - 1;
      bytes += page.bytes;
      cursor = page.cursor;
      if (page.caughtUp) return;
    }
  });
  times.sort((left, right) => left - right);
  const cpuUs = ((used.node + used.postgres) * used.seconds * 1_000) / changes;
  console.log(
    [
      `limit ${limit}: ${changes} changes in ${times.length} answers, ${(bytes / 1e6).toFixed(1)} MB`,
      `${Math.round(changes / used.seconds)} changes/s, ${(times.length / used.seconds).toFixed(1)} answers/s`,
      `an answer p50 ${median(times).toFixed(1)} ms, p99 ${percentile(times, 0.99).toFixed(1)} ms`,
      `${cpuUs.toFixed(1)} µs of CPU a change`,
    ].join(" · "),
  );
}

async function waiting(started: StartedService, count: number, seconds: number): Promise<void> {
  const { cursor } = await ask(started, "from=now");
  const polls = Array.from({ length: count }, () =>
    ask(started, `cursor=${cursor}&wait=${Math.min(30, seconds + 3)}`),
  );
  // Until all of them wait: what their beginning costs is not counted.
  await delay(1_000);
  const used = await metered(started, () => delay(seconds * 1_000));
  console.log(
    `${count} waiting: Node ${used.node.toFixed(1)} ms a second, PostgreSQL ${used.postgres.toFixed(1)} ms a second`,
  );
  await Promise.all(polls);
}

const closers = new Closers();
try {
  console.log(machineLine(machineOf()));
  const started = closers.kept(await startService("bellhop"));
  await fill(started, Number(values.changes));
  for (const limit of [1_000, 10_000])
    for (let round = 0; round < Number(values.rounds); round += 1) await walk(started, limit);
  for (const count of WAITING) await waiting(started, count, Number(values.seconds));
} finally {
  await closers.close();
}
