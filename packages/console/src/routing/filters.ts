import { useCallback } from "react";
import { useLocation } from "wouter";
import { useHistoryState, useSearch } from "wouter/use-browser-location";

/**
 * The pages of a list that led to the open one, as their cursors; the first page's is empty. An answer knows only what comes next,
 * so the way back is kept with the entry of the browser's history: it outlives a reload and going back and forth, and the address
 * stays short. A link to a later page has no way behind it.
 */
type Trail = readonly string[];

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
function trailOf(entry: unknown): Trail {
  if (typeof entry !== "object" || entry === null || !("trail" in entry)) return NONE;
  const { trail } = entry;
  return Array.isArray(trail) && trail.every((cursor) => typeof cursor === "string") ? trail : NONE;
}

/** Which page of its list is open, from 1 on; undefined behind a link to a later one. */
function pageNumberOf(cursor: string, trail: Trail): number | undefined {
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

/** Changes of the filters: undefined and empty remove one. */
type Changes = Readonly<Record<string, string | undefined>>;

/**
 * The filters of a page, which are in its address, so that a link shows what its sender saw. A change of a filter goes back to the
 * first page, and is an entry of its own in the history unless `how` says replace.
 */
export function useFilters(): {
  readonly filters: URLSearchParams;
  readonly change: (changes: Changes, how?: "push" | "replace") => void;
} {
  // wouter's own useSearch decodes the whole query first, which would change codes that contain a percent sign.
  const search = useSearch();
  const [path, navigate] = useLocation();
  const change = useCallback(
    (changes: Changes, how: "push" | "replace" = "push") => {
      const address = withChanges(path, location.search, changes);
      const isSamePage = cursorOf(new URL(address, location.href).search) === cursorOf(location.search);
      navigate(address, {
        replace: how === "replace",
        state: entryOf(isSamePage ? trailOf(history.state) : []),
      });
    },
    [path, navigate],
  );
  return { filters: new URLSearchParams(search), change };
}

const cursorOf = (search: string) => new URLSearchParams(search).get("cursor") ?? "";

/** Where the open page of a list begins, the pages that led to it, and its number where that is known. */
export function useListPage(): {
  readonly cursor: string;
  readonly trail: Trail;
  readonly number: number | undefined;
} {
  const cursor = cursorOf(useSearch());
  const trail = trailOf(useHistoryState<unknown>());
  return { cursor, trail, number: pageNumberOf(cursor, trail) };
}

/** The address of this page with other filters. */
export function withChanges(path: string, search: string, changes: Changes): string {
  const filters = new URLSearchParams(search);
  if (!("cursor" in changes)) filters.delete("cursor");
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") filters.delete(name);
    else filters.set(name, value);
  }
  return filters.size === 0 ? path : `${path}?${filters}`;
}
