import type { ResourceLetter } from "../apply/state/version-tables.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

/**
 * A lookup by the primary key; null where nothing has gone. Payloads go by receipt, versions by source time, and what is known of
 * both is known of all.
 */
const readKnownFromStatement = namedStatement(
  "read-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and resource = $2 and kind in ('versions', 'payloads')`,
);

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
