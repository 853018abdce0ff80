import { Link } from "wouter";
import type { AttentionAnswer } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/format.ts";

const RENEWED_MS = 30_000;
const COUNTED_MAX = 10_000;
/** More are not worth their digits. */
const WRITTEN_MAX = 999;

interface Warning {
  readonly count: number;
  readonly text: string;
  readonly to: string;
  readonly tone: "warn" | "bad";
}

/** What the navigation warns of beside a place. */
export function useWarnings(): ReadonlyMap<string, Warning> {
  const { data } = useAnswer<AttentionAnswer>("attention", { againMs: () => RENEWED_MS });
  const warnings: (readonly [string, Warning])[] = [];
  if (data !== undefined && data.silent > 0) {
    const text = `${writeMany(data.silent, "property", "properties")} with a silent feed`;
    warnings.push(["/", { count: data.silent, text, to: "/?attention=silent", tone: "bad" }]);
  }
  if (data !== undefined && data.quarantined > 0) {
    const most = data.quarantined === COUNTED_MAX ? "at least " : "";
    const text = `${most}${writeMany(data.quarantined, "quarantined record")}`;
    warnings.push(["/quarantine", { count: data.quarantined, text, to: "/quarantine", tone: "warn" }]);
  }
  return new Map(warnings);
}

export function WarningCount({ of: { count, text, to, tone } }: { of: Warning }) {
  return (
    <Link className="nav-count" data-tone={tone} to={to} title={text}>
      <span aria-hidden="true">{count > WRITTEN_MAX ? `${WRITTEN_MAX}+` : count}</span>
      <span className="unseen">{text}</span>
    </Link>
  );
}
