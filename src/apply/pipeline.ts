import type { OutcomeCounts } from "./apply-parts.ts";
import { isComplete, type LogPart, type ReadPart } from "./backlog.ts";
import type { ChangeCounters, LeaseSession, Leases } from "./leases.ts";
import type { ClusterSession } from "./rebalance.ts";

/*
 * From the log to state, in order:
 *
 *  1. read        the next parts of the leased buckets; some yield           backlog.ts
 *  2. choose      the parts that one transaction applies                      applier.ts
 *  3. open        decrypt and inflate the payload, find each record           backlog.ts
 *  4. decode      key, source time, content hash; quarantine the unreadable   backlog.ts
 *  5. lock        the leases, which assign change numbers                     leases.ts
 *  6. cursors     advance past the parts, where the next read starts, but     apply-parts.ts
 *                 not before the last piece of a large one
 *  7. look up     current records; an unchanged record usually ends here      apply-records.ts
 *  8. classify    applied, unchanged, stale or duplicate                      state/classify.ts
 *  9. warn        about conditions that depend on other records or settings   context-warnings.ts
 * 10. ledger      enter the changes of stay nights                            ledger/night-ledger.ts
 * 11. versions    one row per new version, with its facts                     state/write-versions.ts
 * 12. current     the newest version of each key                              state/write-versions.ts
 * 13. outcomes    per part; quarantined records; feed arrivals                apply-parts.ts
 * 14. commit
 *
 * A large part of a log writer that yields is applied in pieces, one a transaction (docs/decisions/0007). A record that the database
 * refuses is found by halving steps 7 to 12 under savepoints (apply-parts.ts). A release or discard runs steps 1, 2 and 5, then those of
 * its record (apply-parts.ts). A replay runs 1, 3, 4 and 7 to 12 (replay.ts).
 */

/** First transaction of a session: a tenth of a second on a very busy machine. */
export const FIRST_RECORDS = 64;
/** Decompressed bytes per transaction; the part that exceeds it is the last. Two runs are in memory at a time. */
const INFLATED_BYTES_TARGET = 8 * 1_048_576;
/** Of parts that yield, for whose transaction others wait: as many as those of a piece. */
const YIELDING_BYTES_TARGET = 1_048_576;
/** A smaller run has probably emptied the backlog, so reading ahead would not pay. */
const AHEAD_RECORDS_MIN = 1_000;

/** The content of one transaction: batches with their records or, if `read` is empty, at most one resolution. */
export interface ParsedRun {
  readonly parts: readonly LogPart[];
  readonly read: readonly ReadPart[];
}

/**
 * Opens and decodes the batches before the first resolution, up to INFLATED_BYTES_TARGET or YIELDING_BYTES_TARGET; if the first part is a resolution, only that.
 * A part that is applied in pieces is alone in its run.
 */
export async function readParts(session: ApplySession, parts: readonly LogPart[]): Promise<ParsedRun> {
  const read: ReadPart[] = [];
  let inflatedBytes = 0;
  const pulse = session.startPulse();
  try {
    for (const part of parts) {
      const bytesMax = part.yields === true ? YIELDING_BYTES_TARGET : INFLATED_BYTES_TARGET;
      if (part.kind !== "b" || inflatedBytes >= bytesMax) break;
      if (part.progress !== undefined && read.length > 0) break;
      const records = await session.readPart(part);
      inflatedBytes += records.inflatedBytes;
      read.push(records);
      if (part.progress !== undefined) break;
    }
  } finally {
    pulse.stop();
  }
  return { parts: read.length > 0 ? read.map(({ part }) => part) : parts.slice(0, 1), read };
}

/** The first parts of a run, up to about FIRST_RECORDS records. */
function shortened(run: ParsedRun): ParsedRun {
  let records = 0;
  const read = run.read.filter((part) => {
    const isTaken = records < FIRST_RECORDS;
    records += part.records.length;
    return isTaken;
  });
  return read.length === 0 ? run : { read, parts: read.map(({ part }) => part) };
}

/**
 * Applies a run, or only its first parts if other sessions will soon wait for the transaction. Calls `readAhead` after advancing
 * the cursors if the backlog probably has more.
 */
export async function applyRun(
  session: ApplySession,
  leases: Leases,
  whole: ParsedRun,
  readAhead: () => void,
): Promise<{ readonly parts: readonly LogPart[]; readonly counts: OutcomeCounts }> {
  const { parts, read } = (await session.begin(bucketsOf(whole.parts))) ? shortened(whole) : whole;
  const counters = await leases.lock(bucketsOf(parts));
  let counts: OutcomeCounts;
  if (read.length > 0) {
    if (read.every(isComplete)) {
      await session.advanceCursors(parts);
      if (recordsOf({ read }) >= AHEAD_RECORDS_MIN) readAhead();
    }
    counts = await session.applyParts(read, counters);
  } else {
    counts = await session.applyResolution(parts[0] as LogPart, counters);
  }
  const command = await session.commit();
  // A transaction that failed earlier answers COMMIT with ROLLBACK and no error.
  if (command !== "COMMIT") throw new Error("The transaction had failed and was rolled back at commit.");
  for (const part of whole.read) part.free();
  return { parts, counts };
}

export function recordsOf({ read }: Pick<ParsedRun, "read">): number {
  return read.reduce((sum, { records }) => sum + records.length, 0);
}

export function bucketsOf(parts: readonly LogPart[]): readonly number[] {
  return [...new Set(parts.map(({ bucket }) => bucket))];
}

/**
 * The database operations of an applier, on one connection. Promises reject with the database's error (SQLSTATE as `code`) or a
 * connection error. test/simulation has its own implementation.
 */
export interface ApplySession extends LeaseSession, ClusterSession {
  readonly presenceId: string;
  /** Closes log writers whose backend is gone, and retires closed ones that are completely applied. */
  retireLogWriters(): Promise<unknown>;
  /** The next parts of these buckets, in order of receipt; the part that reaches `recordsMax` is the last. */
  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]>;
  /** Reads the records of a part; not necessarily on this connection. */
  readPart(part: LogPart): Promise<ReadPart>;
  /** Keeps the session active, so that others do not take it for unresponsive, until `stop`. */
  startPulse(): { stop(): void };
  /** Begins a transaction on these buckets. Returns true if other sessions will soon wait for it, so it should be short. */
  begin(buckets: readonly number[]): Promise<boolean>;
  advanceCursors(parts: readonly LogPart[]): Promise<void>;
  applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Applies a release or discard, and advances the cursor past it. */
  applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Returns the command tag: `COMMIT`, or `ROLLBACK` if the transaction had failed. */
  commit(): Promise<string>;
  /** Also clears caches, which may contain data of this transaction. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a session that is present as `owner`. `failed` receives connection errors that occur between statements. */
export type OpenApplySession = (owner: string, failed: (error: unknown) => void) => Promise<ApplySession>;
