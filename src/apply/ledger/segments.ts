import type pg from "pg";
import type { RecordKey } from "../state/record-state.ts";

/** With a property's id: who segments its ledger, and who enters what was received before it was packed. */
const PACK_LOCK = 7_302_031;

type PackedProperty = Pick<RecordKey, "bucket" | "propertyId">;

/**
 * Holds a property's segments to the end of the transaction, of which it is to be the first statement that reads: what others
 * entered before is visible from then on. Entries are locked before segments, as whoever swaps a rebuilt state in does.
 */
export async function lockSegments(client: pg.ClientBase, { propertyId }: PackedProperty): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1, $2)", [PACK_LOCK, propertyId]);
  for (const table of ["night_entry", "ledger_delta"])
    await client.query(`lock table bellhop_state.${table} in access share mode`);
}

/**
 * Takes the segments of properties away, in the transaction that enters something there which was received before it is applied: they
 * may be packed up to a later receipt. They are packed anew, and read as rows until then.
 */
export async function voidSegments(
  client: pg.ClientBase,
  properties: readonly PackedProperty[],
): Promise<void> {
  if (properties.length === 0) return;
  const ids = [...new Set(properties.map(({ propertyId }) => propertyId))].sort((one, other) => one - other);
  // What is rebuilt in a schema of its own has no segments, and holds nobody up.
  for (const id of ids)
    await client.query("select pg_advisory_xact_lock($1, $2) where current_schema() = 'bellhop_state'", [
      PACK_LOCK,
      id,
    ]);
  const buckets = new Set(properties.map(({ bucket }) => bucket));
  for (const table of ["ledger_segment_progress", "ledger_segment"])
    for (const bucket of buckets)
      await client.query(`delete from ${table} where bucket = $1 and property_id = any ($2)`, [bucket, ids]);
}
