import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import type { BenchCase } from "./cases.ts";
import { copyRound } from "./copy-limit.ts";
import type { Sent } from "./load.ts";
import type { LoadProcess } from "./load-process.ts";
import type { ProcessMeter, Usage } from "./process-meter.ts";
import type { ServiceProcess } from "./service-process.ts";

export interface Bench {
  readonly service: ServiceProcess;
  readonly load: LoadProcess;
  readonly barePort: number;
  /** A session on the service's database. */
  readonly client: pg.ClientBase;
  readonly node: ProcessMeter;
  readonly postgres: ProcessMeter;
}

/** Everything one round of one case gave, in plain units. */
export interface RoundFigures {
  readonly records: number;
  readonly bytes: number;
  readonly acceptedPerSecond: number;
  readonly appliedPerSecond: number;
  readonly megabytesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly node: Usage | undefined;
  readonly postgres: Usage | undefined;
  readonly walBytes: number;
  readonly diskBytes: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly bare: { readonly recordsPerSecond: number; readonly p50Ms: number; readonly p99Ms: number };
  readonly copy: { readonly recordsPerSecond: number; readonly rowsPerSecond: number };
}

const OUTCOMES = ["applied", "unchanged", "stale", "duplicate", "quarantined"] as const;
const APPLIED = "bellhop_applied_records_total";
const DRAINED_POLL_MS = 10;
const DRAIN_MS_MAX = 300_000;
/** The bare server would be done with a round before its clock meant anything. */
const BARE_MS_MIN = 1_000;

function secondsOf(sent: Sent): number {
  return (sent.endedAt - sent.startedAt) / 1000;
}

async function outcomeCounts(service: ServiceProcess): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const outcome of OUTCOMES) counts[outcome] = await service.sumOf(APPLIED, `outcome="${outcome}"`);
  return counts;
}

/** Waits until so many records more have an outcome; answers when that was, in milliseconds since 1970. */
async function untilApplied(service: ServiceProcess, total: number): Promise<number> {
  const deadline = Date.now() + DRAIN_MS_MAX;
  for (;;) {
    if ((await service.sumOf(APPLIED)) >= total) return performance.timeOrigin + performance.now();
    if (Date.now() > deadline) throw new Error("The backlog was not drained in five minutes.");
    await delay(DRAINED_POLL_MS);
  }
}

async function storage(client: pg.ClientBase): Promise<{ wal: number; disk: number }> {
  const { rows } = await client.query<{ wal: string; disk: number }>(
    "select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal, pg_database_size(current_database()) as disk",
  );
  return { wal: Number(rows[0]?.wal), disk: Number(rows[0]?.disk) };
}

/** One round of one case: the service first, then its two limits with the same bodies and the same rows. */
export async function measureRound(bench: Bench, benchCase: BenchCase, mark: string): Promise<RoundFigures> {
  const { service, load, client, node, postgres } = bench;
  const { resource, connections } = benchCase;
  const { batches, bytes } = await load.prepare({ benchCase, mark });
  const records = batches * benchCase.recordsPerBatch;
  const target = { path: `/api/public/v1/${resource}`, token: service.token, connections };

  const outcomesBefore = await outcomeCounts(service);
  const appliedBefore = await service.sumOf(APPLIED);
  const before = await storage(client);
  node.start();
  postgres.start();
  const sent = await load.send({ ...target, port: service.port, atLeastMs: 0 });
  const appliedAt = await untilApplied(service, appliedBefore + records);
  const usage = { node: node.stop(), postgres: postgres.stop() };
  const after = await storage(client);
  const outcomesAfter = await outcomeCounts(service);

  const bare = await load.send({ ...target, port: bench.barePort, atLeastMs: BARE_MS_MIN });
  const copied = await copyRound(client, mark, sent.startedAt);
  return {
    records,
    bytes,
    acceptedPerSecond: records / secondsOf(sent),
    appliedPerSecond: (records * 1000) / (appliedAt - sent.startedAt),
    megabytesPerSecond: bytes / 1e6 / secondsOf(sent),
    p50Ms: sent.p50Ms,
    p99Ms: sent.p99Ms,
    ...usage,
    walBytes: after.wal - before.wal,
    diskBytes: after.disk - before.disk,
    outcomes: Object.fromEntries(
      OUTCOMES.map((name) => [name, (outcomesAfter[name] ?? 0) - (outcomesBefore[name] ?? 0)]),
    ),
    bare: {
      recordsPerSecond: (bare.batches * benchCase.recordsPerBatch) / secondsOf(bare),
      p50Ms: bare.p50Ms,
      p99Ms: bare.p99Ms,
    },
    copy: { recordsPerSecond: records / copied.seconds, rowsPerSecond: copied.rows / copied.seconds },
  };
}
