import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

/** The number and bucket of a pair of codes. An index scan on the table's unique key. */
const findPropertyStatement = namedStatement(
  "read-find-property",
  `select property_id, bucket from bellhop.property where client_code = $1 and property_code = $2`,
);

/** A property as the tables know it. */
export interface Property {
  readonly propertyId: number;
  readonly bucket: number;
}

/** Finds a property by its codes; undefined when no batch has ever named it. The caller has checked the grant. */
export async function findProperty(
  pool: Queryable,
  clientCode: string,
  propertyCode: string,
): Promise<Property | undefined> {
  const { rows } = await pool.query<{ property_id: number; bucket: number }>({
    ...findPropertyStatement,
    values: [clientCode, propertyCode],
  });
  const row = rows[0];
  return row === undefined ? undefined : { propertyId: row.property_id, bucket: row.bucket };
}
