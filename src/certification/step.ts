import { createHash } from "node:crypto";
import type { Resource } from "#contract/resource.ts";
import type { Outcome } from "../query/outcome.ts";
import type { Certification } from "./certification.ts";
import type { NotedEvent } from "./wire-notes.ts";

/** How a step stands: done right, done wrong, or not seen so far. */
type StepResult = "pass" | "fail" | "not-yet";

/** What was found of a step, in words that a developer can act on, and the requests behind it. */
export interface Judgement {
  readonly result: StepResult;
  readonly reason: string;
  readonly requestIds: readonly string[];
}

/** One thing that an integration has to show. */
export interface Step {
  /** As in `token-use`: stable, for programs. */
  readonly name: string;
  readonly title: string;
  /** What to do, for a person, with the codes of this certification. */
  instruction(on: Certification): string;
  judge(evidence: Evidence): Judgement;
}

/** One instance of what a step is about, done right or wrong. */
export interface Finding {
  readonly isRight: boolean;
  readonly reason: string;
  readonly requestIds: readonly string[];
}

const REQUESTS_TOLD_MAX = 20;

export function right(reason: string, ...requestIds: readonly string[]): Finding {
  return { isRight: true, reason, requestIds };
}

export function wrong(reason: string, ...requestIds: readonly string[]): Finding {
  return { isRight: false, reason, requestIds };
}

/** One that is wrong fails the step, whatever else is right; the last that is right passes it; without any it is not yet seen. */
export function judgementOf(findings: readonly Finding[], notYet: string): Judgement {
  const faults = findings.filter(({ isRight }) => !isRight);
  const [fault] = faults;
  const told = fault ?? findings.at(-1);
  if (told === undefined) return { result: "not-yet", reason: notYet, requestIds: [] };
  const more = faults.length > 1 ? ` And ${faults.length - 1} more like it.` : "";
  return {
    result: fault === undefined ? "pass" : "fail",
    reason: told.reason + more,
    requestIds: [...new Set(told.requestIds)].slice(0, REQUESTS_TOLD_MAX),
  };
}

/** A batch that the client under certification had accepted. */
export interface SeenRequest {
  readonly requestId: string;
  /** UTC to the microsecond, as all instants here. */
  readonly receivedAt: string;
  readonly resource: Resource;
  /** Records in the batch as sent. */
  readonly records: number;
}

/** A doubt about an accepted record. */
export interface SeenWarning {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** A record of such a batch. */
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
  readonly warnings: readonly SeenWarning[];
  /** Of a reservation: whether its label holds inventory by the operator's own mapping; undefined where that does not name it. */
  readonly mapped?: boolean | undefined;
  /** SHA-256 of the record as it was sent, in hexadecimal. */
  readonly digest: string;
  /** The record. What is read of it is in `fields.ts`, for nothing but its required fields is certain. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What a backfill that the client has closed says of itself (docs/backfill.md), as far as a step reads it. */
export interface SeenBackfill {
  readonly backfillId: string;
  /** Nothing of what was named is missing. */
  readonly complete: boolean;
  readonly resources: readonly {
    readonly resource: Resource;
    /** Different records that were applied. */
    readonly distinctRecords: number;
    /** Of inventories: the dates that were named, and those that came. */
    readonly datesNamed: number | null;
    readonly datesCovered: number | null;
  }[];
  /** SHA-256 of the statement, in hexadecimal. */
  readonly hash: string;
}

/** All that a certification is judged by: what the service itself saw, in the order of receipt. */
export interface Evidence {
  readonly certification: Certification;
  /** Only what came from here on counts: when the certification was opened, or later. */
  readonly from: string;
  readonly requests: readonly SeenRequest[];
  readonly records: readonly SeenRecord[];
  readonly events: readonly NotedEvent[];
  /** Backfills that were closed, oldest first. */
  readonly backfills: readonly SeenBackfill[];
  /** False when there was more than one report looks at: then the newest requests count. */
  readonly isWhole: boolean;
}

/** When the last thing that counts was seen; null where nothing was. */
export function lastSeenAt({ requests, events }: Evidence): string | null {
  const last = [requests.at(-1)?.receivedAt, events.at(-1)?.at].filter((at) => at !== undefined);
  return last.length === 0 ? null : (last.sort().at(-1) ?? null);
}

/** A hash over everything that a report is made of: two reports with the same one say the same. */
export function hashOf(evidence: Evidence): string {
  const { certification, from, requests, records, events, backfills, isWhole } = evidence;
  const { certificationId, clientId, openedAt, requestRate, requestBurst, tokenSeconds } = certification;
  const hash = createHash("sha256");
  const add = (...parts: unknown[]) => hash.update(`${JSON.stringify(parts)}\n`);
  add("certification", certificationId, clientId, openedAt, requestRate, requestBurst, tokenSeconds);
  add("from", from, isWhole);
  for (const { requestId, resource, records: count } of requests) add("request", requestId, resource, count);
  for (const { requestId, index, outcome, warnings, digest, mapped } of records)
    add(
      "record",
      requestId,
      index,
      outcome,
      warnings.map(({ pointer, code }) => `${code} ${pointer}`),
      digest,
      ...(mapped === undefined ? [] : [mapped]),
    );
  for (const { backfillId, hash: statement } of backfills) add("backfill", backfillId, statement);
  for (const { kind, at, detail } of events) add("event", kind, at, detail);
  return `sha256:${hash.digest("hex")}`;
}

/** What was seen of one key: a reservation, a group, a hotel's date. */
export interface KeyHistory {
  /** In the order of receipt, once decided: quarantined, rejected and pending ones are no versions. */
  readonly versions: readonly SeenRecord[];
  /** The one of the newest source time; of several the one received last. */
  readonly latest: SeenRecord;
}

const VERSION_OUTCOMES: ReadonlySet<string> = new Set(["applied", "unchanged", "stale", "duplicate"]);

/** The histories of a resource's keys, in the order in which each was first seen. */
export function historiesOf({ records }: Evidence, resource: Resource): KeyHistory[] {
  const versions = new Map<string, SeenRecord[]>();
  for (const record of records) {
    if (record.resource !== resource || !VERSION_OUTCOMES.has(record.outcome)) continue;
    const id = JSON.stringify([record.clientCode, record.propertyCode, record.key]);
    const seen = versions.get(id);
    if (seen === undefined) versions.set(id, [record]);
    else seen.push(record);
  }
  return [...versions.values()].map((seen) => ({
    versions: seen,
    latest: seen.reduce((newest, one) => (one.sourceTime >= newest.sourceTime ? one : newest)),
  }));
}
