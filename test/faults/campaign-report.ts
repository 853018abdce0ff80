/** What one campaign came to. Times are in milliseconds. */
export interface CampaignReport {
  readonly seed: number;
  readonly faults: number;
  /** Of what, how often. */
  readonly ofWhat: Readonly<Record<string, number>>;
  /** Lines of this kind of campaign's own. */
  readonly figures: readonly string[];
  readonly accepted: number;
  readonly records: number;
  readonly repeats: number;
  readonly refusals: number;
  readonly lost: number;
  readonly doubled: number;
  readonly storedUnanswered: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** From the start of the service, or from the end of what was done to it, to ready. */
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

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** The figures of a campaign, for people. */
export function reportLines(report: CampaignReport): string[] {
  const ready = report.readyMs.toSorted((left, right) => left - right);
  const ofWhat = Object.entries(report.ofWhat).map(([what, count]) => `${count} ${what}`);
  const outcomes = Object.entries(report.outcomes).map(([letter, count]) => `${letter} ${count}`);
  return [
    `seed                              ${report.seed}`,
    `faults                            ${report.faults} (${ofWhat.join(", ")}) in ${seconds(report.durationMs)}`,
    `202s                              ${report.accepted}, ${report.records} records`,
    `lost                              ${report.lost}`,
    `doubled                           ${report.doubled}`,
    `stored without an answer          ${report.storedUnanswered}`,
    `repeated with their key           ${report.repeats} more 202s`,
    `503s and lost answers             ${report.refusals}`,
    `outcomes                          ${outcomes.join(", ")}`,
    `until ready (${String(ready.length).padStart(3)} times)           min ${seconds(ready[0] ?? Number.NaN)}, median ${seconds(quantile(ready, 0.5))}, p95 ${seconds(quantile(ready, 0.95))}, max ${seconds(ready.at(-1) ?? Number.NaN)}`,
    ...report.figures,
    `longest wait for an answer        ${seconds(report.longestAnswerMs)}`,
    `longest receipt to applied        ${seconds(report.longestLagMs)}`,
    `load average of the machine       ${report.loadAverage.toFixed(1)} on ${report.cores} cores`,
    `drain at the end                  ${seconds(report.drainMs)}`,
  ];
}
