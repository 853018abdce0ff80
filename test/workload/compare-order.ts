import { ALL_BUCKETS } from "../../src/ingest/log/part-name.ts";
import type { TestDatabase } from "../support/database.ts";
import { type JudgedRecord, linesOf, stateAfter } from "./expected-state.ts";
import { digestLedgerBySource, ledgerProblems } from "./observed-ledger.ts";
import {
  countChangesThatEndElsewhere,
  type LoggedRecord,
  placeOf,
  readLog,
  readStateLines,
} from "./observed-state.ts";
import { differingRows, digestViews, type ViewDigests, without } from "./observed-views.ts";

/** What every order must end in. */
export interface Wanted {
  /** The state that the contract says, as `linesOf` writes it. */
  readonly state: readonly string[];
  /** The records that were sent, by their JSON. */
  readonly sent: ReadonlyMap<string, JudgedRecord>;
  /** What the views showed after the workload had come in its own order; undefined while that is made. */
  readonly reference:
    | { readonly database: TestDatabase; readonly views: ViewDigests; readonly ledger: string }
    | undefined;
}

export interface Comparison {
  readonly views: ViewDigests;
  /** See digestLedgerBySource. */
  readonly ledger: string;
  /** None is a state and views like the wanted ones. */
  readonly problems: readonly string[];
}

/** So many rows are shown of each kind of difference; the rest are counted. */
const SHOWN_MAX = 5;

/** Compares what a database ended in, after `sent` records were accepted, with what is wanted. */
export async function compareOrder(
  database: TestDatabase,
  wanted: Wanted,
  sent: number,
): Promise<Comparison> {
  const problems: string[] = [];
  const logged: (LoggedRecord & JudgedRecord)[] = [];
  for await (const record of readLog(database.pool, ALL_BUCKETS)) {
    const judged = wanted.sent.get(record.json);
    if (judged === undefined)
      throw new Error(`The log holds a record that was not sent: ${placeOf(record)}.`);
    logged.push({ ...judged, ...record });
  }
  if (logged.length !== sent)
    problems.push(`${sent} records were accepted and ${logged.length} are in the log`);
  const places = new Map(logged.map((record) => [placeOf(record), record]));
  const observed = await readStateLines(database.pool, ALL_BUCKETS, (place) => places.get(place));
  problems.push(...difference("the workload's state", wanted.state, observed));
  // By its own receipts too: a difference only above would be one of the order of receipt, not of applying.
  problems.push(...difference("the state of the log as received", linesOf(stateAfter(logged)), observed));
  problems.push(...outcomeProblems(logged, observed.length));
  const elsewhere = await countChangesThatEndElsewhere(database.pool);
  if (elsewhere > 0)
    problems.push(`the numbered changes of ${elsewhere} records end in another content than the current one`);
  const views = await digestViews(database.pool);
  problems.push(...(await ledgerProblems(database.pool)));
  const ledger = await digestLedgerBySource(database.pool);
  if (wanted.reference !== undefined) {
    if (ledger !== wanted.reference.ledger)
      problems.push(`the ledger by source times is not that of the workload in its own order: ${ledger}`);
    for (const [view, digest] of wanted.reference.views) {
      if (views.get(view) === digest) continue;
      const { missing, surplus } = await differingRows(wanted.reference.database.pool, database.pool, view);
      problems.push(
        ...shown(`not what analytics.${view} shows of the workload in its own order`, missing, surplus),
      );
    }
  }
  return { views, ledger, problems };
}

function difference(what: string, expected: readonly string[], observed: readonly string[]): string[] {
  const missing = without(expected, observed);
  const surplus = without(observed, expected);
  return missing.length + surplus.length === 0 ? [] : shown(`not ${what}`, missing, surplus);
}

function shown(what: string, missing: readonly string[], surplus: readonly string[]): string[] {
  return [
    `${what}: ${missing.length} rows missing, ${surplus.length} too many`,
    ...missing.slice(0, SHOWN_MAX).map((row) => `  missing ${row}`),
    ...surplus.slice(0, SHOWN_MAX).map((row) => `  too many ${row}`),
  ];
}

/** Every record has one outcome, and as many are versions as there are versions. */
function outcomeProblems(logged: readonly LoggedRecord[], versions: number): string[] {
  const counts = new Map<string, number>();
  for (const { outcome } of logged) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const count = (letter: string): number => counts.get(letter) ?? 0;
  const problems: string[] = [];
  if (count("a") + count("u") + count("s") + count("d") !== logged.length)
    problems.push(
      `outcomes other than applied, unchanged, stale and duplicate: ${JSON.stringify([...counts])}`,
    );
  if (count("a") + count("u") + count("s") !== versions)
    problems.push(
      `${count("a") + count("u") + count("s")} outcomes say that a version was made; ${versions} exist`,
    );
  return problems;
}
