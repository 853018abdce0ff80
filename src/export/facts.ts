import { dayOfText, microsecondTimestamp } from "#contract/calendar.ts";
import { type FactColumn, factColumnsOf } from "#contract/fact-columns.ts";
import { elementsOf, factsOfText } from "#contract/facts-text.ts";
import type { SqlType } from "#contract/field-kinds.ts";
import type { Resource } from "#contract/resource.ts";
import type { RECORD_OBJECTS } from "#contract/schema/record-schemas.ts";
import type { PropertyCodes } from "../query/property.ts";
import { type Batch, type Column, type ColumnType, charactersOf, type Value } from "./columns.ts";

interface FactTable {
  readonly resource: Resource;
  readonly object: keyof typeof RECORD_OBJECTS;
  /** Whether a row is an item of a list. */
  readonly isList: boolean;
}

/** Facts as sent, a table for each object of the record schemas: named as the view of `analytics` that has its rows, where there is one. */
export const FACT_TABLES = {
  room_type_inventory: { resource: "inventories", object: "room", isList: true },
  reservation: { resource: "reservations", object: "reservation", isList: false },
  room_stay: { resource: "reservations", object: "stay", isList: true },
  rate: { resource: "reservations", object: "rate", isList: true },
  daily_revenue: { resource: "reservations", object: "day", isList: true },
  group_block_master: { resource: "groups", object: "group", isList: false },
  group_block_night: { resource: "groups", object: "block", isList: true },
} as const satisfies Readonly<Record<string, FactTable>>;

/** A decimal is a text, which holds all of its digits. */
const COLUMN_TYPES: Readonly<Record<SqlType, ColumnType>> = {
  text: "text",
  boolean: "boolean",
  integer: "integer",
  bigint: "integer",
  numeric: "text",
  date: "date",
  timestamptz: "timestamp",
};

function readValue(type: SqlType, text: string | null | undefined): Value {
  if (text === null || text === undefined) return null;
  if (type === "integer") return Number(text);
  if (type === "date") return dayOfText(text);
  if (type === "timestamptz") return microsecondTimestamp(text);
  return type === "boolean" ? text === "t" : text;
}

/** `item`: the position in its list, from 1. */
export function factTableColumns({ object, isList }: FactTable): readonly Column[] {
  const own = ["client_code", "property_code", "key"].map((name): Column => {
    return { name, type: "text", isNullable: false };
  });
  const item: readonly Column[] = isList ? [{ name: "item", type: "integer", isNullable: false }] : [];
  const facts = factColumnsOf(object).map(({ name, type }): Column => {
    return { name, type: COLUMN_TYPES[type], isNullable: true };
  });
  return [...own, ...item, ...facts];
}

type FactRow = readonly [propertyId: number, key: string, facts: string | null];

/** Adds the rows of records' facts. */
export class FactRows {
  readonly #facts: readonly FactColumn[];
  readonly #isList: boolean;

  constructor({ object, isList }: FactTable) {
    this.#facts = factColumnsOf(object);
    this.#isList = isList;
  }

  add(properties: ReadonlyMap<number, PropertyCodes>, [propertyId, key, text]: FactRow, batch: Batch): void {
    if (text === null) throw new Error(`The facts of the record ${key} are not where its version says.`);
    const { clientCode, propertyCode } = properties.get(propertyId) as PropertyCodes;
    const own = [clientCode, propertyCode, key];
    const given = factsOfText(text);
    const addRow = (values: readonly Value[]) => {
      for (const [at, value] of values.entries()) batch.values[at]?.push(value);
      batch.endRows(charactersOf(values));
    };
    if (!this.#isList) {
      addRow([...own, ...this.#facts.map(({ fact, type }) => readValue(type, given[fact]))]);
      return;
    }
    const lists = this.#facts.map(({ fact }) => elementsOf(given[fact]));
    const items = Math.max(...lists.map(({ length }) => length));
    for (let at = 0; at < items; at += 1)
      addRow([...own, at + 1, ...this.#facts.map(({ type }, of) => readValue(type, lists[of]?.[at]))]);
  }
}
