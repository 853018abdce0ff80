import type { LogPart, ReadPart } from "../../src/apply/backlog.ts";
import type { ChangeCounters, Lease, LockedLease } from "../../src/apply/leases.ts";
import type { ClusterView, WaitingSession } from "../../src/apply/rebalance.ts";
import { type Backend, DatabaseError, type Work } from "./backend.ts";
import type { SimulatedDatabase } from "./database.ts";
import {
  type LeaseRow,
  type LogRow,
  type LogWriterRow,
  positionOf,
  rowsAfter,
  type Transaction,
} from "./store.ts";

function leaseOf(database: SimulatedDatabase, bucket: number): LeaseRow {
  const lease = database.store.leases.get(bucket);
  if (lease === undefined) throw new Error(`There is no bucket ${bucket} in this world.`);
  return lease;
}

/** src/apply/leases.ts: rows that another has locked are left, those that changed meanwhile too. */
export function takeBuckets(database: SimulatedDatabase, owner: string, free: readonly Lease[]) {
  return function* (backend: Backend): Work {
    const transaction = backend.transaction as Transaction;
    yield database.conditions.thinkMs();
    const taken: Lease[] = [];
    for (const seen of free) {
      const lease = leaseOf(database, seen.bucket);
      if (String(lease.epoch) !== seen.epoch) continue;
      if (database.lock(`lease ${seen.bucket}`, transaction) !== undefined) continue;
      const epoch = lease.epoch + 1;
      const { pid, startedAt } = backend;
      transaction.writeLease(seen.bucket, { ...lease, epoch, owner, pid, startedAt });
      taken.push({ bucket: seen.bucket, epoch: String(epoch) });
    }
    return taken;
  };
}

/** src/apply/leases.ts */
export function giveUpBuckets(database: SimulatedDatabase, buckets: readonly number[]) {
  return function* (backend: Backend): Work {
    yield database.conditions.thinkMs();
    for (const bucket of database.conditions.scanOrder([...buckets])) {
      if (!isHeldBy(leaseOf(database, bucket), backend)) continue;
      yield { lock: `lease ${bucket}` };
      const lease = leaseOf(database, bucket);
      if (!isHeldBy(lease, backend)) continue;
      const free = { ...lease, epoch: lease.epoch + 1, owner: "nobody", pid: 0, startedAt: 0 };
      (backend.transaction as Transaction).writeLease(bucket, free);
    }
    return undefined;
  };
}

function isHeldBy({ pid, startedAt }: LeaseRow, backend: Backend): boolean {
  return pid === backend.pid && startedAt === backend.startedAt;
}

/** The transaction in which a replay swaps the state (src/apply/replay.ts), as one statement. */
export function swapUnderLeases(database: SimulatedDatabase, forMs: number) {
  return function* (backend: Backend): Work {
    for (const bucket of database.store.leases.keys()) yield { lock: `lease ${bucket}` };
    yield forMs;
    for (const [bucket, lease] of database.store.leases) {
      const free = { ...lease, epoch: lease.epoch + 1, pid: 0, startedAt: 0 };
      (backend.transaction as Transaction).writeLease(bucket, free);
    }
    return undefined;
  };
}

/** src/platform/db/sql/enter-presence.sql */
export function enterPresence(database: SimulatedDatabase) {
  return function* (backend: Backend): Work {
    yield database.conditions.thinkMs();
    const { pid, startedAt } = backend;
    const presenceId = database.nextPresenceId;
    database.nextPresenceId += 1;
    (backend.transaction as Transaction).present.push({ presenceId, pid, startedAt });
    return String(presenceId);
  };
}

