/**
 * Where a list continues: the last entry that was read. It has only texts and whole numbers, and is checked against its
 * shape before use, because clients send it.
 */
export type Position = readonly (string | number)[];

/** What each part of a list's position must be. */
export type PositionShape = readonly ((part: string | number) => boolean)[];

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
export const KEY_CHARACTERS_MAX = 128;

/** True for a UUID in lower case, as the service writes them. */
export function isUuid(part: string | number): boolean {
  return typeof part === "string" && UUID.test(part);
}

/** True for what can be a record's key, a code, an id or a status: 1 to 128 characters that PostgreSQL can compare. */
export function isKey(part: string | number): boolean {
  if (typeof part !== "string" || part === "" || part.length > 2 * KEY_CHARACTERS_MAX) return false;
  return part.isWellFormed() && !part.includes("\0") && [...part].length <= KEY_CHARACTERS_MAX;
}

/** True for an index in a batch. */
export function isIndex(part: string | number): boolean {
  return typeof part === "number" && Number.isInteger(part) && part >= 0 && part < 2 ** 31;
}

/** True when a position has the shape. */
export function hasShape(position: Position, shape: PositionShape): boolean {
  return position.length === shape.length && shape.every((fits, at) => fits(position[at] ?? ""));
}

/** Items of one page, and the position of the next; null at the end. */
export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly next: Position | null;
}

/** The first `limit` items of a list that was read with one more. */
export function firstOf<Item>(
  found: readonly Item[],
  limit: number,
  positionOf: (item: Item) => Position,
): ListPage<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next: found.length > limit && last !== undefined ? positionOf(last) : null };
}
