import type { OutcomeCounts } from "./apply-parts.ts";
import type { ApplySession } from "./apply-session.ts";
import type { LogPart } from "./backlog.ts";
import type { Leases } from "./leases.ts";
import type { ReadPart } from "./read-part.ts";
import { FIRST_RECORDS, INFLATED_BYTES_TARGET } from "./scheduler.ts";

/*
 * From the log to state, in order:
 *
 *  1. read        what is next of the leased buckets, backfills last          backlog.ts
 *  2. choose      which of these parts one transaction applies                scheduler.ts
 *  3. open        the payload: decrypt, inflate, find each record             read-part.ts
 *  4. decode      key, source time, content hash; quarantine the unreadable   read-part.ts
 *  5. lock        the leases, which hand out change numbers                   leases.ts
 *  6. cursors     past the parts; the next run is read from there             apply-parts.ts
 *  7. look up     current records; a plainly unchanged record ends here       apply-records.ts
 *  8. classify    applied, unchanged, stale or duplicate                      record.ts
 *  9. warn        of what depends on more than the record                     context-warnings.ts
 * 10. ledger      what the change does to stay nights                         ledger/night-ledger.ts
 * 11. versions    one row a new version, with its facts                       state/write-versions.ts
 * 12. current     the newest version of each key                              state/write-current.ts
 * 13. outcomes    of each part, quarantined records, feed arrivals            apply-parts.ts
 * 14. commit      all of it or nothing
 *
 * A record that the database refuses is found by halving steps 7 to 12 under savepoints (isolate-bad-records.ts). A release or
 * discard takes steps 1, 2, 5 and then those of its record (apply-resolution.ts). A replay takes 1, 3, 4 and 7 to 12 (replay.ts).
 */

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
 * Applies a run as one transaction. `readAhead` is called when it has moved the cursors past the run, so that on this very
 * connection, and before the commit, what comes after it can be read; only where there is probably something. Where others will
 * soon wait for the transaction it applies the beginning of the run, and the rest is read again. Answers what it applied.
 */
export async function applyRun(
  session: ApplySession,
  leases: Leases,
  whole: ParsedRun,
  readAhead: () => void,
): Promise<{ readonly parts: readonly LogPart[]; readonly counts: OutcomeCounts }> {
  const { parts, read } = (await session.begin()) ? shortened(whole) : whole;
  const counters = await leases.lock(bucketsOf(parts));
  let counts: OutcomeCounts;
  if (read.length > 0) {
    await session.advanceCursors(parts);
    if (read.reduce((sum, { records }) => sum + records.length, 0) >= AHEAD_RECORDS_MIN) readAhead();
    counts = await session.applyParts(read, counters);
  } else {
    counts = await session.applyResolution(parts[0] as LogPart, counters);
  }
  const command = await session.commit();
  // A transaction that failed earlier answers COMMIT with ROLLBACK and no error.
  if (command !== "COMMIT") throw new Error("The transaction had failed and was rolled back at commit.");
  return { parts, counts };
}

export function bucketsOf(parts: readonly LogPart[]): readonly number[] {
  return [...new Set(parts.map(({ bucket }) => bucket))];
}
