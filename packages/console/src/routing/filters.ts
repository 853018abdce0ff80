import { useCallback } from "react";
import { useLocation } from "wouter";
import { useHistoryState, useSearch } from "wouter/use-browser-location";
import { entryOf, pageNumberOf, type Trail, trailOf } from "./trail.ts";

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
