import { availableParallelism, loadavg } from "node:os";
import { counted, figure, quantiles, seconds } from "./figures.ts";
import type { Ledger } from "./ledger.ts";

/** How much was accepted, how long a campaign took in milliseconds, and beside what. */
export interface RunFigures {
  readonly accepted: number;
  readonly records: number;
  readonly durationMs: number;
  /** Of the last minute, other people's work included: times are to be read with it. */
  readonly loadAverage: number;
  readonly cores: number;
}

/** Of a campaign that began at `startedAt` of `performance.now` and ends now. */
export function runFigures(ledger: Ledger, startedAt: number): RunFigures {
  return {
    accepted: ledger.acceptedRequests,
    records: ledger.acceptedRecords,
    durationMs: performance.now() - startedAt,
    loadAverage: loadavg()[0] ?? Number.NaN,
    cores: availableParallelism(),
  };
}

/** What every kind of campaign comes to that checks the log. Times are in milliseconds. */
export interface CommonFigures extends RunFigures {
  readonly repeats: number;
  readonly lost: number;
  readonly doubled: number;
  readonly storedUnanswered: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly longestAnswerMs: number;
  readonly longestLagMs: number;
  readonly problems: readonly string[];
}

/** What one campaign on one service came to. Times are in milliseconds. */
export interface CampaignReport extends CommonFigures {
  readonly seed: number;
  readonly faults: number;
  /** Of what, how often. */
  readonly ofWhat: Readonly<Record<string, number>>;
  /** Lines of this kind of campaign's own. */
  readonly figures: readonly string[];
  readonly refusals: number;
  /** From the start of the service, or from the end of what was done to it, to ready. */
  readonly readyMs: readonly number[];
  readonly drainMs: number;
}

export function acceptedLine({ accepted, records }: RunFigures): string {
  return figure("202s", `${accepted}, ${records} records`);
}

export function loadLine({ loadAverage, cores }: RunFigures): string {
  return figure("load average of the machine", `${loadAverage.toFixed(1)} on ${cores} cores`);
}

/** What became of everything that was answered, for people; `seen` is what the senders saw. */
export function answerLines(report: CommonFigures, seen: string): string[] {
  return [
    acceptedLine(report),
    figure("lost", report.lost),
    figure("doubled", report.doubled),
    figure("stored without an answer", report.storedUnanswered),
    figure("repeated with their key", `${report.repeats} more 202s`),
    seen,
    figure("outcomes", counted(report.outcomes)),
  ];
}

/** How long the slowest took, and beside what. */
export function waitLines(report: CommonFigures): string[] {
  return [
    figure("longest wait for an answer", seconds(report.longestAnswerMs)),
    figure("longest receipt to applied", seconds(report.longestLagMs)),
    loadLine(report),
  ];
}

/** The figures of a campaign, for people. */
export function reportLines(report: CampaignReport): string[] {
  const ready = `until ready (${String(report.readyMs.length).padStart(3)} times)`;
  return [
    figure("seed", report.seed),
    figure("faults", `${report.faults} (${counted(report.ofWhat)}) in ${seconds(report.durationMs)}`),
    ...answerLines(report, figure("503s and lost answers", report.refusals)),
    figure(ready, quantiles(report.readyMs)),
    ...report.figures,
    ...waitLines(report),
    figure("drain at the end", seconds(report.drainMs)),
  ];
}
