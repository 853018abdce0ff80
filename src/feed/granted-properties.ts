import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import { type ChangeFilter, wantedProperties } from "./change-filter.ts";

const findGranted = readStatement(new URL("./sql/find-granted-properties.sql", import.meta.url));

/** A property as changes name it. */
export interface FeedProperty {
  readonly bucket: number;
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** The properties of a filter that there are now, by their number. */
export async function findGrantedProperties(
  on: Queryable,
  filter: ChangeFilter,
): Promise<ReadonlyMap<number, FeedProperty>> {
  const { everyOf, named } = wantedProperties(filter);
  if (everyOf.length + named.length === 0) return new Map();
  const { rows } = await on.query<{
    property_id: number;
    bucket: number;
    client_code: string;
    property_code: string;
  }>({
    ...findGranted,
    values: [
      everyOf,
      named.map(({ clientCode }) => clientCode),
      named.map(({ propertyCode }) => propertyCode),
    ],
  });
  return new Map(
    rows.map(({ property_id, bucket, client_code, property_code }) => [
      property_id,
      { bucket, clientCode: client_code, propertyCode: property_code },
    ]),
  );
}
