import { writeAgo, writeInstant } from "../field/instant.ts";

/** An instant, in UTC; `ago` in words beside or instead. */
export function Instant({ at, as = "full" }: { readonly at: string | null; readonly as?: "full" | "ago" }) {
  if (at === null) return <span className="muted">never</span>;
  return (
    <time dateTime={at} title={`${at.replace("T", " ").replace("Z", "")} UTC`} className="nowrap">
      {as === "ago" ? writeAgo(at) : writeInstant(at)}
    </time>
  );
}
