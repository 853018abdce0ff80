import type { BenchCase } from "./cases.ts";
import type { RoundFigures } from "./measure-round.ts";
import { type Spread, spreadOf } from "./statistics.ts";

export interface CaseResult {
  readonly benchCase: BenchCase;
  readonly rounds: readonly RoundFigures[];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function short(value: number): string {
  return value >= 100 ? whole(value) : value.toPrecision(3);
}

function ranged({ median, min, max }: Spread): string {
  return min === max ? short(median) : `${short(median)} [${short(min)} to ${short(max)}]`;
}

function percent(of: number, limit: number): string {
  return `${((100 * of) / limit).toFixed(1)} %`;
}

/** A case's figures: the median of its rounds, with the least and the greatest, and the two limits beside them. */
export function caseLines({ benchCase, rounds }: CaseResult): string[] {
  const [first] = rounds;
  if (first === undefined) return [];
  const spread = (pick: (round: RoundFigures) => number) => spreadOf(rounds.map(pick));
  const perRecord = (pick: (round: RoundFigures) => number | undefined) =>
    ranged(spread((round) => (pick(round) ?? Number.NaN) / round.records));
  const accepted = spread((round) => round.acceptedPerSecond);
  const applied = spread((round) => round.appliedPerSecond);
  const bare = spread((round) => round.bare.recordsPerSecond);
  const copy = spread((round) => round.copy.recordsPerSecond);
  const microseconds = (usage: { cpuSeconds: number } | undefined) =>
    usage === undefined ? undefined : usage.cpuSeconds * 1e6;
  const megabytes = (usage: { peakBytes: number } | undefined) => (usage?.peakBytes ?? Number.NaN) / 1e6;
  const outcomes = Object.entries(first.outcomes)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${percent(count, first.records)} ${name}`);
  const lines: [string, string][] = [
    [
      "accepted records/s",
      `${ranged(accepted)}   ${percent(accepted.median, bare.median)} of the bare server`,
    ],
    ["applied records/s", `${ranged(applied)}   ${percent(applied.median, copy.median)} of COPY`],
    ["JSON accepted MB/s", ranged(spread((round) => round.megabytesPerSecond))],
    ["answer p50 ms", ranged(spread((round) => round.p50Ms))],
    ["answer p99 ms", ranged(spread((round) => round.p99Ms))],
    ["node CPU µs a record", perRecord((round) => microseconds(round.node))],
    ["PostgreSQL CPU µs a record", perRecord((round) => microseconds(round.postgres))],
    ["node memory MB", ranged(spread((round) => megabytes(round.node)))],
    ["PostgreSQL memory MB", ranged(spread((round) => megabytes(round.postgres)))],
    ["WAL bytes a record", perRecord((round) => round.walBytes)],
    ["disk bytes a record", perRecord((round) => round.diskBytes)],
    ["limit: bare node:http records/s", `${ranged(bare)}   p50 ${short(first.bare.p50Ms)} ms`],
    [
      "limit: COPY records/s",
      `${ranged(copy)}   ${whole(spread((round) => round.copy.rowsPerSecond).median)} rows/s`,
    ],
  ];
  const title =
    `${benchCase.resource}, ${whole(benchCase.recordsPerBatch)} a batch: ${whole(first.records)} records, ` +
    `${(first.bytes / 1e6).toFixed(1)} MB a round; ${rounds.length} rounds; ${benchCase.connections} connections`;
  return [title, `  ${outcomes.join(", ")}`, ...lines.map(([name, value]) => `  ${name.padEnd(34)}${value}`)];
}
