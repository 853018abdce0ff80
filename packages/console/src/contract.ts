/**
 * Every request and answer under `/console/api`, as types and nothing else: the service answers by them and the web app
 * is built against them.
 *
 * - All answers are JSON, `cache-control: no-store`. Times are ISO 8601 UTC with a Z; dates are YYYY-MM-DD.
 * - No path ever needs an escape (the service answers 404 to a `%` in a path): codes and keys travel in the query.
 * - An unknown, repeated or malformed query parameter is 400 `bellhop.http.InvalidParameter`, never ignored.
 * - Without a session every address but `session` and `login` answers 401 `bellhop.console.NotLoggedIn`.
 * - Every POST takes `content-type: application/json` (an object, `{}` where nothing is told) and, but for `login`, the
 *   header `x-bellhop-csrf` with the session's token; else 403 `bellhop.console.Forged`.
 * - A list is `{items, nextCursor}`; `limit` (1 to 1,000, default 100) and `cursor` (an answer's `nextCursor`, with the
 *   same other parameters) walk it. A page may be shorter than `limit`, even empty, and still have a next one.
 */
import type { Outcome, RequestCounts, Resource } from "./contract-batches.ts";

export type * from "./contract-administration.ts";
export type * from "./contract-backfill.ts";
export type * from "./contract-batches.ts";
export type * from "./contract-insight.ts";
export type * from "./contract-webhooks.ts";

export const CONSOLE_API = "/console/api";
/** The header that carries `SessionAnswer.csrfToken` with every POST but the login. */
export const CSRF_HEADER = "x-bellhop-csrf";

