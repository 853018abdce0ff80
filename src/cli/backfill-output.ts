import type { Backfill } from "../backfill/backfill.ts";
import type { Gap } from "../backfill/gaps.ts";
import type { Progress, ResourceProgress } from "../backfill/progress.ts";
import { fieldLines, tableLines } from "./text-output.ts";

const seconds = (instant: string | null): string => (instant === null ? "-" : `${instant.slice(0, 19)}Z`);
const orDash = (value: number | null): string => (value === null ? "-" : String(value));

/** Backfills in a table. */
export function listLines(items: readonly Backfill[]): string[] {
  if (items.length === 0) return ["There is no backfill."];
  const rows = items.map(({ backfillId, state, manifest, clientId, openedAt, endedAt, signatures }) => [
    ...[backfillId, state, `${manifest.clientCode}/${manifest.propertyCode}`, clientId],
    ...[seconds(openedAt), seconds(endedAt), signatures.map(({ side }) => side).join("+") || "-"],
  ]);
  return tableLines(["BACKFILL", "STATE", "PROPERTY", "CLIENT", "OPENED", "ENDED", "SIGNED"], rows);
}

function resourceRow(of: ResourceProgress): string[] {
  const { counts, datesNamed, datesCovered } = of;
  return [
    ...[of.resource, `${of.from} to ${of.to}`, orDash(of.expectedRecords), String(of.distinctRecords)],
    datesNamed === null ? "-" : `${datesCovered} of ${datesNamed}`,
    ...[of.batches, counts.records, counts.applied, counts.unchanged, counts.stale, counts.duplicate].map(
      String,
    ),
    ...[counts.quarantined, counts.discarded, counts.rejected, counts.pending].map(String),
  ];
}

const HEADINGS = [
  ...["RESOURCE", "DATES", "EXPECTED", "DISTINCT", "COVERED", "BATCHES", "RECORDS", "APPLIED", "UNCHANGED"],
  ...["STALE", "DUPLICATE", "HELD", "DISCARDED", "REJECTED", "PENDING"],
];

/** One backfill: what it is, what has come by resource, and who has signed. */
export function backfillLines(progress: Progress, reproduced: boolean | null): string[] {
  const { backfill, resources, waitingBatches, oldestWaitingAt, lateBatches } = progress;
  const { manifest, statementHash, signatures } = backfill;
  const facts: [string, string][] = [
    ["backfill", backfill.backfillId],
    ["state", backfill.state],
    ["property", `${manifest.clientCode}/${manifest.propertyCode}`],
    ["client", backfill.clientId],
    ["opened", seconds(backfill.openedAt)],
    ["ended", seconds(backfill.endedAt)],
    ...(manifest.note === null ? [] : [["note", manifest.note] as [string, string]]),
    [
      "waiting",
      waitingBatches === 0 ? "nothing" : `${waitingBatches} batches since ${seconds(oldestWaitingAt)}`,
    ],
    ...(lateBatches === 0
      ? []
      : [["late", `${lateBatches} batches came after the statement`] as [string, string]]),
    ...(backfill.abandonedBy === null
      ? []
      : [
          ["abandoned", `${backfill.abandonedBy}: ${backfill.abandonedWhy ?? "no reason given"}`] as [
            string,
            string,
          ],
        ]),
    ...(statementHash === null ? [] : [["statement", statementHash] as [string, string]]),
    ...(reproduced === null
      ? []
      : [
          ["reproduced", reproduced ? "yes: the log says the same" : "NO: the log says something else"] as [
            string,
            string,
          ],
        ]),
    ...signatures.map(
      ({ side, signedBy, signedAt }) =>
        [`signed (${side})`, `${signedBy}, ${seconds(signedAt)}`] as [string, string],
    ),
  ];
  return [...fieldLines(facts), "", ...tableLines(HEADINGS, resources.map(resourceRow))];
}

function gapRow(gap: Gap): string[] {
  if (gap.kind === "records-short")
    return [gap.resource, "short", `${gap.missing} of ${gap.expected} expected records are missing`, "", ""];
  if (gap.kind === "date-missing") return [gap.resource, "date", gap.date, "", ""];
  const what = `${gap.outcome}${gap.mended ? ", mended since" : ""}`;
  return [gap.resource, what, gap.key ?? "-", `${gap.requestId} ${gap.index}`, gap.message ?? gap.code ?? ""];
}

/** What is missing, in a table. */
export function gapLines(gaps: readonly Gap[]): string[] {
  if (gaps.length === 0) return ["Nothing is missing."];
  return tableLines(["RESOURCE", "WHAT", "KEY", "REQUEST AND INDEX", "WHY"], gaps.map(gapRow));
}
