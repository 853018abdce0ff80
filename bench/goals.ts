import type { Figures } from "./contestant.ts";
import type { RoundFigures } from "./measure-round.ts";
import type { CaseResult } from "./report.ts";
import { median, percentile, spreadOf } from "./statistics.ts";

/** One goal: the target and the measured value. */
export interface Goal {
  readonly text: string;
  readonly measured: string;
  /** Undefined if not measured. */
  readonly met: boolean | undefined;
}

type Pick = (round: RoundFigures) => number;
type Bound = readonly ["at least" | "at most", number];

function short(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toPrecision(3);
}

function isMet(value: number, [side, bound]: Bound): boolean {
  return side === "at least" ? value >= bound : value <= bound;
}

function figure(name: string, pick: (figures: Figures) => number): Pick {
  return ({ contestants }) => {
    const figures = contestants[name];
    return figures === undefined ? Number.NaN : pick(figures);
  };
}

function ratio(over: Pick, under: Pick): Pick {
  return (round) => over(round) / under(round);
}

const accepted = (name: string) => figure(name, ({ acceptedPerSecond }) => acceptedPerSecond);
const applied = (name: string) => figure(name, ({ appliedPerSecond }) => appliedPerSecond);
const wal = (name: string) => figure(name, ({ walBytes }) => walBytes);
const copied: Pick = ({ copy }) => copy?.recordsPerSecond ?? Number.NaN;
const PUSHES_A_MINUTE = 60 / 730;

/** A goal judged by the median of all rounds. */
function byRounds(results: readonly CaseResult[], [name, wanted, pick, bound]: Wanted): Goal {
  const text = `${name}, ${wanted}`;
  const values = (results.find(({ benchCase }) => benchCase.name === name)?.rounds ?? [])
    .map(pick)
    .filter((value) => !Number.isNaN(value));
  if (values.length === 0) return { text, measured: "not measured", met: undefined };
  const { median: middle, min, max } = spreadOf(values);
  const range = values.length === 1 ? "" : ` [${short(min)} to ${short(max)}]`;
  return { text, measured: `${short(middle)}${range}${howFar(middle, bound)}`, met: isMet(middle, bound) };
}

function howFar(value: number, [side, bound]: Bound): string {
  if (isMet(value, [side, bound])) return "";
  return `, ${short((100 * value) / bound)} % of ${short(bound)}`;
}

/** Over all pushes sent alone in all rounds. */
function aloneGoal(results: readonly CaseResult[], name: string): Goal {
  const text = `${name}, a push from first byte to applied: <= 150 ms`;
  const rounds = results.find(({ benchCase }) => benchCase.name === name)?.rounds ?? [];
  const times = rounds.flatMap(({ contestants }) => contestants["bellhop"]?.aloneMs ?? []);
  if (times.length === 0) return { text, measured: "not measured", met: undefined };
  const middle = median(times);
  const measured = `${short(middle)} ms, p99 ${short(percentile(times, 0.99))} ms of ${times.length}`;
  return { text, measured, met: middle <= 150 };
}

function memoryGoal(results: readonly CaseResult[]): Goal {
  const peaks = results.flatMap(({ rounds }) =>
    rounds.map(({ contestants }) => (contestants["bellhop"]?.nodePeakBytes ?? Number.NaN) / 1e6),
  );
  const peak = Math.max(...peaks);
  return {
    text: "memory of a node at full load, all cases, <= 400 MB",
    measured: `${short(peak)} MB`,
    met: peak <= 400,
  };
}

/** A goal's case, target and figure per round. */
type Wanted = readonly [name: string, text: string, pick: Pick, bound: Bound];

const HUNDRED = "reservations-100-new";
const ONE = "reservations-1-new";
const CHANGED = "reservations-100-changed";
const REPEATS = "reservations-100-unchanged90";
const NIGHTLY = "inventories-730-unchanged90";

const ownAccept = (peer: string) => ratio(accepted("bellhop-accept"), accepted(peer));
const whileApplying = ratio(accepted("bellhop"), accepted("good-team"));
const appliedToGood = ratio(applied("bellhop"), applied("good-team"));
const walToGood = ratio(wal("bellhop"), wal("good-team"));

const garbageShare = figure(
  "bellhop",
  ({ garbageMicros, nodeMicros, postgresMicros }) => garbageMicros / (nodeMicros + postgresMicros),
);

const WANTED: readonly Wanted[] = [
  [HUNDRED, "accepted by itself: >= 4 x good team", ownAccept("good-team"), ["at least", 4]],
  [HUNDRED, "accepted while applying: >= 3 x good team", whileApplying, ["at least", 3]],
  [HUNDRED, "accepted by itself: >= 0.85 of the append limit", ownAccept("append-limit"), ["at least", 0.85]],
  [ONE, "accepted by itself: >= 2 x good team", ownAccept("good-team"), ["at least", 2]],
  [ONE, "accepted while applying: >= 2 x good team", whileApplying, ["at least", 2]],
  [ONE, "applied: >= 1.5 x good team", appliedToGood, ["at least", 1.5]],
  [
    `${ONE}-paced`,
    "at 70 % of the most, p99: <= 25 ms",
    figure("bellhop", ({ p99Ms }) => p99Ms),
    ["at most", 25],
  ],
  [HUNDRED, "applied: >= 1.5 x good team", appliedToGood, ["at least", 1.5]],
  [CHANGED, "applied: >= 1.3 x good team", appliedToGood, ["at least", 1.3]],
  [HUNDRED, "applied: >= 0.6 of COPY", ratio(applied("bellhop"), copied), ["at least", 0.6]],
  [REPEATS, "applied: >= 3 x good team", appliedToGood, ["at least", 3]],
  [NIGHTLY, "applied: >= 3 x good team", appliedToGood, ["at least", 3]],
  [
    NIGHTLY,
    "hotels a minute: >= 1,000",
    (round) => applied("bellhop")(round) * PUSHES_A_MINUTE,
    ["at least", 1_000],
  ],
  [HUNDRED, "WAL a record: <= 0.55 of good team", walToGood, ["at most", 0.55]],
  [HUNDRED, "garbage collection: <= 8 % of CPU", garbageShare, ["at most", 0.08]],
];

/** The goals measured by a run's cases. Ratios are calculated per round; the median counts. */
export function goalsOf(results: readonly CaseResult[]): Goal[] {
  return [
    ...WANTED.map((wanted) => byRounds(results, wanted)),
    aloneGoal(results, `${NIGHTLY}-alone`),
    aloneGoal(results, "inventories-730-new-alone"),
    memoryGoal(results),
  ];
}

export function goalLines(goals: readonly Goal[]): string[] {
  const words = (met: boolean | undefined) => (met === undefined ? "-" : met ? "met" : "NOT MET");
  return goals.map(({ text, measured, met }) => `  ${words(met).padEnd(8)}${text}: ${measured}`);
}
