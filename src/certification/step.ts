import { createHash } from "node:crypto";
import type { Resource } from "#contract/resource.ts";
import type { BackfillResourceProgress } from "../console/api-types.ts";
import type { ErrorDetail } from "../platform/errors/registry.ts";
import type { Outcome } from "../query/outcome.ts";
import type { Certification } from "./certification.ts";
import type { NotedEvent } from "./wire-notes.ts";

/** A step's result, a reason that a developer can act on, and the requests involved. */
export interface Finding {
  readonly result: "pass" | "fail" | "not-yet";
  readonly reason: string;
  readonly requestIds: readonly string[];
}

export interface Step {
  /** A stable name for programs, such as `token-use`. */
  readonly name: string;
  readonly title: string;
  /** The documentation page below `/docs/`. */
  readonly docs: string;
  /** The instruction for a developer, with the codes of this certification. */
  instruction(on: Certification): string;
  /** The finding for every attempt in the evidence. */
  find(evidence: Evidence): readonly Finding[];
  /** The reason if nothing is found. */
  readonly notYet: string;
}

const REQUESTS_MAX = 20;
/** A reason may have names and texts of records. */
const REASON_CHARACTERS_MAX = 1_000;

export function right(reason: string, ...requestIds: readonly string[]): Finding {
  return { result: "pass", reason, requestIds };
}

export function wrong(reason: string, ...requestIds: readonly string[]): Finding {
  return { result: "fail", reason, requestIds };
}

export function pending(reason: string): Finding {
  return { result: "not-yet", reason, requestIds: [] };
}

/** The first failure decides; otherwise the last pass; otherwise the result is `not-yet`. */
export function judge(step: Step, evidence: Evidence): Finding {
  const found = [pending(step.notYet), ...step.find(evidence)];
  const faults = found.filter(({ result }) => result === "fail");
  const shown = faults[0] ?? found.findLast(({ result }) => result === "pass") ?? found.at(-1);
  const { result, reason, requestIds } = shown as Finding;
  const more = faults.length > 1 ? ` And ${faults.length - 1} more like it.` : "";
  const text =
    reason.length > REASON_CHARACTERS_MAX
      ? `${reason.slice(0, REASON_CHARACTERS_MAX).toWellFormed()}…`
      : reason;
  return { result, reason: text + more, requestIds: [...new Set(requestIds)].slice(0, REQUESTS_MAX) };
}

export interface SeenRequest {
  readonly requestId: string;
  /** UTC in microseconds, as all times here. */
  readonly receivedAt: string;
  readonly resource: Resource;
  /** Records in the batch as sent. */
  readonly records: number;
}

export interface SeenRecord {
  readonly requestId: string;
  readonly receivedAt: string;
  readonly index: number;
  readonly resource: Resource;
  readonly clientCode: string;
  readonly propertyCode: string;
  /** Occupancy date, reservation id or group code. */
  readonly key: string;
  /** `createDateTime` or `lastModifiedDateTime`. */
  readonly sourceTime: string;
  readonly outcome: Outcome | "pending";
  readonly warnings: readonly ErrorDetail[];
  /** For a reservation: whether the operator's mapping says that its status deducts; undefined if unmapped. */
  readonly mapped?: boolean | undefined;
  /** SHA-256 of the record's bytes as received, in hexadecimal. */
  readonly digest: string;
  /** The record. Only its required fields are certain; `fields.ts` reads the others. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The parts of a closed backfill's statement that a step reads (docs/backfill.md). */
export interface SeenBackfill {
  readonly backfillId: string;
  readonly complete: boolean;
  readonly resources: readonly Pick<
    BackfillResourceProgress,
    "resource" | "distinctRecords" | "datesCovered"
  >[];
  /** SHA-256 of the statement, in hexadecimal. */
  readonly hash: string;
}

/** The evidence of a certification: what the service received, in order. */
export interface Evidence {
  readonly certification: Certification;
  /** Earlier evidence does not count: when the certification was opened, or later. */
  readonly from: string;
  readonly requests: readonly SeenRequest[];
  readonly records: readonly SeenRecord[];
  readonly events: readonly NotedEvent[];
  /** Closed backfills, oldest first. */
  readonly backfills: readonly SeenBackfill[];
  /** False if there was more evidence than a report reads; then only the newest requests count. */
  readonly isWhole: boolean;
}

/** Time of the last evidence; null if there is none. */
export function lastSeenAt({ requests, events }: Evidence): string | null {
  const last = [requests.at(-1)?.receivedAt, events.at(-1)?.at].filter((at) => at !== undefined);
  return last.sort().at(-1) ?? null;
}

/** A hash of all evidence: reports with the same hash are equal. */
export function hashOf(evidence: Evidence): string {
  const { certification, from, requests, records, events, backfills, isWhole } = evidence;
  const { certificationId, clientId, openedAt, requestRate, requestBurst, tokenSeconds } = certification;
  const hash = createHash("sha256");
  const add = (...parts: unknown[]) => hash.update(`${JSON.stringify(parts)}\n`);
  add("certification", certificationId, clientId, openedAt, requestRate, requestBurst, tokenSeconds);
  add("from", from, isWhole);
  for (const { requestId, resource, records: count } of requests) add("request", requestId, resource, count);
  for (const { requestId, index, outcome, warnings, digest, mapped } of records) {
    const warned = warnings.map(({ pointer, code }) => `${code} ${pointer}`);
    add("record", requestId, index, outcome, warned, digest, ...(mapped === undefined ? [] : [mapped]));
  }
  for (const { backfillId, hash: statement } of backfills) add("backfill", backfillId, statement);
  for (const { kind, at, detail } of events) add("event", kind, at, detail);
  return `sha256:${hash.digest("hex")}`;
}

/** The versions of one key: a reservation, a group, or a hotel's date. */
export interface KeyHistory {
  /** In order of receipt. Quarantined, rejected and pending records are not versions. */
  readonly versions: readonly SeenRecord[];
  /** The version with the newest source time, received last among equals. */
  readonly latest: SeenRecord;
}

const VERSION_OUTCOMES: ReadonlySet<string> = new Set(["applied", "unchanged", "stale", "duplicate"]);

/** The hotel of a record as a map key. */
export const hotelOf = ({ clientCode, propertyCode }: SeenRecord): string =>
  JSON.stringify([clientCode, propertyCode]);

/** The histories of a resource's keys, in order of first receipt. */
export function historiesOf({ records }: Evidence, resource: Resource): KeyHistory[] {
  const decided = records.filter((one) => one.resource === resource && VERSION_OUTCOMES.has(one.outcome));
  const histories = Map.groupBy(decided, (record) => JSON.stringify([hotelOf(record), record.key]));
  return [...histories.values()].map((versions) => ({
    versions,
    latest: versions.reduce((newest, one) => (one.sourceTime >= newest.sourceTime ? one : newest)),
  }));
}

/** The current version of each key of a resource. */
export function latestOf(evidence: Evidence, resource: Resource): SeenRecord[] {
  return historiesOf(evidence, resource).map(({ latest }) => latest);
}

/** A failure for each record with a warning of one of these codes. */
export function mistakesOf(records: readonly SeenRecord[], codes: ReadonlySet<string>): Finding[] {
  return records.flatMap(({ key, index, requestId, warnings }) => {
    const mistake = warnings.find(({ code }) => codes.has(code));
    return mistake === undefined
      ? []
      : wrong(`${key} (/${index}, ${mistake.code}): ${mistake.message}`, requestId);
  });
}
