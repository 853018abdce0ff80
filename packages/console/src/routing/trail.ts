/**
 * The pages of a list that led to the open one, as their cursors; the first page's is empty. An answer knows only what comes next,
 * so the way back is kept with the entry of the browser's history: it outlives a reload and going back and forth, and the address
 * stays short. A link to a later page has no way behind it.
 */
export type Trail = readonly string[];

/** A page of the list, and the pages that lead to it. */
export interface Turn {
  readonly cursor: string;
  readonly trail: Trail;
}

const NONE: Trail = [];

/** What the history keeps of an entry; null where there is nothing to keep. */
export function entryOf(trail: Trail): { readonly trail: Trail } | null {
  return trail.length === 0 ? null : { trail };
}

/** The trail of an entry of the history, which an older console may have written otherwise. */
export function trailOf(entry: unknown): Trail {
  if (typeof entry !== "object" || entry === null || !("trail" in entry)) return NONE;
  const { trail } = entry;
  return Array.isArray(trail) && trail.every((cursor) => typeof cursor === "string") ? trail : NONE;
}

/** Which page of its list is open, from 1 on; undefined behind a link to a later one. */
export function pageNumberOf(cursor: string, trail: Trail): number | undefined {
  if (cursor === "") return 1;
  return trail[0] === "" ? trail.length + 1 : undefined;
}

/** Where a list can be turned to. The first page is named only where it is not the one before. */
export function turnsOf(
  cursor: string,
  nextCursor: string | null,
  trail: Trail,
): Readonly<Record<"first" | "previous" | "next", Turn | undefined>> {
  const before = cursor === "" ? undefined : trail.at(-1);
  return {
    first: cursor === "" || before === "" ? undefined : { cursor: "", trail: NONE },
    previous: before === undefined ? undefined : { cursor: before, trail: trail.slice(0, -1) },
    next: nextCursor === null ? undefined : { cursor: nextCursor, trail: [...trail, cursor] },
  };
}
