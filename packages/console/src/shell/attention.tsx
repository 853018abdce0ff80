import { Link } from "wouter";
import type { AttentionAnswer } from "../contract.ts";
import { useAnswer } from "../data/queries.ts";
import { writeMany } from "../field/format.ts";

const RENEWED_MS = 30_000;
const COUNTED_MAX = 10_000;
/** The maximum count shown. */
const WRITTEN_MAX = 999;

interface Warning {
  readonly count: number;
  readonly text: string;
  readonly to: string;
  readonly tone: "warn" | "bad";
}

/** The warnings shown in the navigation. */
export function useWarnings(): ReadonlyMap<string, Warning> {
  const { data } = useAnswer<AttentionAnswer>("attention", { againMs: () => RENEWED_MS });
  const { silent = 0, quarantined = 0 } = data ?? {};
  const warnings = new Map<string, Warning>();
  if (silent > 0) {
    const text = `${writeMany(silent, "property", "properties")} with a silent feed`;
    warnings.set("/", { count: silent, text, to: "/?attention=silent", tone: "bad" });
  }
  if (quarantined > 0) {
    const most = quarantined === COUNTED_MAX ? "at least " : "";
    const text = `${most}${writeMany(quarantined, "quarantined record")}`;
    warnings.set("/quarantine", { count: quarantined, text, to: "/quarantine", tone: "warn" });
  }
  return warnings;
}

export function WarningCount({ of: { count, text, to, tone } }: { of: Warning }) {
  return (
    <Link className="nav-count" data-tone={tone} to={to} title={text}>
      <span aria-hidden="true">{count > WRITTEN_MAX ? `${WRITTEN_MAX}+` : count}</span>
      <span className="unseen">{text}</span>
    </Link>
  );
}
