import { useFilters } from "../routing/address.ts";
import { Button } from "./button.tsx";

/** On to the next page and back to the first; the page stands in the address. */
export function Pager({ nextCursor, shown }: { readonly nextCursor: string | null; readonly shown: string }) {
  const { filters, change } = useFilters();
  const isFirst = filters.get("cursor") === null;
  return (
    <nav className="pager" aria-label="Pages">
      <span className="muted">{shown}</span>
      {isFirst ? null : <Button onClick={() => change({ cursor: undefined })}>First page</Button>}
      {nextCursor === null ? null : <Button onClick={() => change({ cursor: nextCursor })}>Next page</Button>}
    </nav>
  );
}
