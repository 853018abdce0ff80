import { median } from "../statistics.ts";
import { deadRowProblems } from "./dead-rows.ts";
import type { SoakMinute } from "./soak-minute.ts";

/** Maximum of the last third relative to the second; the first third is warm-up. */
const RATIO_MAX = 1.2;
const MORE_MS_MAX = 10;
/** Memory growth in the last two thirds by linear regression; a larger share is not noise. */
const MEMORY_GROWTH_MAX = 0.05;
/** Maximum share of CPU time withheld by the host in an undisturbed minute. */
const STOLEN_MAX = 0.03;

export interface Flatness {
  readonly what: string;
  readonly said: string;
  readonly isFlat: boolean;
}

/** The rise of the regression line from the first to the last of equally spaced values. */
export function riseOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let above = 0;
  let below = 0;
  values.forEach((value, at) => {
    above += (at - middle) * (value - mean);
    below += (at - middle) ** 2;
  });
  return below === 0 ? 0 : (above / below) * (values.length - 1);
}

function memoryOf(what: string, values: readonly number[]): Flatness {
  const rise = riseOf(values);
  const last = values.at(-1) ?? Number.NaN;
  return {
    what,
    said: `${rise < 0 ? "" : "+"}${(rise / 1e6).toFixed(1)} MB over the last two thirds, ${(last / 1e6).toFixed(0)} MB at the end`,
    isFlat: rise <= last * MEMORY_GROWTH_MAX,
  };
}

function latencyOf(
  [what, pick]: Latency,
  secondThird: readonly SoakMinute[],
  lastThird: readonly SoakMinute[],
): Flatness {
  const middleOf = (minutes: readonly SoakMinute[]) => median(minutes.map(pick));
  const [second, last] = [middleOf(secondThird), middleOf(lastThird)];
  return {
    what,
    said: `${second.toFixed(1)} ms in the second third, ${last.toFixed(1)} in the last (medians of minutes)`,
    isFlat: last <= Math.max(second * RATIO_MAX, second + MORE_MS_MAX),
  };
}

type Latency = readonly [string, (minute: SoakMinute) => number];

const LATENCIES: readonly Latency[] = [
  ["accept p99", ({ acceptP99 }) => acceptP99],
  ["apply lag p50", ({ lagP50 }) => lagP50],
  ["apply lag p99", ({ lagP99 }) => lagP99],
];

/** The compared thirds, limited to counted minutes. The middle minute of an odd number is in both. */
function thirdsOf(minutes: readonly SoakMinute[], isCounted: (minute: SoakMinute) => boolean = () => true) {
  const counted = minutes.slice(Math.floor(minutes.length / 3));
  const half = Math.ceil(counted.length / 2);
  return [counted.slice(0, half), counted.slice(-half)].map((third) => third.filter(isCounted)) as [
    SoakMinute[],
    SoakMinute[],
  ];
}

/** Latencies in the minutes without interference by the host, if there was any. Shows where to look if only these are flat. */
export function undisturbedOf(minutes: readonly SoakMinute[]): Flatness[] {
  const isUndisturbed = ({ processors }: SoakMinute) => (processors?.stolen ?? 0) <= STOLEN_MAX;
  const [second, last] = thirdsOf(minutes, isUndisturbed);
  if (minutes.every(isUndisturbed) || second.length === 0 || last.length === 0) return [];
  return LATENCIES.map((latency) => latencyOf(latency, second, last)).map(({ said, ...one }) => ({
    ...one,
    said: `${said}, of ${second.length} and ${last.length} minutes with at most ${100 * STOLEN_MAX} % stolen`,
  }));
}

/** The result of a soak as text. */
export function verdictOf(
  minutes: readonly SoakMinute[],
  before: SoakMinute["rows"],
  after: SoakMinute["rows"],
): Flatness[] {
  const counted = minutes.slice(Math.floor(minutes.length / 3));
  const of = (pick: (minute: SoakMinute) => number) => counted.map(pick);
  const dead = deadRowProblems(before, after);
  const refused = minutes.reduce(
    (sum, minute) => sum + Object.values(minute.refused).reduce((all, count) => all + count, 0),
    0,
  );
  return [
    memoryOf(
      "memory of the node",
      of(({ nodeBytes }) => nodeBytes),
    ),
    memoryOf(
      "memory of PostgreSQL",
      of(({ postgresBytes }) => postgresBytes),
    ),
    ...LATENCIES.map((latency) => latencyOf(latency, ...thirdsOf(minutes))),
    {
      what: "dead rows",
      said:
        dead.length === 0
          ? "none in log, outcomes and versions, elsewhere at most the changes"
          : dead.join("; "),
      isFlat: dead.length === 0,
    },
    { what: "answers", said: `${refused} other than 202`, isFlat: refused === 0 },
  ];
}
