import type { RefusedRecord, SendReport, UnconfirmedRecords } from "#client";
import type { FileRecord } from "./file-records.ts";
import type { Refusals } from "./send-refusals.ts";
import { printable, tableLines } from "./text-output.ts";

/** Batches that are told of in words. */
const UNCONFIRMED_LISTED_MAX = 5;

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
    unconfirmed: unconfirmed.map((one) => ({
      first: placeOf(one),
      count: one.count,
      reason: one.reason,
      code: one.code ?? null,
      status: one.status ?? null,
      requestId: one.requestId ?? null,
    })),
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

/** The place in the file: what was kept back here was not given to the client, and not counted by it. */
const placeOf = ({ given }: UnconfirmedRecords): number => (given as FileRecord).place;

const count = (value: number): string => value.toLocaleString("en-US");

function refusedRow({ index, outcome, code, message, violations: [first] }: RefusedRecord): string[] {
  return [String(index), outcome, first?.pointer || "-", code, message];
}

function unconfirmedLine(one: UnconfirmedRecords): string {
  const answer = one.status === undefined ? "" : ` (${one.status}, request ${one.requestId ?? "unknown"})`;
  return `${count(one.count)} records from record ${placeOf(one)} on are not known to have arrived: ${printable(one.reason)}${printable(answer)}`;
}

/** For people. */
export function sentLines({ file, resource, report, refusals, seconds, failure }: SentFile): string[] {
  const rejected = report.rejectedTotal + refusals.keptBack;
  const held = (report.outcomes?.quarantined ?? 0) + (report.outcomes?.discarded ?? 0);
  const name = file === "-" ? "standard input" : printable(file);
  const lines = [
    `${count(report.records + refusals.keptBack)} ${resource} of ${name}: ${count(report.accepted)} accepted in ${count(report.batches)} ${report.batches === 1 ? "batch" : "batches"}, ${count(rejected)} rejected, ${seconds.toFixed(1)} s`,
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
  for (const one of report.unconfirmed.slice(0, UNCONFIRMED_LISTED_MAX)) lines.push(unconfirmedLine(one));
  const unlisted = report.unconfirmed.length - UNCONFIRMED_LISTED_MAX;
  if (unlisted > 0) lines.push(`… and ${count(unlisted)} more batches: --json lists them`);
  if (failure !== undefined)
    lines.push(`Not all is sent: ${printable(failure)} The same line goes on where it stopped.`);
  return lines;
}
