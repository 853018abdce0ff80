import { useCallback } from "react";
import { useLocation } from "wouter";
import { useHistoryState, useSearch } from "wouter/use-browser-location";

/** Cursors of the pages before the open one, kept in the history entry: a response knows only the next page. */
type Trail = readonly string[];

export interface Turn {
  readonly cursor: string;
  readonly trail: Trail;
}

const NONE: Trail = [];

export function entryOf(trail: Trail): { readonly trail: Trail } | null {
  return trail.length === 0 ? null : { trail };
}

/** An older console may have written a different entry. */
function trailOf(entry: unknown): Trail {
  if (typeof entry !== "object" || entry === null || !("trail" in entry)) return NONE;
  const { trail } = entry;
  return Array.isArray(trail) && trail.every((cursor) => typeof cursor === "string") ? trail : NONE;
}

/** Undefined if a link led to a later page. */
function pageNumberOf(cursor: string, trail: Trail): number | undefined {
  if (cursor === "") return 1;
  return trail[0] === "" ? trail.length + 1 : undefined;
}

/** Offers the first page only if it is not the previous one. */
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

type Changes = Readonly<Record<string, string | undefined>>;

/** The filters in the address. A change returns to the first page and adds a history entry unless `how` is `replace`. */
export function useFilters(): {
  readonly filters: URLSearchParams;
  readonly change: (changes: Changes, how?: "push" | "replace") => void;
} {
  // wouter's own useSearch decodes the query first, which breaks codes with a percent sign.
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

export function useListPage(): {
  readonly cursor: string;
  readonly trail: Trail;
  readonly number: number | undefined;
} {
  const cursor = cursorOf(useSearch());
  const trail = trailOf(useHistoryState<unknown>());
  return { cursor, trail, number: pageNumberOf(cursor, trail) };
}

export function withChanges(path: string, search: string, changes: Changes): string {
  const filters = new URLSearchParams(search);
  if (!("cursor" in changes)) filters.delete("cursor");
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === "") filters.delete(name);
    else filters.set(name, value);
  }
  return filters.size === 0 ? path : `${path}?${filters}`;
}
