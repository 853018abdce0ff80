// The facts that a record shows, by its members alone: for the tests of what reads them.
import { type FactColumn, factColumnsOf } from "#contract/fact-columns.ts";
import { FIELD_KINDS } from "#contract/field-kinds.ts";
import type { FieldSchema } from "#contract/schema/field.ts";
import { RECORD_OBJECTS } from "#contract/schema/record-schemas.ts";

export type Item = Readonly<Record<string, unknown>>;

/** A fact as it should be read: its column, its type, and its text. */
export interface Shown extends Pick<FactColumn, "name" | "type"> {
  readonly text: string | null;
}

export const itemsOf = (record: Item, list: string) => (record[list] ?? []) as readonly Item[];

/** The facts that a record, or an item of a list, shows: each member by itself, as its kind reads it. */
export function shownOf(object: keyof typeof RECORD_OBJECTS, item: Item): Shown[] {
  const properties: Readonly<Record<string, FieldSchema>> = RECORD_OBJECTS[object].properties;
  return factColumnsOf(object).flatMap(({ name, type, path }) => {
    if (path === undefined) return [];
    const { fieldKind } = properties[path] as FieldSchema;
    const value = item[path] ?? null;
    return { name, type, text: value === null ? null : (FIELD_KINDS[fieldKind].fact?.(value) ?? null) };
  });
}
