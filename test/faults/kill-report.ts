/** What one campaign of kills came to. Times are in milliseconds. */
export interface KillReport {
  readonly target: KillTarget;
  readonly seed: number;
  readonly kills: number;
  /** Of what was killed, how often. */
  readonly killed: Readonly<Record<string, number>>;
  readonly accepted: number;
  readonly records: number;
  readonly repeats: number;
  readonly refusals: number;
  readonly lost: number;
  readonly doubled: number;
  readonly storedUnanswered: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** From the start of the service, or from the kill of PostgreSQL, to ready. */
  readonly readyMs: readonly number[];
  readonly longestAnswerMs: number;
  readonly longestLagMs: number;
  readonly drainMs: number;
  readonly durationMs: number;
  /** Of the last minute, other people's work included: times are to be read with it. */
  readonly loadAverage: number;
  readonly cores: number;
  readonly problems: readonly string[];
}

export const KILL_TARGETS = ["service", "postgres", "both"] as const;
/** `both` is what a power cut is: the service and every process of its PostgreSQL at the same moment. */
export type KillTarget = (typeof KILL_TARGETS)[number];

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** The figures of a campaign, for people. */
export function reportLines(report: KillReport): string[] {
  const ready = report.readyMs.toSorted((left, right) => left - right);
  const ofWhat = Object.entries(report.killed).map(([what, count]) => `${count} ${what}`);
  const outcomes = Object.entries(report.outcomes).map(([letter, count]) => `${letter} ${count}`);
  return [
    `seed                              ${report.seed}`,
    `kills                             ${report.kills} (${ofWhat.join(", ")}) in ${seconds(report.durationMs)}`,
    `202s                              ${report.accepted}, ${report.records} records`,
    `lost                              ${report.lost}`,
    `doubled                           ${report.doubled}`,
    `stored without an answer          ${report.storedUnanswered}`,
    `repeated with their key           ${report.repeats} more 202s`,
    `503s and lost answers             ${report.refusals}`,
    `outcomes                          ${outcomes.join(", ")}`,
    `${report.target === "postgres" ? "kill" : "start"} to ready (${String(ready.length).padStart(3)} times)      min ${seconds(ready[0] ?? Number.NaN)}, median ${seconds(quantile(ready, 0.5))}, p95 ${seconds(quantile(ready, 0.95))}, max ${seconds(ready.at(-1) ?? Number.NaN)}`,
    `longest wait for an answer        ${seconds(report.longestAnswerMs)}`,
    `longest receipt to applied        ${seconds(report.longestLagMs)}`,
    `load average of the machine       ${report.loadAverage.toFixed(1)} on ${report.cores} cores`,
    `drain at the end                  ${seconds(report.drainMs)}`,
  ];
}
