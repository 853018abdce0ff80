import type pg from "pg";
import { UnreadableRecord, UnstorableFact } from "#contract/record-reading.ts";
import { isDataError, isMissingWindow } from "../platform/db/database-errors.ts";
import type { ApplyMemory } from "./apply-memory.ts";
import { type AppliedRecord, applyRecords, type NextChange } from "./apply-records.ts";
import { MissingContent } from "./ledger/load-contents.ts";
import { type ApplicableRecord, type QuarantineCode, UNREADABLE } from "./record.ts";

const UNSTORABLE = "The database could not store a value of this record; an operator has been told.";

const INCOMPLETE =
  "What is stored of this record's earlier versions is incomplete; an operator has been told.";

/** A record that was refused: it is to be held. */
export interface RefusedRecord {
  readonly outcome: "q";
  readonly code: QuarantineCode;
  readonly message: string;
}

function refusalFor(error: unknown): RefusedRecord | undefined {
  if (error instanceof UnreadableRecord)
    return { outcome: "q", code: "record.unreadable", message: UNREADABLE };
  // There is no window for its source time: one is made before the next try.
  if (isMissingWindow(error)) return undefined;
  if (isDataError(error) || error instanceof UnstorableFact)
    return { outcome: "q", code: "data.unstorable", message: UNSTORABLE };
  if (error instanceof MissingContent) return { outcome: "q", code: "state.incomplete", message: INCOMPLETE };
  return undefined;
}

/**
 * Applies records; where PostgreSQL refuses the data of one (SQLSTATE classes 22 and 23 only: anything else is thrown, so
 * that an outage quarantines nothing), it or its facts cannot be read again, or what it replaces is not stored, finds it by
 * halving under savepoints.
 * `nextChange` must give numbers that need not be gapless: those of a half that is rolled back are skipped.
 */
export async function applyIsolatingBadRecords(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  nextChange: NextChange,
  memory: ApplyMemory,
): Promise<(AppliedRecord | RefusedRecord)[]> {
  if (records.length === 0) return [];
  await client.query("savepoint records");
  try {
    const applied = await applyRecords(client, records, nextChange, memory);
    await client.query("release savepoint records");
    return applied;
  } catch (error) {
    const refusal = refusalFor(error);
    if (refusal === undefined) throw error;
    await client.query("rollback to savepoint records");
    await client.query("release savepoint records");
    if (records.length === 1) return [refusal];
    const middle = records.length >>> 1;
    const first = await applyIsolatingBadRecords(client, records.slice(0, middle), nextChange, memory);
    const rest = await applyIsolatingBadRecords(client, records.slice(middle), nextChange, memory);
    return [...first, ...rest];
  }
}
