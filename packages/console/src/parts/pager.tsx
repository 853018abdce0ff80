import { useFilters, useListPage, usePath, withChanges } from "../routing/address.ts";
import { Link } from "../routing/link.tsx";
import { type Turn, turnsOf } from "../routing/trail.ts";

/** How many there are, and on to the next page of them and back: links, as the page stands in the address. */
export function Pager({ nextCursor, shown }: { readonly nextCursor: string | null; readonly shown: string }) {
  const { filters } = useFilters();
  const path = usePath();
  const { cursor, trail, number } = useListPage();
  const { first, previous, next } = turnsOf(cursor, nextCursor, trail);
  if (cursor === "" && next === undefined) return <p className="pager muted">{shown}</p>;
  const turn = (to: Turn | undefined, text: string, rel?: "prev" | "next") =>
    to === undefined ? null : (
      <Link
        className="button"
        rel={rel}
        to={withChanges(path, filters.toString(), { cursor: to.cursor })}
        trail={to.trail}
        onFollow={toHead}
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
function toHead(link: HTMLElement): void {
  const head = link.closest(".section, main")?.querySelector<HTMLElement>("h1, h2");
  head?.focus({ preventScroll: true });
  if (head?.tagName === "H1") window.scrollTo(0, 0);
  else head?.scrollIntoView();
}
