import { createHash, hash, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { didYouMean } from "#contract/nearest.ts";
import {
  type BatchRecord,
  type BatchRefusal,
  checkRecord,
  isAhead,
  type RecordCheck,
  readBatchInTurns,
} from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import { letterOf, RESOURCES, type Resource, type ResourceLetter } from "#contract/resource.ts";
import { quoted, type Violation } from "#contract/violation.ts";
import { latestSourceTime } from "#contract/walk-value.ts";
import type { Admitted } from "../backfill/admission.ts";
import { noteAccepted, noteRefusal } from "../certification/note-wire.ts";
import { recordAudit } from "../identity/audit.ts";
import type { BearerResult, RateResult } from "../identity/authenticator.ts";
import { admit, EmptyRefusal, lacksGrant, rateFields, verifyBearer } from "../identity/authorize.ts";
import { type Principal, permits, writeScopeOf } from "../identity/permissions.ts";
import { ERRORS, ServiceError } from "../platform/errors/registry.ts";
import { COMMON_HEADERS, faultOf, isLast, PacedRequest } from "../platform/http/connection.ts";
import { errorBody, JSON_TYPE, reportError, retryAfterOf } from "../platform/http/error-body.ts";
import { isUuid } from "../platform/http/position.ts";
import { checkMediaType, type ReceivedBody, receiveBody } from "../platform/http/receive-body.ts";
import { beginTrace, type MaybeTrace, type RequestLog } from "../platform/http/request-log.ts";
import { pathOf } from "../platform/http/route-index.ts";
import { noWaits, type RequestWaits } from "../platform/telemetry/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { packTraceContext } from "../platform/telemetry/telemetry.ts";
import type { HttpContext } from "../service-context.ts";
import { findAccepted } from "./log/accept-log.ts";
import type { RejectedRecord, Submission, SubmittedRecord } from "./log/log-writer-session.ts";
import { type CheckedBatch, type RedactionList, redactBatch } from "./redact.ts";

/**
 * A POST to a data endpoint, step by step to its durable 202, in the contract's order. A step leaves what it finds in the post and
 * throws where the request is refused.
 */
const STEPS: readonly ((context: HttpContext, post: DataPost) => Promise<void> | void)[] = [
  checkFraming, // 400, and the connection is closed
  authenticate, // 401 no bearer token, 403 not a good one
  limitRate, // 403 scope, 429
  readHeaders, // 415 media type, 422 optional headers
  checkReady, // 503 disk almost full, no log writer
  admitBackfill, // 409, 422, 429: before the body is read, so that a batch put off costs little
  receive, // 413, 415, 503; inflates, and charges the client's rate for the bytes as they come
  readRecords, // 400 not a JSON array; checks each record and charges the rate for all of them
  refuseForeign, // 403 a property not granted, 422 one that is not the backfill's
  readmitBackfill, // 409: the body may have taken as long as a request may
  judgeRecords, // 400 invalid records, 409 backfill; ends with the first answer again where the key had one
  registerProperties, // 429 too many new properties
  fingerprint, // of the path, the handling and the body, for the Idempotency-Key
  redact, // what the erasure list and the settings of a client code remove
  append, // 409 Idempotency-Key reused, 503; on disk once it resolves
];

/** Resolves once the batch is on disk, with its id in `post.acceptedRequestId`; throws EmptyRefusal or what `asServiceError` renders. */
async function acceptPost(context: HttpContext, post: DataPost): Promise<void> {
  try {
    for (const step of STEPS) {
      const pending = step(context, post);
      // With one record a request each wait shows: what is known at once is not waited for.
      if (pending !== undefined) await pending;
      if (post.acceptedRequestId !== undefined) break;
    }
  } finally {
    post.body?.release();
    post.backfill?.done();
  }
}

const routeOf = (resource: Resource) => `/api/public/v1/${resource}`;

/** The paths of the three data endpoints (specification, section 4). */
export const DATA_ROUTES: readonly string[] = RESOURCES.map(routeOf);

const COMMON_FIELDS: readonly string[] = Object.entries(COMMON_HEADERS).flat();

/** Looks the label of the metrics up once, not for each batch. */
function meterOf(metrics: Metrics, resource: Resource): BatchMeter {
  const batches = metrics.acceptedBatches.labels({ resource });
  const records = metrics.acceptedRecords.labels({ resource });
  const rejections = metrics.rejectedRecords.labels({ resource });
  const bytes = metrics.bodyBytes.labels({ resource });
  return {
    accepted(recordCount, rejectedCount, bodyBytes) {
      batches.inc();
      records.inc(recordCount);
      rejections.inc(rejectedCount);
      bytes.observe(bodyBytes);
    },
    repeated: () => metrics.repeatedKeys.inc(),
  };
}

/** The status, the header fields of this response alone (name, value, name, value …) and the body. */
interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Serves POST requests to the data endpoints ahead of Fastify, whose routing, hooks and reply would double the cost of a request with
 * one record. Errors, log lines, traces and headers come from the functions that Fastify's routes use.
 */
export class DataEndpoints {
  readonly #context: HttpContext;
  readonly #requestLog: RequestLog;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(context: HttpContext, requestLog: RequestLog) {
    this.#context = context;
    this.#endpoints = new Map(
      RESOURCES.map((resource) => {
        const [route, letter] = [routeOf(resource), letterOf(resource)];
        const meter = meterOf(context.metrics, resource);
        return [route, { route, resource, letter, scope: writeScopeOf(resource), meter }];
      }),
    );
    this.#requestLog = requestLog;
  }

  /** False for a request that is none of these. `isClosing`: whether the answer is to close its connection. */
  handle(raw: IncomingMessage, response: ServerResponse, isClosing: () => boolean): boolean {
    const endpoint = raw.method === "POST" ? this.#endpointOf(raw.url ?? "") : undefined;
    if (endpoint === undefined) return false;
    this.#serve(new DataPost(endpoint, raw), response, isClosing).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "an answer could not be made");
      raw.socket.destroy();
    });
    return true;
  }

  #endpointOf(address: string): Endpoint | undefined {
    const exact = this.#endpoints.get(address);
    if (exact !== undefined || (address.startsWith("/") && !address.includes("?"))) return exact;
    return this.#endpoints.get(pathOf(address));
  }

  async #serve(post: DataPost, response: ServerResponse, isClosing: () => boolean): Promise<void> {
    let answer: Answer;
    try {
      await acceptPost(this.#context, post);
      answer = acceptedAnswer(post);
    } catch (thrown) {
      answer = this.#refusal(post, thrown);
    }
    const { raw } = post;
    // A body that nobody reads, or no further.
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    const fields = COMMON_FIELDS.concat("x-request-id", post.id, commonFields(post), answer.fields);
    if (isClosing() || isLast(raw)) fields.push("connection", "close");
    // It may have been refused meanwhile, for what came behind its headers (`refuseConnection`).
    const isOwed = !response.headersSent;
    if (isOwed) response.statusCode = answer.status;
    this.#requestLog.whenOver(response, () => describe(post));
    if (isOwed) response.writeHead(answer.status, fields as string[]).end(answer.body);
  }

  #refusal(post: DataPost, thrown: unknown): Answer {
    if (thrown instanceof EmptyRefusal) {
      const { status, challenge } = thrown;
      noteRefusal(this.#context, post, { status, code: "foreign-property" });
      return { status, fields: ["www-authenticate", challenge, "content-length", "0"], body: "" };
    }
    const error = reportError(this.#context, post.id, thrown);
    noteRefusal(this.#context, post, error);
    const body = JSON.stringify(errorBody(error));
    const fields = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(body))];
    const retryAfter = retryAfterOf(error);
    if (retryAfter !== undefined) fields.push("retry-after", retryAfter);
    return { status: error.status, fields, body };
  }
}