/** src/apply/sql/read-cluster-view.sql: rows as committed, backends as they are at that moment. */
export function readClusterView(database: SimulatedDatabase, silenceSecondsMax: number) {
  const { plants } = database.conditions;
  return function* (backend: Backend): Work {
    yield database.conditions.thinkMs();
    const { store, backends } = database;
    const silentSince = database.clockMs - silenceSecondsMax * 1_000;
    const running = ({ pid, startedAt }: { pid: number; startedAt: number }): Backend | undefined => {
      const found = backends.get(pid);
      return found?.startedAt === startedAt ? found : undefined;
    };
    const appliers: string[] = [];
    for (const present of store.present) {
      const other = running(present);
      if (other !== undefined && (other === backend || other.spokeAt > silentSince))
        appliers.push(String(present.presenceId));
    }
    const free: Lease[] = [];
    const held: Lease[] = [];
    const holders = new Set<Backend>();
    for (const [bucket, lease] of store.leases) {
      const holder = running(lease);
      if (holder === backend) held.push({ bucket, epoch: String(lease.epoch) });
      if (holder === undefined || plants.has("two-owners")) free.push({ bucket, epoch: String(lease.epoch) });
      else holders.add(holder);
    }
    const waiting: WaitingSession[] = [];
    for (const holder of holders) {
      if (holder === backend || holder.statement !== undefined || holder.spokeAt >= silentSince) continue;
      const { pid, spokeAt } = holder;
      const silent_seconds = (database.clockMs - spokeAt) / 1_000;
      waiting.push({ pid, spoke: String(spokeAt), owner: holder.name, idle: true, silent_seconds });
    }
    const around: ClusterView = { appliers, buckets: store.leases.size, free, held, waiting };
    return around;
  };
}

/** src/apply/postgres-apply-session.ts */
export function endUnresponsive(database: SimulatedDatabase, { pid, spoke }: WaitingSession) {
  return function* (): Work {
    yield database.conditions.thinkMs();
    const silent = database.backends.get(pid);
    if (silent === undefined || String(silent.spokeAt) !== spoke) return false;
    silent.end();
    return true;
  };
}

/** src/apply/leases.ts */
export function lockBuckets(database: SimulatedDatabase, buckets: readonly number[]) {
  return function* (): Work {
    const leases: LockedLease[] = [];
    for (const bucket of buckets.toSorted((left, right) => left - right)) {
      yield { lock: `lease ${bucket}` };
      const { epoch, nextChange } = leaseOf(database, bucket);
      leases.push({ bucket, epoch: String(epoch), next_change: String(nextChange) });
    }
    return leases;
  };
}

/**
 * src/apply/sql/retire-log-writers.sql: rows are those that are committed when it begins; who runs is looked up a moment later,
 * so a log writer is retired by a later statement than the one that closed it.
 */
export function retireLogWriters(database: SimulatedDatabase) {
  const { plants } = database.conditions;
  return function* (backend: Backend): Work {
    const transaction = backend.transaction as Transaction;
    const { store } = database;
    const isRead = (logWriter: LogWriterRow): boolean =>
      database.buckets.every(
        (bucket) =>
          rowsAfter(logWriter, bucket, store.cursors.get(cursorAt(database, bucket, logWriter.logWriterId)))
            .length === 0,
      );
    const open = store.unretired.filter((logWriter) => !logWriter.isClosed);
    const retirable = store.unretired.filter(
      (logWriter) => (logWriter.isClosed || plants.has("close-and-retire")) && isRead(logWriter),
    );
    yield database.conditions.thinkMs();
    for (const logWriter of open) {
      if (!database.isRunning(logWriter.pid, logWriter.startedAt) || plants.has("retire-living-log-writers"))
        transaction.closed.push(logWriter);
    }
    for (const logWriter of retirable) {
      if (!plants.has("close-and-retire") || !database.isRunning(logWriter.pid, logWriter.startedAt))
        transaction.retired.push(logWriter);
    }
    return undefined;
  };
}

