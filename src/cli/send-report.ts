import type { RefusedRecord, SendReport } from "#client";
import type { Refusals } from "./send-refusals.ts";
import { printable, tableLines } from "./text-output.ts";

/** One `bellhop send`, over. */
export interface SentFile {
  readonly file: string;
  readonly resource: string;
  readonly report: SendReport;
  readonly refusals: Refusals;
  readonly seconds: number;
  /** Why it could not go on; undefined where all is sent. */
  readonly failure: string | undefined;
}

/** For programs. */
export function sentJson({ file, resource, report, refusals, seconds, failure }: SentFile): object {
  const { accepted, batches, outcomes = null, retries, unconfirmed } = report;
  return {
    file,
    resource,
    complete: failure === undefined,
    failure: failure ?? null,
    records: report.records + refusals.keptBack,
    accepted,
    rejected: report.rejectedTotal + refusals.keptBack,
    batches,
    outcomes,
    retries,
    unconfirmed,
    refused: refusals.listed.map(({ index, outcome, code, message, violations }) => ({
      index,
      outcome,
      code,
      message,
      violations: violations.map(({ pointer, code: of, message: why }) => ({
        pointer,
        code: of,
        message: why,
      })),
    })),
    seconds: Math.round(seconds * 10) / 10,
  };
}

const count = (value: number): string => value.toLocaleString("en-US");

function refusedRow({ index, outcome, code, message, violations: [first] }: RefusedRecord): string[] {
  return [String(index), outcome, first?.pointer || "-", code, message];
}

/** For people. */
export function sentLines({ file, resource, report, refusals, seconds, failure }: SentFile): string[] {
  const rejected = report.rejectedTotal + refusals.keptBack;
  const held = (report.outcomes?.quarantined ?? 0) + (report.outcomes?.discarded ?? 0);
  const name = file === "-" ? "standard input" : printable(file);
  const lines = [
    `${count(report.records + refusals.keptBack)} ${resource} of ${name}: ${count(report.accepted)} accepted in ${count(report.batches)} batches, ${count(rejected)} rejected, ${seconds.toFixed(1)} s`,
  ];
  if (report.outcomes !== undefined) {
    const { warned, ...ends } = report.outcomes;
    const told = Object.entries(ends).filter(([, records]) => records > 0);
    const warnings = warned > 0 ? `; ${count(warned)} with warnings` : "";
    lines.push(
      `  ${told.map(([end, records]) => `${end} ${count(records)}`).join(", ") || "no outcomes"}${warnings}`,
    );
  }
  if (refusals.listed.length > 0) {
    const rows = tableLines(["RECORD", "OUTCOME", "POINTER", "CODE", "WHY"], refusals.listed.map(refusedRow));
    lines.push("", ...rows);
    const more = rejected + held - refusals.listed.length;
    if (more > 0) lines.push(`… and ${count(more)} more: --rejected FILE writes them all`);
  }
  for (const { first, count: records, reason } of report.unconfirmed.slice(0, 5))
    lines.push(
      `${count(records)} records from the ${count(first)}th on are not confirmed: ${printable(reason)}`,
    );
  if (failure !== undefined)
    lines.push(`Not all is sent: ${printable(failure)} The same line goes on where it stopped.`);
  return lines;
}
