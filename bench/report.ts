import type { BenchCase } from "./cases.ts";
import type { Figures } from "./contestant.ts";
import type { RoundFigures } from "./measure-round.ts";
import { median, percentile, type Spread, spreadOf } from "./statistics.ts";

export interface CaseResult {
  readonly benchCase: BenchCase;
  readonly rounds: readonly RoundFigures[];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function short(value: number): string {
  if (Number.isNaN(value)) return "-";
  return Math.abs(value) >= 100 ? whole(value) : value.toPrecision(3);
}

function ranged({ median, min, max }: Spread): string {
  return min === max ? short(median) : `${short(median)} [${short(min)} to ${short(max)}]`;
}

const MEGABYTE = 1e6;

const COLUMNS: readonly (readonly [title: string, pick: (figures: Figures) => number, ranged: boolean])[] = [
  ["accepted/s", (figures) => figures.acceptedPerSecond, true],
  ["applied/s", (figures) => figures.appliedPerSecond, true],
  ["MB/s", (figures) => figures.megabytesPerSecond, false],
  ["p50 ms", (figures) => figures.p50Ms, false],
  ["p99 ms", (figures) => figures.p99Ms, false],
  ["p99.9 ms", (figures) => figures.p999Ms, false],
  ["node µs", (figures) => figures.nodeMicros, false],
  ["PostgreSQL µs", (figures) => figures.postgresMicros, false],
  ["garbage µs", (figures) => figures.garbageMicros, false],
  ["load µs", (figures) => figures.loadMicros, false],
  ["WAL B", (figures) => figures.walBytes, false],
  ["disk B", (figures) => figures.diskBytes, false],
  ["node MB", (figures) => figures.nodePeakBytes / MEGABYTE, false],
  ["PostgreSQL MB", (figures) => figures.postgresPeakBytes / MEGABYTE, false],
];

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map(
    (row) =>
      `  ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join("  ")}`,
  );
}

/** Times from the first byte to application of batches that were sent alone. */
function aloneLines(names: readonly string[], rounds: readonly RoundFigures[]): string[] {
  return names.flatMap((name) => {
    const times = rounds.flatMap(({ contestants }) => contestants[name]?.aloneMs ?? []);
    if (times.length === 0) return [];
    const [middle, most] = [median(times), percentile(times, 0.99)];
    return [`  ${name}: first byte to applied ${short(middle)} ms, p99 ${short(most)} ms of ${times.length}`];
  });
}

/** A case's figures, one row per contestant: the median of its rounds, and for rates the minimum and maximum. */
export function caseLines({ benchCase, rounds }: CaseResult): string[] {
  const [first] = rounds;
  if (first === undefined) return [];
  const names = Object.keys(first.contestants);
  const cells = names.map((name) => {
    const all = rounds.map((round) => round.contestants[name] as Figures);
    return [
      name,
      ...COLUMNS.map(([, pick, withRange]) => {
        const spread = spreadOf(all.map(pick));
        return withRange ? ranged(spread) : short(spread.median);
      }),
    ];
  });
  const copies = rounds.flatMap(({ copy }) => (copy === undefined ? [] : [copy]));
  if (copies.length > 0) {
    const copy = ranged(spreadOf(copies.map(({ recordsPerSecond }) => recordsPerSecond)));
    cells.push(["copy-limit", "", copy, ...COLUMNS.slice(2).map(() => "")]);
  }
  const own = first.contestants["bellhop"];
  const outcomes = Object.entries(first.outcomes)
    .map(([name, count]) => `${((100 * count) / (own?.records ?? 1)).toFixed(1)} % ${name}`)
    .join(", ");
  const title =
    `${benchCase.name}: ${whole(own?.records ?? 0)} records, ${((own?.bytes ?? 0) / MEGABYTE).toFixed(1)} MB a round; ` +
    `${rounds.length} rounds; ${benchCase.connections} connections; ${benchCase.hotels} hotels; ${outcomes}`;
  return [title, ...table([["", ...COLUMNS.map(([name]) => name)], ...cells]), ...aloneLines(names, rounds)];
}