/** The 202 of a batch: its id, as JSON or, for a client that prefers it, as text. */
function acceptedAnswer({ raw, acceptedRequestId = "" }: DataPost): Answer {
  const isText = prefersText(raw.headers.accept, "text/plain");
  const body = isText ? acceptedRequestId : `{"requestId":"${acceptedRequestId}"}`;
  const location = `/api/public/v1/requests/${acceptedRequestId}`;
  const type = isText ? "text/plain; charset=utf-8" : JSON_TYPE;
  // Characters are bytes here: both bodies are ASCII.
  const fields = ["location", location, "content-type", type, "content-length", String(body.length)];
  return { status: 202, fields, body };
}

/** What every answer states of the client's rate and of the request's parameters, as far as they are known. */
function commonFields({ rate, parameters }: DataPost): string[] {
  const fields: string[] = [];
  if (rate !== undefined) {
    const { policy, limit } = rateFields(rate.of, rate.result);
    fields.push("ratelimit-policy", policy, "ratelimit", limit);
  }
  const { correlationId = null, preferenceApplied = null } = parameters ?? {};
  if (correlationId !== null) fields.push("x-correlation-id", correlationId);
  if (preferenceApplied !== null) fields.push("preference-applied", preferenceApplied);
  return fields;
}

function describe({ id, endpoint, startedAtMs, waits, trace, principal, acceptedRequestId, raw }: DataPost) {
  return {
    id,
    method: "POST",
    route: endpoint.route,
    startedAtMs,
    waits,
    trace,
    traceparent: undefined,
    clientId: principal?.clientId,
    acceptedRequestId,
    correlationId: raw.headers["x-correlation-id"],
  };
}

