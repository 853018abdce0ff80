import type { MouseEvent } from "react";
import { Link, useLocation } from "wouter";
import { useFilters, useListPage, withChanges } from "../routing/filters.ts";
import { entryOf, type Turn, turnsOf } from "../routing/trail.ts";

/** How many there are, and on to the next page of them and back: links, as the page stands in the address. */
export function Pager({ nextCursor, shown }: { readonly nextCursor: string | null; readonly shown: string }) {
  const { filters } = useFilters();
  const [path] = useLocation();
  const { cursor, trail, number } = useListPage();
  const { first, previous, next } = turnsOf(cursor, nextCursor, trail);
  if (cursor === "" && next === undefined) return <p className="pager muted">{shown}</p>;
  const turn = (to: Turn | undefined, text: string, rel?: "prev" | "next") =>
    to === undefined ? null : (
      <Link
        className="button"
        rel={rel}
        to={withChanges(path, filters.toString(), { cursor: to.cursor })}
        state={entryOf(to.trail)}
        onClick={toHead}
      >
        {text}
      </Link>
    );
  return (
    <nav className="pager" aria-label="Pages">
      <span className="muted">{number === undefined ? shown : `Page ${number}: ${shown}`}</span>
      <div className="turns">
        {turn(first, "First page")}
        {turn(previous, "Previous page", "prev")}
        {turn(next, "Next page", "next")}
      </div>
    </nav>
  );
}

/** Whoever turns a list begins at its head, by eye and by screen reader: the link was below the rows, and goes with them. */
function toHead({ currentTarget }: MouseEvent<HTMLElement>): void {
  const head = currentTarget.closest(".section, main")?.querySelector<HTMLElement>("h1, h2");
  head?.focus({ preventScroll: true });
  if (head?.tagName === "H1") window.scrollTo(0, 0);
  else head?.scrollIntoView();
}
