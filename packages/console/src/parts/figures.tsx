import type { ReactNode } from "react";

export interface Figure {
  readonly name: string;
  readonly value: ReactNode;
  readonly note?: ReactNode;
  readonly tone?: "bad" | "warn";
}

/** A few figures that say how it stands. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl className="figures">
      {figures.map(({ name, value, note, tone }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd className={tone}>{value}</dd>
          {note === undefined ? null : <dd className="note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

/** What is a sentence or a list stands on a line of its own. */
type Fact = readonly [name: string, value: ReactNode, wide?: "wide"];

/** Names and values of one thing. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(([name, value, wide]) => (
        <div key={name} className={wide}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
