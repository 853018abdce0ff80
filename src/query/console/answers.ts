// Types only, from modules without Node: the console compiles them for the browser.
import type { Resource } from "#contract/resource.ts";
import type { RecordOutcome, RequestSummary, Warning } from "../../console/api-types.ts";
import type { OfClient } from "../../identity/console-answers.ts";
import type { Page } from "../../platform/http/answers.ts";
import type { Outcome } from "../outcome.ts";

/** `records` is the sum of all others except `warned`. */
export type RequestCounts = RequestSummary["counts"];

export interface RequestItem extends RequestSummary, OfClient {}

/** A warning or violation. `pointer` is an RFC 6901 JSON pointer into the batch: `/3/roomStays/0/arrivalDate`. */
export type RecordNotice = Warning;

export interface RecordItem extends Omit<RecordOutcome, "outcome"> {
  /** `pending`: not applied yet. */
  readonly outcome: Outcome | "pending";
}

export interface RequestAnswer extends RequestItem {
  readonly records: readonly RecordItem[];
  readonly nextCursor: string | null;
}

export interface RecordAnswer {
  readonly requestId: string;
  readonly resource: Resource;
  readonly receivedAt: string;
  readonly record: RecordItem;
  readonly payload: Payload;
  /** What Bellhop reads of it, by the notes of the record schema. */
  readonly fields: readonly RecordField[];
}

export interface RecordField {
  /** `roomStays[0].rateCode` */
  readonly path: string;
  readonly value: string;
  readonly description: string;
}

/** A record verbatim, as text, so that no number changes. */
export interface Payload {
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

export interface PropertyCodes {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** A version of a record and its changes. */
export interface VersionItem {
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly requestId: string;
  readonly index: number;
  readonly outcome: Outcome;
  readonly status: string | null;
  /** Received after a version with a newer source time. */
  readonly late: boolean;
  /** Differences from the previous version by source time; empty for the first. At most 200 of `changeTotal`. */
  readonly changes: readonly JsonChange[];
  /** Null if not compared: one is larger than 256 kB, has more than 16,384 values, or is no longer retained. */
  readonly changeTotal: number | null;
  /** Null if no longer retained (docs/retention.md). */
  readonly payload: Payload | null;
}

/** A difference; values are JSON verbatim (`"OTB"` with its quotes, 120.50), null if absent, truncated with an ellipsis beyond 8,200 characters. */
export interface JsonChange {
  /** RFC 6901 pointer into the record: `/roomStays/0/departureDate`. */
  readonly pointer: string;
  /** The pointer in readable form: list entries by night and room type, otherwise counted from 1. */
  readonly path: readonly string[];
  readonly before: string | null;
  readonly after: string | null;
}

export interface QuarantineItem {
  readonly requestId: string;
  readonly index: number;
  /** Null if the record could not be read. */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly resource: Resource;
  readonly key: string;
  readonly code: string;
  readonly message: string;
  readonly receivedAt: string;
  readonly state: "quarantined" | "released" | "discarded";
  readonly resolvedAt: string | null;
}

export interface QuarantineAnswer extends QuarantineItem {
  readonly clientId: string;
  readonly payload: Payload;
  /** Preview of a release; null if the record is resolved or cannot be read. */
  readonly release: {
    readonly sourceTime: string;
    /** Source time of the current version; null if there is none. */
    readonly currentSourceTime: string | null;
    /** From the current version to the quarantined record; at most 200 of `changeTotal` and 65,536 characters. Null if one is too large to compare. */
    readonly changes: readonly JsonChange[] | null;
    readonly changeTotal: number;
  } | null;
}

/** Records quarantined for one reason. Only the oldest 10,000 quarantined records are counted. */
export interface QuarantineGroup {
  readonly code: string;
  readonly records: number;
  readonly oldestReceivedAt: string;
  /** The first 20 of `propertyTotal`, by descending number of records. */
  readonly properties: readonly (PropertyCodes & { readonly records: number })[];
  readonly propertyTotal: number;
}

export interface QuarantinePageAnswer extends Page<QuarantineItem> {
  /** Of all pages and reasons, by descending number of records. */
  readonly groups: readonly QuarantineGroup[];
}

/** `failure` is null if the decision is stored; it takes effect within moments. */
export interface ResolvedRecord {
  /** Request id, slash and index. */
  readonly record: string;
  readonly entryId: string | null;
  readonly failure: string | null;
}

export interface ResolveAnswer {
  readonly records: readonly ResolvedRecord[];
}
