import type { OutcomeCounts } from "./apply-parts.ts";
import type { LogPart, ReadPart } from "./backlog.ts";
import type { ChangeCounters, LeaseSession, Leases } from "./leases.ts";
import type { ClusterSession } from "./rebalance.ts";

/*
 * From the log to state, in order:
 *
 *  1. read        what is next of the leased buckets, backfills last          backlog.ts
 *  2. choose      which of these parts one transaction applies                applier.ts
 *  3. open        the payload: decrypt, inflate, find each record             backlog.ts
 *  4. decode      key, source time, content hash; quarantine the unreadable   backlog.ts
 *  5. lock        the leases, which hand out change numbers                   leases.ts
 *  6. cursors     past the parts; the next run is read from there             apply-parts.ts
 *  7. look up     current records; a plainly unchanged record ends here       apply-records.ts
 *  8. classify    applied, unchanged, stale or duplicate                      state/record.ts
 *  9. warn        of what depends on more than the record                     apply-records.ts
 * 10. ledger      what the change does to stay nights                         ledger/night-ledger.ts
 * 11. versions    one row a new version, with its facts                       state/write-versions.ts
 * 12. current     the newest version of each key                              state/write-versions.ts
 * 13. outcomes    of each part, quarantined records, feed arrivals            apply-parts.ts
 * 14. commit      all of it or nothing
 *
 * A record that the database refuses is found by halving steps 7 to 12 under savepoints (apply-parts.ts). A release or
 * discard takes steps 1, 2, 5 and then those of its record (apply-parts.ts). A replay takes 1, 3, 4 and 7 to 12 (replay.ts).
 */

/** What a session begins with: a tenth of a second's work on a machine that is very busy. */
export const FIRST_RECORDS = 64;
/**
 * A transaction applies about this many bytes as sent; the part that passes it is the last. Two runs are in
 * memory at a time.
 */
const INFLATED_BYTES_TARGET = 8 * 1_048_576;
/** With fewer records in a run there is hardly more to read: reading ahead would be a statement for nothing. */
const AHEAD_RECORDS_MIN = 1_000;

/** What one transaction applies: batches with their records, or (without `read`) one resolution. Nothing, if no parts. */
export interface ParsedRun {
  readonly parts: readonly LogPart[];
  readonly read: readonly ReadPart[];
}

/** Opens and decodes parts: the batches before the first resolution, as many bytes as one transaction takes, or that resolution. */
export async function readParts(session: ApplySession, parts: readonly LogPart[]): Promise<ParsedRun> {
  const read: ReadPart[] = [];
  let inflatedBytes = 0;
  const pulse = session.startPulse();
  try {
    for (const part of parts) {
      if (part.kind !== "b" || inflatedBytes >= INFLATED_BYTES_TARGET) break;
      const records = await session.readPart(part);
      inflatedBytes += records.inflatedBytes;
      read.push(records);
    }
  } finally {
    pulse.stop();
  }
  return { parts: read.length > 0 ? read.map(({ part }) => part) : parts.slice(0, 1), read };
}

/** The beginning of a run, and so of each of its log writers: as many parts as make some tens of records. */
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
 * Applies a run, or only its beginning where others will soon wait for the transaction. Calls `readAhead`
 * once the cursors are past a run with probably more behind it. Returns what was applied.
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
    await session.advanceCursors(parts);
    if (recordsOf({ read }) >= AHEAD_RECORDS_MIN) readAhead();
    counts = await session.applyParts(read, counters);
  } else {
    counts = await session.applyResolution(parts[0] as LogPart, counters);
  }
  const command = await session.commit();
  // A transaction that failed earlier answers COMMIT with ROLLBACK and no error.
  if (command !== "COMMIT") throw new Error("The transaction had failed and was rolled back at commit.");
  return { parts, counts };
}

/** How many records it has read. */
export function recordsOf({ read }: Pick<ParsedRun, "read">): number {
  return read.reduce((sum, { records }) => sum + records.length, 0);
}

export function bucketsOf(parts: readonly LogPart[]): readonly number[] {
  return [...new Set(parts.map(({ bucket }) => bucket))];
}

/**
 * The database as an applier uses it: one connection, statements in order. A promise rejects with the
 * database's error (SQLSTATE as `code`) or, without an answer, another one. test/simulation has its own.
 */
export interface ApplySession extends LeaseSession, ClusterSession {
  /** By which others count this session as present. */
  readonly presenceId: string;
  /** Closes log writers whose backend is gone, retires those of which all is applied. */
  retireLogWriters(): Promise<unknown>;
  /** What is next to be applied of these buckets, in the order of receipt; the part that reaches `recordsMax` is the last. */
  readBacklog(buckets: readonly number[], recordsMax: number): Promise<LogPart[]>;
  /** Reads the records of a part; not necessarily on this connection. */
  readPart(part: LogPart): Promise<ReadPart>;
  /** Has the session say something now and again while its owner works without it; `stop` ends that. */
  startPulse(): { stop(): void };
  /** Begins a transaction about these buckets. True: others will soon wait for it, so it should be short. */
  begin(buckets: readonly number[]): Promise<boolean>;
  /** Moves the cursors past these parts. */
  advanceCursors(parts: readonly LogPart[]): Promise<void>;
  applyParts(parts: readonly ReadPart[], counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Carries out a release or discard, and moves the cursor past it. */
  applyResolution(resolution: LogPart, counters: ChangeCounters): Promise<OutcomeCounts>;
  /** Answers what the database did: `COMMIT`, or `ROLLBACK` when the transaction had failed before. */
  commit(): Promise<string>;
  /** Also forgets what was remembered of the database and may have been of this transaction. */
  rollback(): Promise<void>;
  close(): Promise<void>;
}

/** Opens a session that is present as `owner`; `failed` hears of what happens to its connection between two statements. */
export type OpenApplySession = (owner: string, failed: (error: unknown) => void) => Promise<ApplySession>;
