import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { lowestIdAt } from "../src/accept/request-id.ts";
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

const OUTCOMES: Readonly<Record<string, string>> = {
  a: "applied",
  u: "unchanged",
  s: "stale",
  d: "duplicate",
  q: "quarantined",
};
const DRAINED_POLL_MS = 20;
const DRAIN_MS_MAX = 300_000;
/** The bare server would be done with a round before its clock meant anything. */
const BARE_MS_MIN = 1_000;

function secondsOf(sent: Sent): number {
  return (sent.endedAt - sent.startedAt) / 1000;
}

async function outcomeCounts(client: pg.ClientBase, since: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ letter: string; count: number }>(
    `select letter, count(*) from bellhop.request_outcome, regexp_split_to_table(outcomes, '') as letter
     where request_id >= $1 group by letter order by count(*) desc`,
    [lowestIdAt(Math.floor(since))],
  );
  return Object.fromEntries(rows.map(({ letter, count }) => [OUTCOMES[letter] ?? letter, count]));
}

/**
 * Waits until so many records received since a moment have an outcome; answers when that was, in milliseconds since 1970.
 * PostgreSQL is asked and not /metrics, which would take the service's own thread.
 */
async function untilApplied(client: pg.ClientBase, records: number, since: number): Promise<number> {
  const deadline = Date.now() + DRAIN_MS_MAX;
  const firstId = lowestIdAt(Math.floor(since));
  for (;;) {
    const { rows } = await client.query<{ applied: number }>({
      name: "applied",
      text: `select coalesce(sum(length(outcomes)), 0)::integer as applied
        from generate_series(0, 63) as b (bucket)
        cross join lateral (
          select outcomes from bellhop.request_outcome as part where part.bucket = b.bucket and request_id >= $1
        ) as part`,
      values: [firstId],
    });
    if ((rows[0]?.applied ?? 0) >= records) return performance.timeOrigin + performance.now();
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

  await load.introduce({ ...target, port: service.port });
  const before = await storage(client);
  node.start();
  postgres.start();
  const sent = await load.send({ ...target, port: service.port, atLeastMs: 0 });
  const appliedAt = await untilApplied(client, records, sent.startedAt);
  const usage = { node: node.stop(), postgres: postgres.stop() };
  const after = await storage(client);

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
    outcomes: await outcomeCounts(client, sent.startedAt),
    bare: {
      recordsPerSecond: (bare.batches * benchCase.recordsPerBatch) / secondsOf(bare),
      p50Ms: bare.p50Ms,
      p99Ms: bare.p99Ms,
    },
    copy: { recordsPerSecond: records / copied.seconds, rowsPerSecond: copied.rows / copied.seconds },
  };
}