/** src/apply/sql/read-backlog.sql: one snapshot, with what the own transaction has moved. */
export function readBacklog(database: SimulatedDatabase, buckets: readonly number[], recordsMax: number) {
  const wanted = new Set(buckets);
  return function* (backend: Backend): Work {
    yield database.conditions.thinkMs();
    const { store, conditions } = database;
    const own = backend.transaction as Transaction;
    const pending: LogRow[] = [];
    for (const logWriter of store.unretired) {
      for (const bucket of logWriter.rows.keys()) {
        if (!wanted.has(bucket)) continue;
        const position = cursorAt(database, bucket, logWriter.logWriterId);
        const cursor = own.cursors.get(position) ?? store.cursors.get(position);
        for (const row of rowsAfter(logWriter, bucket, cursor, conditions.partsMax)) pending.push(row);
      }
    }
    pending.sort(byReceipt);
    let records = 0;
    const parts: LogPart[] = [];
    for (const row of pending) {
      if (records >= Math.min(conditions.recordsTarget, recordsMax)) break;
      records += row.recordCount;
      const isInPieces = Number.parseInt(row.requestId.slice(-2), 16) < 256 * conditions.largeShare;
      const untilRecord = store.pieces.get(`${row.bucket}/${row.requestId}`) ?? 0;
      parts.push(isInPieces ? { ...row, progress: { untilRecord, warningsListed: 0 } } : row);
    }
    return parts;
  };
}

/** One cursor a bucket and log writer; or, where that is planted, one a bucket, as readers of a sequence have it. */
function cursorAt(database: SimulatedDatabase, bucket: number, logWriterId: string): string {
  return positionOf(bucket, database.conditions.plants.has("one-cursor") ? "all" : logWriterId);
}

function byReceipt(left: LogRow, right: LogRow): number {
  if (left.requestId !== right.requestId) return left.requestId < right.requestId ? -1 : 1;
  return left.bucket - right.bucket;
}

/** src/apply/sql/write-cursors.sql */
export function advanceCursors(database: SimulatedDatabase, parts: readonly LogPart[]) {
  return function* (backend: Backend): Work {
    const { store, conditions } = database;
    yield conditions.thinkMs();
    for (const { bucket, logWriterId, requestId } of parts) {
      const position = cursorAt(database, bucket, logWriterId);
      if (conditions.plants.has("cursor-apart")) store.cursors.set(position, requestId);
      else (backend.transaction as Transaction).writeCursor(position, requestId);
    }
    return undefined;
  };
}

function rowOf({ store }: SimulatedDatabase, { bucket, requestId }: LogPart): LogRow {
  const row = store.rowsOfRequest.get(requestId)?.find((of) => of.bucket === bucket);
  if (row === undefined) throw new Error(`There is no ${requestId} in bucket ${bucket}.`);
  return row;
}

/** What an apply transaction writes of the parts: here their outcomes, or pieces, once each, and the numbers of their changes. */
export function applyParts(
  database: SimulatedDatabase,
  parts: readonly Pick<ReadPart, "part" | "piece">[],
  counters: ChangeCounters,
) {
  return function* (backend: Backend): Work {
    const transaction = backend.transaction as Transaction;
    const { store, conditions } = database;
    for (const { part, piece } of parts) {
      yield conditions.applyMs();
      const refused = conditions.refuseRecord();
      if (refused !== undefined) throw refused;
      const name = `${part.bucket}/${part.requestId}`;
      const isDue = piece === undefined || piece.fromRecord === (store.pieces.get(name) ?? 0);
      if (store.outcomes.has(name) || !isDue) {
        database.checker.fail(`${part.requestId} of bucket ${part.bucket} was to be applied again`);
        throw new DatabaseError("23505", "duplicate key value violates unique constraint");
      }
      const change = counters.take(part.bucket);
      const lease = transaction.leases.get(part.bucket) ?? leaseOf(database, part.bucket);
      transaction.writeLease(part.bucket, { ...lease, nextChange: change + 1 });
      if (piece?.isLast === false) transaction.writePiece(name, piece.untilRecord);
      else transaction.outcomes.push(rowOf(database, part));
    }
    return undefined;
  };
}
