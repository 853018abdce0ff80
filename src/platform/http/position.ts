/** The position of the last entry read from a list: strings and integers. Sent by clients, so checked against its shape before use. */
export type Position = readonly (string | number)[];

export type PositionShape = readonly ((part: string | number) => boolean)[];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const KEY_CHARACTERS_MAX = 128;

export function isUuid(part: string | number): boolean {
  return typeof part === "string" && UUID.test(part);
}

/** Whether a value can be a key, code, id or status: 1 to 128 characters that PostgreSQL can store. */
export function isKey(part: string | number): boolean {
  if (typeof part !== "string" || part === "" || part.length > 2 * KEY_CHARACTERS_MAX) return false;
  return part.isWellFormed() && !part.includes("\0") && [...part].length <= KEY_CHARACTERS_MAX;
}

/** Whether a value can be an index in a batch. */
export function isIndex(part: string | number): boolean {
  return typeof part === "number" && Number.isInteger(part) && part >= 0 && part < 2 ** 31;
}

export function hasShape(position: Position, shape: PositionShape): boolean {
  return position.length === shape.length && shape.every((fits, at) => fits(position[at] ?? ""));
}

/** A page of items and the position of the next one; null: the last page. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}

/** A page of a list: at most `limit` items after `start` (null: from the beginning). */
export interface PageRange {
  readonly start: Position | null;
  readonly limit: number;
}

/** Makes a page of `limit` items from up to `limit` + 1. */
export function firstOf<Item>(
  found: readonly Item[],
  limit: number,
  positionOf: (item: Item) => Position,
): ListPage<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? positionOf(last) : null };
}