interface HeaderParameters {
  readonly idempotencyKey: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  /** The backfill that the batch says it belongs to, in lower case. */
  readonly backfillId: string | null;
  readonly lenient: boolean;
  /** Value of the Preference-Applied header; null when no handling was asked for. */
  readonly preferenceApplied: string | null;
}

type Headers = Pick<IncomingMessage, "headers" | "rawHeaders">;

/** Reads the header parameters; throws ServiceError `bellhop.http.InvalidHeader` (422) for one that cannot be used. */
function readHeaderParameters(request: Headers): HeaderParameters {
  const handling = handlingOf(request.headers);
  return {
    idempotencyKey: visibleText(request, "Idempotency-Key", 255),
    correlationId: visibleText(request, "X-Correlation-Id", 128),
    replyTo: replyToOf(request),
    backfillId: backfillIdOf(request),
    lenient: handling === "lenient",
    preferenceApplied: handling === null ? null : `handling=${handling}`,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidHeader", { message });
}

function visibleText(request: Headers, name: string, charactersMax: number): string | null {
  const value = request.headers[name.toLowerCase()];
  if (typeof value !== "string") return null;
  if (value.length > charactersMax || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw invalid(`${name} must be 1 to ${charactersMax} visible ASCII characters, spaces only within.`);
  }
  // Node joins a repeated header with ", ", which one value may contain too.
  if (value.includes(", ") && countOf(request.rawHeaders, name) > 1)
    throw invalid(`${name} must be sent once.`);
  return value;
}

function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name.toLowerCase()).length;
}

function backfillIdOf(request: Headers): string | null {
  const value = visibleText(request, "Backfill-Id", 36)?.toLowerCase() ?? null;
  if (value !== null && !isUuid(value)) throw invalid("Backfill-Id must be the UUID of a backfill.");
  return value;
}

function replyToOf(request: Headers): string | null {
  const value = visibleText(request, "ReplyTo", 2_048);
  if (value === null) return null;
  const address = URL.parse(value);
  // Every reader of the request sees it, so it must not carry a password.
  if (address === null || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw invalid("ReplyTo must be an absolute http or https address without a user name or password.");
  }
  return value;
}

/** `handling` of the Prefer header (RFC 7240 section 4.4); one of another name is ignored, as the RFC says. */
function handlingOf(headers: IncomingHttpHeaders): "lenient" | "strict" | null {
  const handling = preferenceOf(headers["prefer"], "handling");
  return handling === "lenient" || handling === "strict" ? handling : null;
}

const HANDLINGS = ["handling=lenient", "handling=strict"];
const PREFERENCES_COMPARED_MAX = 4;

/** Ends the message of a refusal where Prefer names a handling that is misspelt: it was ignored, as the RFC says. */
function misspeltHandling({ prefer = [] }: IncomingHttpHeaders): string {
  const preferences = String(prefer)
    .split(",", PREFERENCES_COMPARED_MAX)
    .map((preference) => preference.trim());
  for (const preference of preferences) {
    const meant = didYouMean(preference, HANDLINGS);
    if (meant !== "") return ` Prefer: ${quoted(preference)} was ignored${meant}.`;
  }
  return "";
}

/** True when the client would rather have another type of text than JSON (RFC 9110 section 12.5.1; JSON when it says nothing). */
export function prefersText(accept: string | undefined, type: "text/plain" | "text/csv"): boolean {
  if (accept === undefined || accept === "*/*" || accept === "application/json") return false;
  const weights = new Map<string, number>();
  for (const part of accept.split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(range, Number.isFinite(q) ? q : 0);
  }
  const weigh = (exact: string, family: string) =>
    weights.get(exact) ?? weights.get(family) ?? weights.get("*/*") ?? 0;
  return weigh(type, "text/*") > weigh("application/json", "application/*");
}

