import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const readVersionsKnownFrom = readStatement(new URL("./sql/read-versions-known-from.sql", import.meta.url));

/**
 * From when on everything is known that an answer about the past rests on (docs/retention.md): ISO 8601 with microseconds; null: from the
 * beginning. To be asked after the answer was read: what goes meanwhile may be missing in it.
 */
export async function knownVersionsFrom(on: Queryable, clientCode: string): Promise<string | null> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readVersionsKnownFrom,
    values: [clientCode],
  });
  return rows[0]?.known_from ?? null;
}
