import type pg from "pg";
import type { BenchCase } from "./cases.ts";
import type { GarbageMeter } from "./garbage-meter.ts";
import type { Prepared, Sent } from "./load.ts";
import type { LoadProcess } from "./load-process.ts";
import type { ProcessMeter } from "./process-meter.ts";
import type { Target } from "./sender.ts";
import type { SendOrder } from "./sending.ts";

/** A receiver of a round's batches: the service, the good team, or a limit server. */
export interface Contestant {
  readonly name: string;
  /** Repeats the batches for at least this time, for receivers that store nothing and would finish too soon. */
  readonly atLeastMs: number;
  readonly node: ProcessMeter;
  /** Present for a service that logs its garbage collections. */
  readonly garbage?: GarbageMeter;
  /** Undefined for a contestant without a database. */
  readonly database: { readonly client: pg.ClientBase; readonly postgres: ProcessMeter } | undefined;
  targetOf(resource: BenchCase["resource"], gzip: boolean): Target;
  /** Resolves to the time when readers see all records of a round, in milliseconds since 1970. */
  untilApplied(sent: Sent): Promise<number>;
}

/** One contestant's figures in one round; NaN: not measured. */
export interface Figures {
  readonly records: number;
  readonly bytes: number;
  /** Start of the load, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly acceptedPerSecond: number;
  readonly appliedPerSecond: number;
  readonly megabytesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  /** For each batch sent alone: milliseconds from its first byte until it was applied. */
  readonly aloneMs: readonly number[];
  readonly nodeMicros: number;
  readonly postgresMicros: number;
  /** CPU time of garbage collection within the node's time. */
  readonly garbageMicros: number;
  readonly loadMicros: number;
  readonly walBytes: number;
  readonly diskBytes: number;
  readonly nodePeakBytes: number;
  readonly postgresPeakBytes: number;
}

async function storage(client: pg.ClientBase | undefined): Promise<{ wal: number; disk: number }> {
  if (client === undefined) return { wal: Number.NaN, disk: Number.NaN };
  const { rows } = await client.query<{ wal: string; disk: string }>(
    `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal,
       (select sum(pg_database_size(oid)) from pg_database where datallowconn) as disk`,
  );
  return { wal: Number(rows[0]?.wal), disk: Number(rows[0]?.disk) };
}

/** A contestant's run over a round's batches. */
interface Run {
  readonly sent: Sent;
  readonly appliedAt: number;
  /** For each batch sent alone: milliseconds from its first byte until it was applied. */
  readonly aloneMs: readonly number[];
}

async function runAlone(contestant: Contestant, load: LoadProcess, order: SendOrder): Promise<Run> {
  const runs: Run[] = [];
  for (let first = 0; first < order.batches; first += 1) {
    const sent = await load.send({ ...order, first, batches: 1 });
    const appliedAt = await contestant.untilApplied(sent);
    runs.push({ sent, appliedAt, aloneMs: [appliedAt - sent.startedAt] });
  }
  const last = runs.at(-1) as Run;
  const sum = (pick: (sent: Sent) => number) => runs.reduce((total, { sent }) => total + pick(sent), 0);
  const startedAt = runs[0]?.sent.startedAt ?? Number.NaN;
  const sent: Sent = {
    ...last.sent,
    startedAt,
    batches: runs.length,
    bytes: sum(({ bytes }) => bytes),
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
  };
  return { sent, appliedAt: last.appliedAt, aloneMs: runs.flatMap(({ aloneMs }) => aloneMs) };
}

/**
 * Sends a round's prepared batches to a contestant and measures until all are applied. Figures are per record.
 * `perSecond`: the request rate of a paced case.
 */
export async function measureContestant(
  contestant: Contestant,
  load: LoadProcess,
  benchCase: BenchCase,
  prepared: Prepared,
  perSecond = 0,
): Promise<Figures> {
  const { node, garbage, database, atLeastMs } = contestant;
  const order: SendOrder = {
    target: contestant.targetOf(benchCase.resource, benchCase.gzip),
    connections: benchCase.connections,
    batches: prepared.batches,
    first: 0,
    atLeastMs,
    perSecond,
  };
  const before = await storage(database?.client);
  node.start();
  garbage?.start();
  database?.postgres.start();
  const { sent, appliedAt, aloneMs } =
    benchCase.mode === "alone"
      ? await runAlone(contestant, load, order)
      : await runTogether(contestant, load, order);
  const nodeUsage = node.stop();
  const garbageSeconds = garbage?.stop();
  const postgresUsage = database?.postgres.stop();
  const after = await storage(database?.client);
  const records = sent.batches * benchCase.recordsPerBatch;
  const seconds = (sent.endedAt - sent.startedAt) / 1000;
  const microsOf = (cpuSeconds = Number.NaN) => (cpuSeconds * 1e6) / records;
  return {
    records,
    bytes: sent.bytes,
    startedAt: sent.startedAt,
    acceptedPerSecond: records / seconds,
    appliedPerSecond: (records * 1000) / (appliedAt - sent.startedAt),
    megabytesPerSecond: sent.bytes / 1e6 / seconds,
    p50Ms: sent.p50Ms,
    p99Ms: sent.p99Ms,
    p999Ms: sent.p999Ms,
    aloneMs,
    nodeMicros: microsOf(nodeUsage?.cpuSeconds),
    postgresMicros: microsOf(postgresUsage?.cpuSeconds),
    garbageMicros: microsOf(garbageSeconds),
    loadMicros: microsOf(sent.cpuSeconds),
    walBytes: (after.wal - before.wal) / records,
    diskBytes: (after.disk - before.disk) / records,
    nodePeakBytes: nodeUsage?.peakBytes ?? Number.NaN,
    postgresPeakBytes: postgresUsage?.peakBytes ?? Number.NaN,
  };
}

async function runTogether(contestant: Contestant, load: LoadProcess, order: SendOrder): Promise<Run> {
  const sent = await load.send(order);
  return { sent, appliedAt: await contestant.untilApplied(sent), aloneMs: [] };
}