/**
 * What one request of a client's rate may bring: with each more so many records, bytes or values, a batch counts as one request
 * more. Measured (npm run noisy, docs/decisions/0008): a rate of 50 requests a second let a client of batches of 10,000
 * records take all there is; now it is a rate of 5,000 records a second as well. A full batch counts as a hundred.
 */
const RECORDS_PER_REQUEST = 100;
/** A hundred reservations of the usual size. */
const BYTES_PER_REQUEST = 262_144;
/**
 * Numbers, texts, arrays and so on. So many in 256 KiB would be 13 bytes each with their names; records of the contract have 15 to 22.
 * What a batch costs beyond its bytes, it costs by its values (npm run token-cost).
 */
const VALUES_PER_REQUEST = 20_000;

/**
 * Request cost of an invalid or future-dated record. Reporting every violation takes 40 µs where walking a valid record
 * takes 12, so at a cost of 1 lenient batches of invalid records delayed other clients (`npm run noisy`).
 */
const USELESS_RECORD_COUNTS = 4;

interface SeenRecords {
  readonly records: number;
  readonly values: number;
}

const NO_RECORDS: SeenRecords = { records: 0, values: 0 };

/** As how many requests a batch counts; `useless` are those of `all` that are. */
export function weightOf(bytes: number, all: SeenRecords, useless: SeenRecords): number {
  const counted = (of: keyof SeenRecords) => all[of] + useless[of] * (USELESS_RECORD_COUNTS - 1);
  return Math.max(
    1,
    Math.ceil(bytes / BYTES_PER_REQUEST),
    Math.ceil(counted("records") / RECORDS_PER_REQUEST),
    Math.ceil(counted("values") / VALUES_PER_REQUEST),
  );
}

/** How the client's rate stands, where a batch weighs more than was counted before. */
type RequestCost = (bytes: number, all?: SeenRecords, useless?: SeenRecords) => RateResult | undefined;

/**
 * Counts a batch as its weight, by the bytes that are promised and come and again once its records are known: what it weighs more
 * than was counted is owed, so that none is refused for being large, but what follows it waits.
 */
function requestCost({ nodes, rateLimiter }: HttpContext, principal: Principal): RequestCost {
  const { clientId, requestRate, requestBurst } = principal;
  // The request itself was counted when it was let in.
  let counted = 1;
  return (bytes, all = NO_RECORDS, useless = NO_RECORDS) => {
    const more = weightOf(bytes, all, useless) - counted;
    if (more <= 0) return undefined;
    counted += more;
    return rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("accept"));
  };
}

/** Most violations one answer lists. */
const VIOLATIONS_MAX = 100;
/** Most violations kept of one rejected record, and of all in a batch: then one of each, as every page of the outcome reads all. */
const VIOLATIONS_KEPT_MAX = 10;
const VIOLATIONS_KEPT_OF_BATCH = 10_000;
type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

/** Checks the records of one batch as they are read, and keeps no more of each than where it lies and what is wrong. */
export class BatchValidator {
  readonly #resource: Resource;
  readonly #lenient: boolean;
  readonly #principal: Principal;
  readonly #backfill: Admitted | undefined;
  readonly #body: Buffer;
  readonly #settings: RedactionList | undefined;
  readonly #records: SubmittedRecord[] = [];
  readonly #rejected: RejectedRecord[] = [];
  readonly #listed: Violation[] = [];
  readonly #latest = latestSourceTime(Date.now());
  readonly #suggestions = { given: 0 };
  /** All records of the batch. */
  readonly seen = { records: 0, values: 0 };
  /** Those that are invalid, or of a time so far ahead that they will be quarantined. */
  readonly useless = { records: 0, values: 0 };
  /** The first record that names a property the client was not granted; no record after it is checked. */
  foreign: ForeignRecord | undefined;
  /** The index of the first record that is not of the backfill's property. */
  misplaced: number | undefined;
  /** The last record whose property is granted. */
  #granted: ForeignRecord | undefined;
  #total = 0;
  #kept = 0;

  constructor(
    resource: Resource,
    lenient: boolean,
    principal: Principal,
    backfill: Admitted | undefined,
    body: Buffer,
    settings?: RedactionList,
  ) {
    this.#resource = resource;
    this.#lenient = lenient;
    this.#principal = principal;
    this.#backfill = backfill;
    this.#body = body;
    this.#settings = settings;
  }

