import type pg from "pg";
import { readStatement } from "../../platform/db/statement.ts";
import { monotonicNow } from "../../platform/runtime/time.ts";
import { flushParameters } from "./log-entry.ts";
import type { AppendedRow, StampedAppend } from "./log-writer-session.ts";
import type { PayloadKey } from "./seal-body.ts";

const claimKeys = readStatement(new URL("./sql/claim-keys.sql", import.meta.url));
const appendEntries = readStatement(new URL("./sql/append-entries-distributed.sql", import.meta.url));
const appendEntriesOfBucket = readStatement(new URL("./sql/append-entries-of-bucket.sql", import.meta.url));

/**
 * A flush of a log writer on Citus. Keys are rows of the coordinator; each entry is a row of the worker that has its bucket. A
 * flush of one bucket is one statement of that worker. Any other is a transaction in two phases, which Citus makes of it:
 * prepared on every worker before the coordinator commits, so that all of it is on disk or nothing is.
 */
export async function appendDistributed(
  client: pg.ClientBase,
  logWriterId: string,
  stamped: readonly StampedAppend[],
  key: PayloadKey | undefined,
): Promise<{ readonly rows: AppendedRow[]; readonly clockReadBy: number }> {
  const keyed = stamped.filter(({ append }) => append.idempotency !== null);
  const clock = await client.query<{ database_now_ms: number }>(NOW);
  // What follows takes the longer part of a flush; counted in, ids would lie that much behind the database's clock.
  const clockReadBy = monotonicNow();
  const rowsOf = (written: readonly StampedAppend[]) => ({
    clockReadBy,
    rows: written.map(({ requestId }) => ({
      request_id: requestId,
      database_now_ms: clock.rows[0]?.database_now_ms ?? Number.NaN,
    })),
  });
  if (keyed.length === 0) {
    await writeEntries(client, logWriterId, stamped, key);
    return rowsOf(stamped);
  }
  await client.query("begin");
  try {
    const [entries] = flushParameters(logWriterId, keyed, undefined);
    const claimed = await client.query<{ request_id: string }>({ ...claimKeys, values: [entries] });
    const mine = new Set(claimed.rows.map(({ request_id }) => request_id));
    const written = stamped.filter(
      ({ append, requestId }) => append.idempotency === null || mine.has(requestId),
    );
    if (written.length > 0) await writeEntries(client, logWriterId, written, key, TWO_PHASES);
    const { command } = await client.query("commit");
    if (command !== "COMMIT") throw new Error("The flush had failed and was rolled back at commit.");
    return rowsOf(written);
  } catch (error) {
    await client.query("rollback");
    throw error;
  }
}

const NOW = {
  name: "database-now",
  text: "select (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms",
};

/** A key and its entry are one transaction of two servers, also where the entry has one worker. */
const TWO_PHASES = true;

async function writeEntries(
  client: pg.ClientBase,
  logWriterId: string,
  stamped: readonly StampedAppend[],
  key: PayloadKey | undefined,
  inTwoPhases = false,
): Promise<void> {
  const [entries, bytes] = flushParameters(logWriterId, stamped, key);
  const buckets = new Set(stamped.flatMap(({ append }) => append.entries.map(({ bucket }) => bucket)));
  const [bucket] = buckets;
  if (buckets.size === 1 && !inTwoPhases)
    await client.query({ ...appendEntriesOfBucket, values: [entries, bytes, bucket] });
  else
    await client.query({ ...appendEntries, values: [entries, bytes] }).catch((error) => {
      throw withoutPartition(error);
    });
}

/** Citus passes an error of a row that it sends to a worker on without its SQLSTATE: here of one that no partition takes. */
function withoutPartition(error: unknown): unknown {
  return error instanceof Error && error.message.startsWith("no partition of relation")
    ? Object.assign(error, { code: "23514" })
    : error;
}
