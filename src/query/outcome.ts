/** A record's outcomes as named in answers. */
export const OUTCOMES = [
  "applied",
  "unchanged",
  "stale",
  "duplicate",
  "quarantined",
  "discarded",
  "rejected",
] as const;

export type Outcome = (typeof OUTCOMES)[number];

const NAME_OF_LETTER: Readonly<Record<string, Outcome>> = {
  a: "applied",
  u: "unchanged",
  s: "stale",
  d: "duplicate",
  q: "quarantined",
  x: "discarded",
};

export function outcomeName(letter: string): Outcome {
  const name = NAME_OF_LETTER[letter];
  if (name === undefined) throw new Error(`No outcome has the letter ${letter}.`);
  return name;
}

export const OUTCOME_MESSAGES: Readonly<Partial<Record<Outcome, string>>> = {
  unchanged: "The content equals that of the previous version; only the source time is newer.",
  stale: "A version with a newer source time is current; this one is kept in the history.",
  duplicate: "The same record with the same source time was already received.",
};
