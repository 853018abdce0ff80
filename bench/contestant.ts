import type pg from "pg";
import type { BenchCase } from "./cases.ts";
import type { Prepared, Sent } from "./load.ts";
import type { LoadProcess } from "./load-process.ts";
import type { ProcessMeter } from "./process-meter.ts";
import type { Target } from "./sending.ts";

/** Whoever takes the batches of a round: the service, a peer, or a limit that is a server. */
export interface Contestant {
  readonly name: string;
  /** Which part of a round's batches it is sent. */
  readonly share: number;
  /** Batches are sent again until so much time has passed, where nothing is kept and a round would be over too soon. */
  readonly atLeastMs: number;
  readonly node: ProcessMeter;
  /** Where it writes; undefined for who writes nothing. */
  readonly database: { readonly client: pg.ClientBase; readonly postgres: ProcessMeter } | undefined;
  targetOf(resource: BenchCase["resource"], gzip: boolean): Target;
  /** Answers once a reader sees everything of a round, and when that was, in milliseconds since 1970. */
  untilApplied(sent: Sent): Promise<number>;
}

/** What one contestant did in one round, in plain units; what could not be measured is NaN. */
export interface Figures {
  readonly records: number;
  readonly bytes: number;
  /** When the load began, in milliseconds since 1970. */
  readonly startedAt: number;
  readonly acceptedPerSecond: number;
  readonly appliedPerSecond: number;
  readonly megabytesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly nodeMicros: number;
  readonly postgresMicros: number;
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

/** Sends a contestant the prepared batches of a round and measures until all is applied. Figures are a record's. */
export async function measureContestant(
  contestant: Contestant,
  load: LoadProcess,
  benchCase: BenchCase,
  prepared: Prepared,
): Promise<Figures> {
  const { node, database, share, atLeastMs } = contestant;
  const batches = Math.max(1, Math.round(prepared.batches * share));
  const before = await storage(database?.client);
  node.start();
  database?.postgres.start();
  const sent = await load.send({
    target: contestant.targetOf(benchCase.resource, benchCase.gzip),
    connections: benchCase.connections,
    batches,
    atLeastMs,
    perSecond: 0,
  });
  const appliedAt = await contestant.untilApplied(sent);
  const nodeUsage = node.stop();
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
    nodeMicros: microsOf(nodeUsage?.cpuSeconds),
    postgresMicros: microsOf(postgresUsage?.cpuSeconds),
    loadMicros: microsOf(sent.cpuSeconds),
    walBytes: (after.wal - before.wal) / records,
    diskBytes: (after.disk - before.disk) / records,
    nodePeakBytes: nodeUsage?.peakBytes ?? Number.NaN,
    postgresPeakBytes: postgresUsage?.peakBytes ?? Number.NaN,
  };
}
