import type { Item } from "./batch.ts";
import { JsonRecord } from "./json-record.ts";

/** Whose record it is, as one text; the same text for all in which that cannot be read. */
export function codesOf({ record }: Item<unknown>): string {
  let value: unknown = record;
  if (record instanceof JsonRecord) {
    try {
      value = record.parse();
    } catch {
      return "";
    }
  }
  if (typeof value !== "object" || value === null) return "";
  const { clientCode, propertyCode } = value as { clientCode?: unknown; propertyCode?: unknown };
  return JSON.stringify([clientCode, propertyCode]);
}

/** Records by the property that they name, each kept in its order. */
export function byCodes(items: readonly Item<unknown>[]): Map<string, Item<unknown>[]> {
  const groups = new Map<string, Item<unknown>[]>();
  for (const item of items) {
    const codes = codesOf(item);
    const group = groups.get(codes);
    if (group === undefined) groups.set(codes, [item]);
    else group.push(item);
  }
  return groups;
}
