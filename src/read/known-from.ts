import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import type { ResourceLetter } from "../state/version-tables.ts";

const readKnownFromStatement = readStatement(new URL("./sql/read-known-from.sql", import.meta.url));

/**
 * From when on everything is known of a client code's records of a resource, also what is not current (docs/retention.md): ISO
 * 8601 with microseconds; null: from the beginning.
 */
export async function readKnownFrom(
  on: Queryable,
  clientCode: string,
  resource: ResourceLetter,
): Promise<string | null> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readKnownFromStatement,
    values: [clientCode, resource],
  });
  return rows[0]?.known_from ?? null;
}
