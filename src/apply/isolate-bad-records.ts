import type pg from "pg";
import { UnstorableFact } from "../contract/facts-text.ts";
import { isDataError } from "../db/sql-state.ts";
import { applyRecords, type NextChange } from "./apply-records.ts";
import type { ApplicableRecord, OutcomeLetter } from "./record.ts";

/**
 * Applies records; where PostgreSQL refuses the data of one (SQLSTATE classes 22 and 23 only: anything else is thrown, so
 * that an outage quarantines nothing), or its facts could not be read again, finds it by halving under savepoints. A refused record's outcome is `q`.
 * `nextChange` must give numbers that need not be gapless: those of a half that is rolled back are skipped.
 */
export async function applyIsolatingBadRecords(
  client: pg.ClientBase,
  records: readonly ApplicableRecord[],
  nextChange: NextChange,
): Promise<OutcomeLetter[]> {
  if (records.length === 0) return [];
  await client.query("savepoint records");
  try {
    const outcomes = await applyRecords(client, records, nextChange);
    await client.query("release savepoint records");
    return outcomes;
  } catch (error) {
    if (!isDataError(error) && !(error instanceof UnstorableFact)) throw error;
    await client.query("rollback to savepoint records");
    await client.query("release savepoint records");
    if (records.length === 1) return ["q"];
    const middle = records.length >>> 1;
    const first = await applyIsolatingBadRecords(client, records.slice(0, middle), nextChange);
    return [...first, ...(await applyIsolatingBadRecords(client, records.slice(middle), nextChange))];
  }
}
