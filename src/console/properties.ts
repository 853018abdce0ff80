import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { isKey, type Position, type PositionShape } from "../read/position.ts";
import type { Property } from "../read/property.ts";

const listStatement = readStatement(new URL("./sql/list-property-page.sql", import.meta.url));
const findHeldStatement = readStatement(new URL("./sql/find-held-of-properties.sql", import.meta.url));
const listCodesStatement = readStatement(new URL("./sql/list-client-codes.sql", import.meta.url));

/** A property that a batch has named, and how many of its records are held; those of a page are counted to 10,000 in all. */
export interface PropertyRow extends Property {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly createdAt: Date;
  readonly held: number;
}

/** Which properties are wanted. */
export interface PropertyFilter {
  readonly clientCode: string | undefined;
  /** How either code begins, without regard to case. */
  readonly search: string | undefined;
}

/** The codes of the last property told of. */
export const PROPERTY_POSITION: PositionShape = [isKey, isKey];

const CLIENT_CODES_MAX = 1_000;
const HELD_COUNTED_MAX = 10_000;

async function withHeld(pool: pg.Pool, page: readonly Omit<PropertyRow, "held">[]): Promise<PropertyRow[]> {
  const buckets = [...new Set(page.map(({ bucket }) => bucket))];
  const { rows } = await pool.query<{ propertyId: number }>({
    ...findHeldStatement,
    values: [buckets, page.map(({ propertyId }) => propertyId), HELD_COUNTED_MAX],
  });
  const held = new Map<number, number>();
  for (const { propertyId } of rows) held.set(propertyId, (held.get(propertyId) ?? 0) + 1);
  return page.map((property) => ({ ...property, held: held.get(property.propertyId) ?? 0 }));
}

/** One page of properties, by their codes. */
export async function listProperties(
  pool: pg.Pool,
  { clientCode, search }: PropertyFilter,
  start: Position | null,
  limit: number,
): Promise<{ rows: PropertyRow[]; next: Position | null }> {
  const { rows } = await pool.query<Omit<PropertyRow, "held">>({
    ...listStatement,
    values: [clientCode ?? null, search?.toLowerCase() ?? null, ...(start ?? ["", ""]), limit + 1],
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: await withHeld(pool, page),
    next: rows.length > limit && last !== undefined ? [last.clientCode, last.propertyCode] : null,
  };
}

/** Every client code that has a property, in order; a thousand at most. */
export async function listClientCodes(pool: pg.Pool): Promise<{ clientCode: string; properties: number }[]> {
  const { rows } = await pool.query<{ clientCode: string; properties: number }>({
    ...listCodesStatement,
    values: [CLIENT_CODES_MAX],
  });
  return rows;
}
