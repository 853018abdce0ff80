import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const findPropertyStatement = readStatement(new URL("./sql/read-find-property.sql", import.meta.url));

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
