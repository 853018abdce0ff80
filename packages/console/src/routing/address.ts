import { useCallback, useSyncExternalStore } from "react";
import { entryOf, pageNumberOf, type Trail, trailOf } from "./trail.ts";

/** The console's own part of the address begins here. */
const BASE = "/console";

const listeners = new Set<() => void>();
const tellAll = () => {
  for (const listener of listeners) listener();
};
window.addEventListener("popstate", tellAll);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Goes to an address of the console, such as `/requests?outcome=failed`; `trail` is of a list that was turned to it. */
export function go(to: string, how: "push" | "replace" = "push", trail: Trail = []): void {
  const address = hrefOf(to);
  if (how === "replace") history.replaceState(entryOf(trail), "", address);
  else if (address !== location.pathname + location.search) history.pushState(entryOf(trail), "", address);
  tellAll();
}

/** What stands in the `href` of a link to it. */
export function hrefOf(to: string): string {
  return BASE + to;
}

/** The path within the console: `/` or `/requests/019c…`. */
export function usePath(): string {
  return useSyncExternalStore(subscribe, () => withoutBase(location.pathname));
}

function withoutBase(path: string): string {
  const within = path.startsWith(BASE) ? path.slice(BASE.length) : path;
  const trimmed = within.replace(/\/+$/, "");
  return trimmed === "" ? "/" : trimmed;
}

/** Changes of the filters: undefined and empty take one out. */
export type Changes = Readonly<Record<string, string | undefined>>;

/**
 * The filters of a page, which stand in its address, so that a link shows what its sender saw. A change of a filter begins at the
 * first page again, and is a step of its own in the history unless `how` says replace.
 */
export function useFilters(): {
  readonly filters: URLSearchParams;
  readonly change: (changes: Changes, how?: "push" | "replace") => void;
} {
  const search = useSyncExternalStore(subscribe, () => location.search);
  const change = useCallback((changes: Changes, how: "push" | "replace" = "push") => {
    const address = withChanges(pathNow(), location.search, changes);
    const isSamePage = cursorOf(new URL(address, location.href).search) === cursorOf(location.search);
    go(address, how, isSamePage ? trailOf(history.state) : []);
  }, []);
  return { filters: new URLSearchParams(search), change };
}

const pathNow = () => withoutBase(location.pathname);
const cursorOf = (search: string) => new URLSearchParams(search).get("cursor") ?? "";

/** Where the open page of a list begins, the pages that led to it, and which one it is, where that is known. */
export function useListPage(): {
  readonly cursor: string;
  readonly trail: Trail;
  readonly number: number | undefined;
} {
  const cursor = useSyncExternalStore(subscribe, () => cursorOf(location.search));
  const trail = trailOf(useSyncExternalStore(subscribe, () => history.state as unknown));
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
