import type pg from "pg";
import { lowestIdAt } from "../src/ingest/log/part-name.ts";
import type { BenchCase } from "./cases.ts";
import { type Contestant, type Figures, measureContestant } from "./contestant.ts";
import { type CopyRound, copyRound } from "./copy-limit.ts";
import type { Bench } from "./open-bench.ts";

/** The figures of one round of one case. */
export interface RoundFigures {
  readonly contestants: Readonly<Record<string, Figures>>;
  readonly copy: CopyRound | undefined;
  /** Records by outcome. */
  readonly outcomes: Readonly<Record<string, number>>;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  a: "applied",
  u: "unchanged",
  s: "stale",
  d: "duplicate",
  q: "quarantined",
};

async function outcomeCounts(client: pg.ClientBase, since: number): Promise<Record<string, number>> {
  const { rows } = await client.query<{ letter: string; count: number }>(
    `select letter, count(*) from bellhop.request_outcome, regexp_split_to_table(outcomes, '') as letter
     where request_id >= $1 group by letter order by count(*) desc`,
    [lowestIdAt(Math.floor(since))],
  );
  return Object.fromEntries(rows.map(({ letter, count }) => [OUTCOMES[letter] ?? letter, count]));
}

/** The limits take part only where rates are compared. */
function takesPart({ name }: Contestant, { mode }: BenchCase): boolean {
  return mode === "full" || name === "bellhop" || name === "good-team";
}

/** Relative to the maximum of each with all connections busy. */
const PACE = 0.7;

/** Runs one round of one case: every contestant in turn with the same bodies, then COPY of the rows that the service wrote. */
export async function measureRound(
  { contestants, load, service: { client } }: Bench,
  benchCase: BenchCase,
  round: number,
  fullRates: Readonly<Record<string, Figures>>,
): Promise<RoundFigures> {
  const prepared = await load.prepare({ benchCase, round });
  const figures: Record<string, Figures> = {};
  for (const contestant of contestants.filter((each) => takesPart(each, benchCase))) {
    const full = fullRates[contestant.name]?.acceptedPerSecond ?? 0;
    const perSecond = benchCase.mode === "paced" ? (PACE * full) / benchCase.recordsPerBatch : 0;
    figures[contestant.name] = await measureContestant(contestant, load, benchCase, prepared, perSecond);
  }
  const own = figures["bellhop"];
  if (own === undefined) return { contestants: figures, copy: undefined, outcomes: {} };
  const outcomes = await outcomeCounts(client, own.startedAt);
  const recorded = Object.values(outcomes).reduce((sum, count) => sum + count, 0);
  if (recorded !== own.records)
    throw new Error(
      `${benchCase.name}: ${own.records} records were accepted and ${recorded} have an outcome.`,
    );
  const copy = benchCase.mode === "full" ? await copyRound(client, own.startedAt, own.records) : undefined;
  return { contestants: figures, copy, outcomes };
}
