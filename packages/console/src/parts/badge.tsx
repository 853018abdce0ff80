import type { ReactNode } from "react";
import type { Outcome } from "../contract.ts";
import { Icon, type IconName } from "./icon.tsx";

export type Tone = "plain" | "accent" | "warn" | "bad";

const ICON_OF_TONE: Partial<Record<Tone, IconName>> = { warn: "warn", bad: "bad" };

interface BadgeProps {
  readonly tone?: Tone;
  readonly icon?: IconName;
  readonly children: ReactNode;
}

/** A state in one word. What is as it should be is plain. */
export function Badge({ tone = "plain", icon = ICON_OF_TONE[tone], children }: BadgeProps) {
  return (
    <span className="badge" data-tone={tone}>
      {icon === undefined ? null : <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

const TONE_OF_OUTCOME: Record<Outcome | "pending", Tone> = {
  applied: "plain",
  unchanged: "plain",
  stale: "plain",
  duplicate: "plain",
  pending: "accent",
  quarantined: "warn",
  discarded: "plain",
  rejected: "bad",
};

/** What became of a record. */
export function OutcomeBadge({ outcome }: { readonly outcome: Outcome | "pending" }) {
  return <Badge tone={TONE_OF_OUTCOME[outcome]}>{outcome}</Badge>;
}
