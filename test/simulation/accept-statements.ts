import type { HeldKey, StampedAppend } from "../../src/ingest/log/log-writer-session.ts";
import type { FlushAnswer, LogWriterRegistration } from "../../src/platform/db/dialect.ts";
import { type Backend, DatabaseError, type Work } from "./backend.ts";
import { decodeAttempt, POISON } from "./batch.ts";
import type { SimulatedDatabase } from "./database.ts";
import type { LogRow, LogWriterRow, Transaction } from "./store.ts";

const NO_REJECTIONS: ReadonlySet<number> = new Set();
const RECEIVED_AT = new Date(0);

function transactionOf(backend: Backend): Transaction {
  return backend.transaction as Transaction;
}

/** register-log-writer of src/ingest/log/log-writer-session.ts: the floor is what is committed when it runs. */
export function registerLogWriter(database: SimulatedDatabase) {
  return function* (backend: Backend): Work {
    yield database.conditions.thinkMs();
    const logWriter: LogWriterRow = {
      logWriterId: String(database.nextLogWriterId),
      pid: backend.pid,
      startedAt: backend.startedAt,
      rows: new Map(),
      isClosed: false,
      isRetired: false,
    };
    database.nextLogWriterId += 1;
    transactionOf(backend).logWriters.push(logWriter);
    const { newestId } = database.store;
    const birth: LogWriterRegistration = {
      log_writer_id: logWriter.logWriterId,
      floor: database.conditions.plants.has("forget-floor") ? null : newestId,
      database_now_ms: database.clockMs,
    };
    return birth;
  };
}

/** src/ingest/log/partitions.ts, as one step. */
export function makePartitions(database: SimulatedDatabase) {
  return function* (): Work {
    yield database.conditions.thinkMs();
    database.hasPartitions = true;
    return undefined;
  };
}

function keyOf(clientId: string, key: string): string {
  return `${clientId}/${key}`;
}

/** Which Idempotency-Keys a flush claims: in one order, and whoever else claims one now is waited for. */
function* claimKeys(
  database: SimulatedDatabase,
  backend: Backend,
  stamped: readonly StampedAppend[],
): Generator<number | { lock: string }, Set<string>, void> {
  const claims = new Map<string, StampedAppend>();
  for (const item of stamped) {
    const { clientId, idempotency } = item.append;
    if (idempotency === null) continue;
    const key = keyOf(clientId, idempotency.key);
    const earlier = claims.get(key);
    if (earlier === undefined || item.requestId < earlier.requestId) claims.set(key, item);
  }
  const claimed = new Set<string>();
  if (database.conditions.plants.has("forget-keys")) {
    for (const { requestId } of stamped) claimed.add(requestId);
    return claimed;
  }
  for (const key of [...claims.keys()].sort()) {
    yield { lock: `key ${key}` };
    if (database.store.keys.has(key)) continue;
    const { requestId, append } = claims.get(key) as StampedAppend;
    transactionOf(backend).writeKey(key, { requestId, fingerprint: append.idempotency?.fingerprint ?? "" });
    claimed.add(requestId);
  }
  return claimed;
}

/** src/ingest/log/sql/append-entries.sql */
export function append(database: SimulatedDatabase, logWriterId: string, stamped: readonly StampedAppend[]) {
  return function* (backend: Backend): Work {
    const claimed = yield* claimKeys(database, backend, stamped);
    yield database.conditions.thinkMs();
    if (!database.hasPartitions) throw new DatabaseError("23514", "no partition of relation found for row");
    const rows: FlushAnswer["rows"][number][] = [];
    for (const { append: request, requestId } of stamped) {
      if (request.idempotency !== null && !claimed.has(requestId)) continue;
      for (const { bucket, fields } of request.entries) {
        if (fields["reply_to"] === POISON) throw new DatabaseError("22021", "invalid byte sequence");
        transactionOf(backend).rows.push(rowOf(logWriterId, requestId, bucket, fields));
        rows.push({ request_id: requestId, database_now_ms: database.clockMs });
      }
    }
    return { rows };
  };
}

function rowOf(
  logWriterId: string,
  requestId: string,
  bucket: number,
  fields: Readonly<Record<string, unknown>>,
): LogRow {
  const { attempt, recordCount } = decodeAttempt(Number(fields["correlation_id"] ?? fields["target_index"]));
  return {
    bucket,
    logWriterId,
    requestId,
    kind: fields["kind"] as LogRow["kind"],
    resource: "r",
    receivedAt: RECEIVED_AT,
    target: null,
    rejectedIndexes: NO_REJECTIONS,
    layout: null,
    body: null,
    recordCount,
    attempt,
  };
}

/** src/ingest/log/log-writer-session.ts */
export function readHeldKeys(
  database: SimulatedDatabase,
  wanted: readonly { readonly client_id: string; readonly key: string | undefined }[],
) {
  return function* (): Work {
    yield database.conditions.thinkMs();
    const rows: HeldKey[] = [];
    for (const { client_id, key = "" } of wanted) {
      const held = database.store.keys.get(keyOf(client_id, key));
      if (held !== undefined)
        rows.push({ client_id, key, request_id: held.requestId, fingerprint: held.fingerprint });
    }
    return { rows };
  };
}