  see(record: BatchRecord): void {
    this.seen.records += 1;
    this.seen.values += record.values;
    if (this.foreign !== undefined || !this.#isPermitted(record)) return;
    const room = Math.max(1, Math.min(VIOLATIONS_KEPT_MAX, VIOLATIONS_KEPT_OF_BATCH - this.#kept));
    const wanted = Math.max(VIOLATIONS_MAX - this.#listed.length, this.#lenient ? room : 0);
    const found = this.#check(record, wanted);
    const { index, start, end, clientCode, propertyCode } = record;
    if (found.total === 0 && clientCode !== undefined && propertyCode !== undefined) {
      this.#records.push({ index, start, end, clientCode, propertyCode });
      if (isAhead(this.#resource, record, this.#latest)) this.#countUseless(record);
      return;
    }
    this.#countUseless(record);
    this.#total += found.total;
    this.#listed.push(...found.violations.slice(0, VIOLATIONS_MAX - this.#listed.length));
    if (this.#lenient) {
      const kept = found.violations.slice(0, room);
      this.#kept += kept.length;
      this.#rejected.push({ index, start, end, violations: kept, violationTotal: found.total });
    }
  }

  #check(record: BatchRecord, wanted: number): RecordCheck {
    const found = checkRecord(this.#resource, record, wanted, this.#suggestions);
    const { index, start, end, clientCode = "", propertyCode = "" } = record;
    if (found.total > 0 || this.#settings?.negativeCounts(clientCode, propertyCode) !== "refuse")
      return found;
    const { negativeCounts } = readRecord(this.#resource, this.#body.subarray(start, end)).content();
    const violations = negativeCounts
      .list(wanted)
      .slice(0, wanted)
      .map(({ pointer, message }): Violation => {
        return { pointer: `/${index}${pointer}`, code: "number.range", message: `${message}: below zero` };
      });
    return { violations, total: negativeCounts.count };
  }

  /** False for a property that was not granted, as far as the record's codes can be read. Most batches name one: it is looked up once. */
  #isPermitted({ index, clientCode, propertyCode }: BatchRecord): boolean {
    if (clientCode === undefined || propertyCode === undefined) return true;
    const last = this.#granted;
    if (last?.clientCode === clientCode && last.propertyCode === propertyCode) return true;
    if (!permits(this.#principal, clientCode, propertyCode)) {
      this.foreign = { index, clientCode, propertyCode };
      return false;
    }
    this.#granted = { index, clientCode, propertyCode };
    const of = this.#backfill;
    // A backfill is of one property: what it brings of another would be counted by nobody.
    if (of !== undefined && (clientCode !== of.clientCode || propertyCode !== of.propertyCode))
      this.misplaced ??= index;
    return true;
  }

  #countUseless({ values }: BatchRecord): void {
    this.useless.records += 1;
    this.useless.values += values;
  }

  /**
   * The accepted and rejected records. Throws ServiceError `bellhop.contract.InvalidRecords` with up to 100 violations
   * if any record is invalid and the batch is strict, or if none is valid; `hint` ends its message.
   */
  judgement(hint = () => ""): Pick<Submission, "records" | "rejected"> {
    if (this.#records.length === 0 || (this.#total > 0 && !this.#lenient)) {
      throw new ServiceError("bellhop.contract.InvalidRecords", {
        message: `${ERRORS["bellhop.contract.InvalidRecords"].text}${hint()}`,
        violations: this.#listed,
        violationTotal: this.#total,
      });
    }
    return { records: this.#records, rejected: this.#rejected };
  }
}

/** Hashed in one go, through a copy; what is larger is hashed where it lies. */
const HASHED_AT_ONCE_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(HASHED_AT_ONCE_BYTES);

/** A millisecond or two of hashing: a body of 64 MiB at once would hold the event loop for 50 ms. */
const HASHED_BYTES_A_TURN = 2 * 1_048_576;

/**
 * What a repeated Idempotency-Key is compared by: SHA-256, in hexadecimal, over the `head` (path and handling of the
 * request), and the decompressed body. One call on a copy of both takes half the time of a hash object that is fed twice.
 * A promise for what is hashed in turns with other work.
 */
export function fingerprintOf(head: string, body: Buffer): string | Promise<string> {
  const headBytes = Buffer.byteLength(head);
  if (headBytes + body.length <= HASHED_AT_ONCE_BYTES) {
    scratch.write(head);
    body.copy(scratch, headBytes);
    return hash("sha256", scratch.subarray(0, headBytes + body.length), "hex");
  }
  return hashInTurns(head, body);
}

async function hashInTurns(head: string, body: Buffer): Promise<string> {
  const running = createHash("sha256").update(head);
  for (let from = 0; from < body.length; from += HASHED_BYTES_A_TURN) {
    if (from > 0) await new Promise((resume) => setImmediate(resume));
    running.update(body.subarray(from, from + HASHED_BYTES_A_TURN));
  }
  return running.digest("hex");
}

/** The longest code a record may carry (contract: "codes and ids 128"). */
const CODE_KEPT_CHARACTERS_MAX = 128;
const BLOCKED_RETRY_AFTER_SECONDS = 5;

interface BatchMeter {
  accepted(records: number, rejected: number, bodyBytes: number): void;
  /** A repeated Idempotency-Key. */
  repeated(): void;
}

/** A data endpoint, and the scope that a client needs to post to it. */
interface Endpoint {
  readonly route: string;
  readonly resource: Resource;
  readonly letter: ResourceLetter;
  readonly scope: string;
  readonly meter: BatchMeter;
}

/** A POST to a data endpoint, and what its steps have found out so far. */
class DataPost {
  readonly endpoint: Endpoint;
  readonly raw: IncomingMessage;
  /** The value of X-Request-Id. */
  readonly id = randomUUID();
  readonly startedAtMs = performance.now();
  readonly waits = noWaits();
  bearer: BearerResult = { kind: "absent" };
  /** The client, once its token, scope and rate allow the request. */
  principal: Principal | undefined;
  /** How the client's rate stands, once checked: every answer from then on reports it. */
  rate: { readonly of: Principal; readonly result: RateResult } | undefined;
  trace: MaybeTrace;
  /** Set once the headers are read; every later answer reports how they were applied, errors included. */
  parameters: HeaderParameters | undefined;
  backfill: Admitted | undefined;
  /** Its backfill has ended. With a key the batch may have been accepted before: only its body shows it. */
  notOpen: ServiceError | undefined;
  body: ReceivedBody | undefined;
  /** Its memory may be gone once the batch was packed. */
  bodyBytes = 0;
  cost: RequestCost | undefined;
  batch: BatchValidator | undefined;
  kept: CheckedBatch | undefined;
  idempotency: Submission["idempotency"] = null;
  acceptedRequestId: string | undefined;

  constructor(endpoint: Endpoint, raw: IncomingMessage) {
    this.endpoint = endpoint;
    this.raw = raw;
  }
}

/** Goes on at once with what is known already; answers a promise only for what is not: with one record a request each wait shows. */
function whenKnown<Known>(
  value: Known | Promise<Known>,
  use: (known: Known) => Promise<void> | undefined | void,
): Promise<void> | undefined {
  return (value instanceof Promise ? value.then(use) : use(value)) ?? undefined;
}

/** What an earlier step has left. */
function found<Found>(value: Found | undefined): Found {
  if (value === undefined) throw new Error("A step of the ingest pipeline ran before the one that it needs.");
  return value;
}

function checkFraming(_context: HttpContext, { raw }: DataPost): void {
  const fault = faultOf(raw);
  if (fault !== undefined) throw fault;
}

function authenticate(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const bearer = verifyBearer(context, post.raw.headers);
  if (bearer instanceof Promise) {
    return bearer
      .then((known) => {
        post.bearer = known;
      })
      .finally(() => {
        post.waits.authentication = performance.now() - post.startedAtMs;
      });
  }
  post.bearer = bearer;
  return undefined;
}

function limitRate(context: HttpContext, post: DataPost): void {
  const admission = admit(context, [post.endpoint.scope], post.bearer);
  if (admission.kind === "refused") throw admission.refusal;
  const { principal, rate } = admission;
  post.rate = { of: principal, result: rate };
  if (admission.kind === "limited") throw admission.error;
  // An authorised request keeps its permissions until it is answered, even if a grant is revoked meanwhile.
  post.principal = principal;
  post.trace = beginTrace(context.tracer, post.raw.headers["traceparent"], post.startedAtMs);
}

function readHeaders(_context: HttpContext, post: DataPost): void {
  checkMediaType(post.raw.headers["content-type"]);
  post.parameters = readHeaderParameters(post.raw);
}

export function checkReady(context: HttpContext): void {
  const blocked = context.blockedReason();
  if (blocked === undefined) return;
  throw new ServiceError("bellhop.accept.Unavailable", {
    // No stack: where that was found out says nothing, and the log may lie on the disk that is filling up.
    cause: blocked,
    retryAfterSeconds: BLOCKED_RETRY_AFTER_SECONDS,
  });
}

function admitBackfill(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { backfillId } = found(post.parameters);
  if (backfillId === null) return undefined;
  const { clientId } = found(post.principal);
  const admitting = context.backfills.admit(clientId, backfillId, post.endpoint.resource);
  return whileOpen(
    post,
    admitting.then((admitted) => {
      post.backfill = admitted;
    }),
  );
}

function whileOpen(post: DataPost, asking: Promise<unknown>): Promise<void> {
  const { idempotencyKey } = found(post.parameters);
  const asked = asking.then(
    () => undefined,
    (refusal) => {
      if (idempotencyKey === null || refusal.code !== "bellhop.backfill.NotOpen") throw refusal;
      post.notOpen = refusal;
    },
  );
  return countDatabase(post.waits, asked);
}

function readmitBackfill(_context: HttpContext, post: DataPost): Promise<void> | undefined {
  return post.backfill && whileOpen(post, post.backfill.stillOpen());
}

async function receive(context: HttpContext, post: DataPost): Promise<void> {
  const principal = found(post.principal);
  const cost = requestCost(context, principal);
  post.cost = cost;
  const startedAt = performance.now();
  const { limits, budget } = context;
  post.body = await receiveBody(post.raw, principal.clientId, limits, budget, (bytes) =>
    charge(post, cost(bytes)),
  );
  post.bodyBytes = post.body.bytes.length;
  post.waits.body = performance.now() - startedAt;
}

function charge(post: DataPost, result: RateResult | undefined): void {
  if (result !== undefined) post.rate = { of: found(post.principal), result };
}

function readRecords(context: HttpContext, post: DataPost): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (settings) => readRecordsBy(settings, context, post));
}

function readRecordsBy(
  settings: RedactionList,
  context: HttpContext,
  post: DataPost,
): Promise<void> | undefined {
  const { resource } = post.endpoint;
  const body = found(post.body).bytes;
  const batch = new BatchValidator(
    resource,
    found(post.parameters).lenient,
    found(post.principal),
    post.backfill,
    body,
    settings,
  );
  post.batch = batch;
  const startedAt = performance.now();
  if (post.trace) post.trace.recordsAtMs = startedAt;
  const reading = readBatchInTurns(body, context.limits, resource, (record) => batch.see(record));
  const settle = (refusal: BatchRefusal | undefined) => {
    post.waits.records = performance.now() - startedAt;
    charge(post, found(post.cost)(post.bodyBytes, batch.seen, batch.useless));
    if (refusal !== undefined) throw refusalError(refusal);
  };
  return whenKnown(reading, settle);
}

function refuseForeign(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { foreign, misplaced } = found(post.batch);
  if (foreign !== undefined) {
    const refuse = () => {
      throw lacksGrant(foreign.clientCode ?? "", foreign.propertyCode ?? "", foreign.index);
    };
    return countDatabase(post.waits, auditForeign(context, post, foreign)).then(refuse);
  }
  if (misplaced !== undefined) throw misplacedError(misplaced, post.backfill);
  return undefined;
}

function judgeRecords(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { preferenceApplied, idempotencyKey } = found(post.parameters);
  const hint = () => (preferenceApplied === null ? misspeltHandling(post.raw.headers) : "");
  try {
    if (post.notOpen !== undefined) throw post.notOpen;
    post.kept = { ...found(post.batch).judgement(hint), body: found(post.body).bytes };
    return undefined;
  } catch (refusal) {
    if (idempotencyKey === null) throw refusal;
    return answerAgain(context, post, refusal);
  }
}

/** What was accepted under this key keeps its answer, though a setting refuses such records since, or its backfill has ended. */
async function answerAgain(context: HttpContext, post: DataPost, refusal: unknown): Promise<void> {
  await fingerprint(context, post);
  const { clientId, certificationId } = found(post.principal);
  const finding = findAccepted(context.pool, clientId, post.idempotency);
  const requestId = await countDatabase(post.waits, finding);
  if (requestId === undefined) throw refusal;
  post.acceptedRequestId = requestId;
  if (certificationId != null) noteAccepted(context, post, { requestId, repeated: true });
  post.endpoint.meter.repeated();
}

function registerProperties(context: HttpContext, post: DataPost): Promise<void> | undefined {
  const registering = context.properties.register(found(post.principal).clientId, found(post.kept).records);
  return registering && countDatabase(post.waits, registering);
}

function fingerprint(_context: HttpContext, post: DataPost): Promise<void> | undefined {
  const { idempotencyKey: key, lenient, backfillId } = found(post.parameters);
  if (key === null) return undefined;
  // With the backfill, as the first answer to a batch of one would say of the other that it has that batch, too.
  const of = backfillId === null ? "" : `${backfillId}\0`;
  const head = `${post.endpoint.resource}\0${lenient}\0${of}`;
  return whenKnown(fingerprintOf(head, found(post.body).bytes), (made) => {
    post.idempotency = { key, fingerprint: made };
  });
}

function redact(context: HttpContext, post: DataPost): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (redactions) =>
    whenKnown(redactBatch(post.endpoint.resource, found(post.kept), redactions), (kept) => {
      post.kept = kept;
    }),
  );
}

async function append(context: HttpContext, post: DataPost): Promise<void> {
  const { trace, waits, parameters } = post;
  const { letter, meter } = post.endpoint;
  const { lenient, correlationId, replyTo, backfillId } = found(parameters);
  const { body, records, rejected } = found(post.kept);
  const log = post.backfill === undefined ? context.acceptLog : await context.backfillLog();
  const startedAt = performance.now();
  if (trace) trace.appendAtMs = startedAt;
  const acceptance = await log.append({
    clientId: found(post.principal).clientId,
    resource: letter,
    body,
    records,
    rejected,
    lenient,
    correlationId,
    replyTo,
    backfillId,
    traceContext: trace ? packTraceContext(trace.span.spanContext()) : undefined,
    idempotency: post.idempotency,
    packed: (bytes) => post.body?.keepOnly(bytes),
  });
  waits.logWriter = acceptance.flushedAt - startedAt;
  waits.flush = performance.now() - acceptance.flushedAt;
  post.acceptedRequestId = acceptance.requestId;
  if (post.principal?.certificationId != null) noteAccepted(context, post, acceptance);
  if (acceptance.repeated) meter.repeated();
  else meter.accepted(records.length, rejected.length, post.bodyBytes);
}

async function countDatabase<Result>(waits: RequestWaits, asked: Promise<Result>): Promise<Result> {
  const askedAt = performance.now();
  try {
    return await asked;
  } finally {
    waits.database += performance.now() - askedAt;
  }
}

/** A refused code was not checked, and may be as long as the body. A character that the cut halves cannot be stored. */
function cutCode(code: string | undefined): string | undefined {
  return code?.slice(0, CODE_KEPT_CHARACTERS_MAX).toWellFormed();
}

async function auditForeign(
  context: HttpContext,
  { endpoint: { resource }, principal }: DataPost,
  { index, clientCode, propertyCode }: ForeignRecord,
) {
  const { clientId } = found(principal);
  await recordAudit(context.pool, {
    who: `client:${clientId}`,
    what: "refuse-foreign-property",
    clientId,
    detail: { resource, index, clientCode: cutCode(clientCode), propertyCode: cutCode(propertyCode) },
  });
}

function misplacedError(index: number, of: Admitted | undefined): ServiceError {
  return new ServiceError("bellhop.backfill.NotInManifest", {
    message: `Record ${index} is of another property than this backfill's, ${JSON.stringify([of?.clientCode, of?.propertyCode]).replace(/[^\x20-\x7e]/g, "?")}.`,
  });
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}

/**
 * The value of one preference in the Prefer header (RFC 7240), in lower case; null where it is not asked for. Where it
 * stands more than once the first counts, and what is malformed is ignored, as the RFC says.
 */
export function preferenceOf(prefer: string | string[] | undefined, name: string): string | null {
  if (prefer === undefined) return null;
  const list = typeof prefer === "string" ? prefer : prefer.join(",");
  // The parts between commas that are not within quotes.
  const preferences = list.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
  const named = preferences.map((preference) => PREFERENCE.exec(preference));
  const [, , quoted, token] = named.find((found) => found?.[1]?.toLowerCase() === name) ?? [];
  return (quoted ?? token)?.toLowerCase() ?? null;
}

const PREFERENCE = /^\s*([\w-]+)\s*(?:=\s*(?:"([^"\\]*)"|([^\s;"]+))\s*)?(?:;|$)/;