/** Every answer with a status of 400 or more. */
export interface ErrorAnswer {
  readonly timestamp: string;
  readonly status: number;
  /** The status in words. */
  readonly error: string;
  /** A stable code, such as `bellhop.console.NotLoggedIn`. */
  readonly exception: string;
  /** A sentence for the operator, to be shown as it is. */
  readonly message: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

// ---------------------------------------------------------------------------------------------------------- session

/** GET `session` (200 with or without a session), POST `login`, POST `password`. */
export interface SessionAnswer {
  /** Null: nobody is logged in. */
  readonly operator: { readonly name: string } | null;
  /** To be sent with every POST; null without a session. Another after each login. */
  readonly csrfToken: string | null;
  /** When the session ends at the latest, whatever is done in it; idle sessions end sooner. */
  readonly expiresAt: string | null;
  /** Seconds without a request after which the session ends. */
  readonly idleSeconds: number;
  /** False: nobody can log in yet; the page says how `npm run bellhop operator create NAME` makes the first one. */
  readonly hasOperators: boolean;
  /** The service's version. */
  readonly version: string;
}

/** POST `login`. 401 `bellhop.console.LoginFailed`, the same for an unknown name; 429 with Retry-After. */
export interface LoginRequest {
  readonly name: string;
  readonly password: string;
}

/** POST `password`: changes the operator's own; ends every other session of the operator. 401 when `current` is wrong. */
export interface PasswordRequest {
  readonly current: string;
  readonly password: string;
}

/** POST `logout` with `{}`; every POST that has nothing to tell answers this. */
export interface DoneAnswer {
  readonly done: true;
}

// ------------------------------------------------------------------------------------------------------- live intake

export interface Rates {
  readonly batches: number;
  readonly records: number;
}

export interface IntakeMinute {
  /** The beginning of the minute. */
  readonly minute: string;
  /** Null: not counted yet (asked for minutes later it is); the newest minute is still growing. */
  readonly resources: Readonly<Record<Resource, Rates>> | null;
}

/** GET `intake`: cheap enough to be asked every 2 seconds. */
export interface IntakeAnswer {
  /** The database's clock. */
  readonly now: string;
  /** The last 60 minutes, oldest first, the current one last. */
  readonly minutes: readonly IntakeMinute[];
  readonly lag: {
    /** How long ago the oldest batch that is not applied yet was received; 0 when all is applied. */
    readonly seconds: number;
    readonly oldestReceivedAt: string | null;
    /** Parts of batches waiting to be applied; counted up to `waitingMax`. */
    readonly waiting: number;
    readonly waitingMax: number;
  };
  /** Records held in quarantine now; counted up to 10,000. */
  readonly held: number;
  /** The newest batches, newest first: 20. */
  readonly lastBatches: readonly RequestItem[];
}

// ---------------------------------------------------------------------------------------------------------- requests

export interface RequestItem {
  readonly requestId: string;
  readonly clientId: string;
  /** Null: the client is not known any more. */
  readonly clientName: string | null;
  readonly status: "accepted" | "applied";
  readonly resource: Resource;
  readonly receivedAt: string;
  readonly appliedAt: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  readonly handling: "strict" | "lenient";
  readonly counts: RequestCounts;
}

/** GET `requests`, newest first. Answers Page<RequestItem>. */
export interface RequestsQuery {
  /** Together or not at all. */
  readonly clientCode?: string;
  readonly propertyCode?: string;
  readonly clientId?: string;
  readonly resource?: Resource;
  /** Requests with at least one record of this outcome; `failed` is quarantined, discarded or rejected; `warned` has warnings. */
  readonly outcome?: Outcome | "failed" | "warned" | "pending";
  /** Received from and to (inclusive), UTC timestamps. */
  readonly from?: string;
  readonly to?: string;
  /** The first 4 to 36 characters of a request id. */
  readonly id?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** A warning or violation. `pointer` is an RFC 6901 JSON pointer into the batch as sent: `/3/roomStays/0/arrivalDate`. */
export interface Told {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

export interface RecordItem {
  /** The place in the batch as sent, from 0. */
  readonly index: number;
  /** Null: could not be read (a rejected record may hold anything). */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  /** occupancyDate, reservationId or groupCode. */
  readonly key: string | null;
  /** `pending`: not applied yet. */
  readonly outcome: Outcome | "pending";
  /** Why, where there is something to say. */
  readonly code: string | null;
  readonly pointer: string;
  readonly message: string | null;
  readonly warnings: readonly Told[];
  /** Of rejected records; the first ones of `violationTotal`. */
  readonly violations?: readonly Told[];
  readonly violationTotal?: number;
  /** Of a record that was released or discarded. */
  readonly resolvedAt?: string;
}

/**
 * GET `requests/{requestId}`: `records=notable` (the default) lists those that are not plainly applied, `records=all`
 * every one, in the order of the batch; `outcome` only those of one outcome. `nextCursor` walks the records. 404
 * `bellhop.read.RequestNotFound`.
 */
export interface RequestAnswer extends RequestItem {
  readonly records: readonly RecordItem[];
  readonly nextCursor: string | null;
}

export interface RequestRecordsQuery {
  readonly records?: "notable" | "all";
  readonly outcome?: Outcome;
  readonly limit?: number;
  readonly cursor?: string;
}

/** GET `requests/{requestId}/records/{index}`: one record with its payload. */
export interface RecordAnswer {
  readonly requestId: string;
  readonly resource: Resource;
  readonly receivedAt: string;
  readonly record: RecordItem;
  readonly payload: Payload;
}

/** A record as it was sent, byte for byte: text, so that no number changes. */
export interface Payload {
  readonly text: string;
  readonly bytes: number;
  /** The text is only the beginning (the first 1 MiB). */
  readonly truncated: boolean;
}

// -------------------------------------------------------------------------------------------------------- properties

export interface PropertyCodes {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** One resource of a property at a glance, by the property's cadence setting. */
export interface FeedGlance {
  readonly resource: Resource;
  /** Null: nothing was ever received. */
  readonly lastReceivedAt: string | null;
  /** `ok`; `silent`: the last batch is longer ago than the expected cadence; `never`: nothing was ever received. */
  readonly state: "ok" | "silent" | "never";
  /** Expected hours between batches, by the property's settings; null: nothing is expected, it is never silent. */
  readonly cadenceHours: number | null;
}

export interface PropertyItem extends PropertyCodes {
  readonly firstSeenAt: string;
  readonly feeds: readonly FeedGlance[];
  /** Records held in quarantine now; those of a page are counted up to 10,000 in all. */
  readonly held: number;
}

/** GET `properties`, by client code and property code; default limit 50, at most 200. Answers Page<PropertyItem>. */
export interface PropertiesQuery {
  /** The beginning of a client code or of a property code, without regard to case. */
  readonly search?: string;
  readonly clientCode?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** GET `client-codes`: every client code that has a property, in order; 1,000 at most. */
export interface ClientCodesAnswer {
  readonly items: readonly { readonly clientCode: string; readonly properties: number }[];
}

/** GET `calendar` with clientCode, propertyCode, from, to (included; at most 800 nights). */
export interface CalendarAnswer extends PropertyCodes {
  readonly from: string;
  readonly to: string;
  /** The first and last night that inventory was ever sent for; null: none ever. */
  readonly firstNight: string | null;
  readonly lastNight: string | null;
  readonly nights: readonly CalendarNight[];
}

export interface CalendarNight {
  readonly date: string;
  /** `missing`: no inventory, between the first and the last night that there is; `outside`: before or after those. */
  readonly inventory: "reported" | "missing" | "outside";
  /** When the inventory that counts was received. */
  readonly receivedAt: string | null;
  /** Its source time. */
  readonly sourceTime: string | null;
}

// ----------------------------------------------------------------------------------------------------------- history

/**
 * GET `history` with resource, clientCode, propertyCode, key (occupancyDate, reservationId or groupCode), limit, cursor:
 * the versions of one record, oldest first by source time. Answers Page<VersionItem>; default and largest limit 100.
 */
export interface VersionItem {
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly requestId: string;
  readonly index: number;
  readonly outcome: Outcome;
  /** The label of its status, where it has one. */
  readonly status: string | null;
  /** Received after a version with a newer source time. */
  readonly late: boolean;
  /** What is different from the version before it by source time; empty for the first. At most 200. */
  readonly changes: readonly VersionChange[];
  readonly changeTotal: number;
  readonly payload: Payload;
}

/** One difference; values are JSON as it was sent (`"OTB"` with its quotes, 120.50), null where there is none. */
export interface VersionChange {
  /** RFC 6901, into the record: `/roomStays/0/departureDate`. */
  readonly pointer: string;
  readonly before: string | null;
  readonly after: string | null;
}

// -------------------------------------------------------------------------------------------------------- quarantine

export interface QuarantineItem {
  readonly requestId: string;
  readonly index: number;
  /** Null: the record could not be read. */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly resource: Resource;
  readonly key: string;
  readonly code: string;
  readonly message: string;
  readonly receivedAt: string;
  readonly state: "held" | "released" | "discarded";
  readonly resolvedAt: string | null;
}

/** GET `quarantine`, oldest first, those that are held. Answers Page<QuarantineItem>. */
export interface QuarantineQuery {
  readonly clientCode?: string;
  readonly propertyCode?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

/** GET `quarantine/{requestId}/{index}`. 404 `bellhop.console.NotFound`. */
export interface QuarantineAnswer extends QuarantineItem {
  readonly clientId: string;
  readonly payload: Payload;
}

/**
 * POST `quarantine/{requestId}/{index}/release` and `.../discard`. The decision is durable when it is answered and takes
 * effect within moments (ask again until `state` is not held). `reason` 1 to 500 characters, kept in the audit; needed to
 * discard. 409 `bellhop.console.Conflict` when it is not held any more.
 */
export interface ResolveRequest {
  readonly reason?: string;
}

export interface ResolveAnswer {
  readonly done: true;
  /** The log entry that says so. */
  readonly entryId: string;
}
