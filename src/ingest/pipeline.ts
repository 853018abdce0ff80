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
import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";
import { quoted, type Violation } from "#contract/violation.ts";
import { latestSourceTime } from "#contract/walk-value.ts";
import { recordAudit } from "../identity/audit.ts";
import type { BearerResult, RateResult } from "../identity/authenticator.ts";
import {
  admit,
  EmptyRefusal,
  lacksGrant,
  principalAgain,
  rateFields,
  verifyBearer,
} from "../identity/authorize.ts";
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
import type { Admitted, DataContext } from "./data-context.ts";
import { findAccepted } from "./log/accept-log.ts";
import type { RejectedRecord, Submission, SubmittedRecord } from "./log/log-writer-session.ts";
import { type CheckedBatch, type RedactionList, redactBatch } from "./redact.ts";

/** The steps of a POST to a data endpoint, in the order of the contract. A step adds its results to the post or throws a refusal. */
const STEPS: readonly ((context: DataContext, post: DataPost) => Promise<void> | void)[] = [
  checkFraming, // 400, and the connection is closed
  authenticate, // 401 no bearer token, 403 invalid token
  limitRate, // 403 scope, 429
  readHeaders, // 415 media type, 422 optional headers
  checkReady, // 503 disk almost full, no log writer
  admitBackfill, // 409, 422, 429: before the body is read, so that refusing costs little
  receive, // 413, 415, 503; inflates, and charges the client's rate for bytes as they arrive
  readRecords, // 400 not a JSON array; checks each record and charges the client's rate for them
  refuseForeign, // 403 property not granted, 422 not the backfill's property
  readmitBackfill, // 409: the backfill may have ended while the body was received
  validateRecords, // 400 invalid records, 409 backfill; repeats the answer of a known Idempotency-Key
  registerProperties, // 429 too many new properties
  fingerprint, // path, handling and body, for the Idempotency-Key
  redact, // according to the erasure list and the client code's settings
  authorizeAgain, // 403: permissions may have ended while the body was received
  append, // 409 Idempotency-Key reused, 503; durable once it resolves
];

/** Resolves once the batch is durable, with its id in `post.acceptedRequestId`. Throws EmptyRefusal or an error for `asServiceError`. */
async function acceptPost(context: DataContext, post: DataPost): Promise<void> {
  try {
    for (const step of STEPS) {
      const pending = step(context, post);
      // Awaiting only promises is measurably faster for requests of one record.
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

/** Resolves metric labels once instead of per batch. */
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

/** Status, body and the header fields (name, value, name, value …) specific to this response. */
interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Serves POST requests to the data endpoints without Fastify, which would double the cost of a request with one record. Shares the
 * functions for errors, log lines, traces and headers with Fastify's routes.
 */
export class DataEndpoints {
  readonly #context: DataContext;
  readonly #requestLog: RequestLog;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(context: DataContext, requestLog: RequestLog) {
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

  /** Returns false for any other request. `isClosing`: whether the response should close the connection. */
  handle(raw: IncomingMessage, response: ServerResponse, isClosing: () => boolean): boolean {
    const endpoint = raw.method === "POST" ? this.#endpointOf(raw.url ?? "") : undefined;
    if (endpoint === undefined) return false;
    this.#serve(new DataPost(endpoint, raw), response, isClosing).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "could not produce a response");
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
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    const fields = COMMON_FIELDS.concat("x-request-id", post.id, commonFields(post), answer.fields);
    if (isClosing() || isLast(raw)) fields.push("connection", "close");
    // `refuseConnection` may have responded meanwhile, to malformed data after the headers.
    const isOwed = !response.headersSent;
    if (isOwed) response.statusCode = answer.status;
    this.#requestLog.whenOver(response, () => describe(post));
    if (isOwed) response.writeHead(answer.status, fields as string[]).end(answer.body);
  }

  #refusal(post: DataPost, thrown: unknown): Answer {
    if (thrown instanceof EmptyRefusal) {
      const { status, challenge } = thrown;
      this.#context.batchWatch.refused(post, { status, code: "foreign-property" });
      return { status, fields: ["www-authenticate", challenge, "content-length", "0"], body: "" };
    }
    const error = reportError(this.#context, post.id, thrown);
    this.#context.batchWatch.refused(post, error);
    const body = JSON.stringify(errorBody(error));
    const fields = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(body))];
    const retryAfter = retryAfterOf(error);
    if (retryAfter !== undefined) fields.push("retry-after", retryAfter);
    return { status: error.status, fields, body };
  }
}

/** The 202 of a batch, as JSON or, if the client prefers it, text. */
function acceptedAnswer({ raw, acceptedRequestId = "" }: DataPost): Answer {
  const isText = prefersText(raw.headers.accept, "text/plain");
  const body = isText ? acceptedRequestId : `{"requestId":"${acceptedRequestId}"}`;
  const location = `/api/public/v1/requests/${acceptedRequestId}`;
  const type = isText ? "text/plain; charset=utf-8" : JSON_TYPE;
  // Both bodies are ASCII.
  const fields = ["location", location, "content-type", type, "content-length", String(body.length)];
  return { status: 202, fields, body };
}

/** Header fields for the client's rate and the request's parameters, as far as known. */
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
  /** In lower case. */
  readonly backfillId: string | null;
  readonly lenient: boolean;
  /** Value of the Preference-Applied header; null if the request has no handling preference. */
  readonly preferenceApplied: string | null;
}

type Headers = Pick<IncomingMessage, "headers" | "rawHeaders">;

/** Reads the header parameters. Throws ServiceError `bellhop.http.InvalidHeader` (422). */
function readHeaderParameters(request: Headers): HeaderParameters {
  const handling = handlingOf(request.headers);
  return {
    idempotencyKey: visibleText(request, "idempotency-key", 255, "Idempotency-Key"),
    correlationId: visibleText(request, "x-correlation-id", 128, "X-Correlation-Id"),
    replyTo: replyToOf(request),
    backfillId: backfillIdOf(request),
    lenient: handling === "lenient",
    preferenceApplied: handling === null ? null : `handling=${handling}`,
  };
}

function invalid(message: string): ServiceError {
  return new ServiceError("bellhop.http.InvalidHeader", { message });
}

/** `shown`: the name for messages. */
function visibleText(request: Headers, name: string, charactersMax: number, shown: string): string | null {
  const value = request.headers[name];
  if (typeof value !== "string") return null;
  if (value.length > charactersMax || !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value)) {
    throw invalid(`${shown} must be 1 to ${charactersMax} visible ASCII characters, spaces only within.`);
  }
  // Node joins a repeated header with ", ", which one value may contain too.
  if (value.includes(", ") && countOf(request.rawHeaders, name) > 1)
    throw invalid(`${shown} must be sent once.`);
  return value;
}

function countOf(rawHeaders: readonly string[], name: string): number {
  return rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name).length;
}

function backfillIdOf(request: Headers): string | null {
  const value = visibleText(request, "backfill-id", 36, "Backfill-Id")?.toLowerCase() ?? null;
  if (value !== null && !isUuid(value)) throw invalid("Backfill-Id must be the UUID of a backfill.");
  return value;
}

function replyToOf(request: Headers): string | null {
  const value = visibleText(request, "replyto", 2_048, "ReplyTo");
  if (value === null) return null;
  const address = URL.parse(value);
  // The address is visible to everyone who may read the request.
  if (address === null || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw invalid("ReplyTo must be an absolute http or https address without a user name or password.");
  }
  return value;
}

/** The `handling` preference (RFC 7240, section 4.4); unknown values are ignored, as the RFC requires. */
function handlingOf(headers: IncomingHttpHeaders): "lenient" | "strict" | null {
  const handling = preferenceOf(headers["prefer"], "handling");
  return handling === "lenient" || handling === "strict" ? handling : null;
}

const HANDLINGS = ["handling=lenient", "handling=strict"];
const PREFERENCES_COMPARED_MAX = 4;

/** A hint for the message of a refusal if Prefer has a misspelt handling, which is ignored as the RFC requires. */
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

/** Whether the Accept header prefers `type` to JSON (RFC 9110, section 12.5.1). */
export function prefersText(accept: string | undefined, type: "text/plain" | "text/csv"): boolean {
  if (accept === undefined || accept === "*/*" || accept === "application/json") return false;
  const weights = new Map<string, number>();
  for (const part of accept.split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const q = weight === undefined ? 1 : Number(weight.slice(2));
    weights.set(range, Number.isFinite(q) ? q : 0);
  }
  const weightOf = (exact: string, family: string) =>
    weights.get(exact) ?? weights.get(family) ?? weights.get("*/*") ?? 0;
  return weightOf(type, "text/*") > weightOf("application/json", "application/*");
}

/**
 * A batch counts as one request of the client's rate per this many records, bytes or values, so that a rate of 50 requests per
 * second is also one of 5,000 records per second (docs/decisions/0008).
 */
const RECORDS_PER_REQUEST = 100;
/** 100 reservations of typical size. */
const BYTES_PER_REQUEST = 262_144;
/** JSON values: the CPU cost of a batch is determined by its bytes and its values (`npm run campaign -- token-cost`). */
const VALUES_PER_REQUEST = 20_000;

/** An invalid or future-dated record counts as this many: reporting its violations takes 40 µs, reading a valid record 12 µs. */
const UNUSABLE_RECORD_COST = 4;

interface RecordTotals {
  readonly records: number;
  readonly values: number;
}

const NO_RECORDS: RecordTotals = { records: 0, values: 0 };

/** The request cost of a batch. `unusable`: the invalid and future-dated records of `all`. */
export function costOf(bytes: number, all: RecordTotals, unusable: RecordTotals): number {
  const counted = (of: keyof RecordTotals) => all[of] + unusable[of] * (UNUSABLE_RECORD_COST - 1);
  return Math.max(
    1,
    Math.ceil(bytes / BYTES_PER_REQUEST),
    Math.ceil(counted("records") / RECORDS_PER_REQUEST),
    Math.ceil(counted("values") / VALUES_PER_REQUEST),
  );
}

/** Charges the client's rate for the difference to the cost charged before, and returns the rate if there is any. */
type RequestCost = (bytes: number, all?: RecordTotals, unusable?: RecordTotals) => RateResult | undefined;

/**
 * Charges the cost of a batch as its bytes are announced and arrive, and once its records are known. A batch is not refused for its
 * own cost, but delays those that follow it.
 */
function requestCost({ nodes, rateLimiter }: DataContext, principal: Principal): RequestCost {
  const { clientId, requestRate, requestBurst } = principal;
  // The request itself was counted on admission.
  let counted = 1;
  return (bytes, all = NO_RECORDS, unusable = NO_RECORDS) => {
    const more = costOf(bytes, all, unusable) - counted;
    if (more <= 0) return undefined;
    counted += more;
    return rateLimiter.charge(clientId, more, requestRate, requestBurst, nodes("accept"));
  };
}

/** Violations listed in an error response. */
const VIOLATIONS_MAX = 100;
/** Violations stored per rejected record; only one after VIOLATIONS_KEPT_OF_BATCH, because every page of an outcome reads all. */
const VIOLATIONS_KEPT_MAX = 10;
const VIOLATIONS_KEPT_OF_BATCH = 10_000;
type ForeignRecord = Pick<BatchRecord, "index" | "clientCode" | "propertyCode">;

/** The property that an invalid record names; none if its codes are too long for one. */
function namesOf({
  clientCode,
  propertyCode,
}: BatchRecord): Pick<RejectedRecord, "clientCode" | "propertyCode"> {
  const isCode = (code: string | undefined) => code !== undefined && code.length <= CODE_CHARACTERS_MAX;
  return isCode(clientCode) && isCode(propertyCode) ? { clientCode, propertyCode } : {};
}

/** Validates the records of one batch as they are read, keeping only their ranges, properties and violations. */
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
  readonly all = { records: 0, values: 0 };
  /** Records that are invalid, or so far in the future that they will be quarantined. */
  readonly unusable = { records: 0, values: 0 };
  /** The first record of a property that the client has no grant for; later records are not checked. */
  foreign: ForeignRecord | undefined;
  /** The index of the first record of another property than the backfill's. */
  misplaced: number | undefined;
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

  add(record: BatchRecord): void {
    this.all.records += 1;
    this.all.values += record.values;
    if (this.foreign !== undefined || !this.#isPermitted(record)) return;
    const room = Math.max(1, Math.min(VIOLATIONS_KEPT_MAX, VIOLATIONS_KEPT_OF_BATCH - this.#kept));
    const wanted = Math.max(VIOLATIONS_MAX - this.#listed.length, this.#lenient ? room : 0);
    const found = this.#check(record, wanted);
    const { index, start, end, clientCode, propertyCode } = record;
    if (found.total === 0 && clientCode !== undefined && propertyCode !== undefined) {
      this.#records.push({ index, start, end, clientCode, propertyCode });
      if (isAhead(this.#resource, record, this.#body, this.#latest)) this.#countUnusable(record);
      return;
    }
    this.#countUnusable(record);
    this.#total += found.total;
    this.#listed.push(...found.violations.slice(0, VIOLATIONS_MAX - this.#listed.length));
    if (this.#lenient) {
      const kept = found.violations.slice(0, room);
      this.#kept += kept.length;
      this.#rejected.push({
        ...namesOf(record),
        index,
        start,
        end,
        violations: kept,
        violationTotal: found.total,
      });
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

  /** Whether the client has a grant for the record's property; true if its codes cannot be read. */
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
    if (of !== undefined && (clientCode !== of.clientCode || propertyCode !== of.propertyCode))
      this.misplaced ??= index;
    return true;
  }

  #countUnusable({ values }: BatchRecord): void {
    this.unusable.records += 1;
    this.unusable.values += values;
  }

  /**
   * The valid and rejected records. Throws ServiceError `bellhop.contract.InvalidRecords`, whose message ends with `hint`, if no
   * record is valid, or any is invalid in a strict batch.
   */
  result(hint = () => ""): Pick<Submission, "records" | "rejected"> {
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

/** Larger bodies are hashed in place instead of through a copy. */
const HASHED_AT_ONCE_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(HASHED_AT_ONCE_BYTES);

/** Bytes hashed per turn of the event loop, about 2 ms. */
const HASHED_BYTES_A_TURN = 2 * 1_048_576;

/**
 * The fingerprint of a request under an Idempotency-Key: SHA-256, in hexadecimal, of `head` (path and handling) and the decompressed
 * body. Small bodies are copied behind the head: one call takes half the time of a hash object. Large ones yield to other work.
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

/** The maximum length of codes in the contract. */
const CODE_KEPT_CHARACTERS_MAX = 128;
const BLOCKED_RETRY_AFTER_SECONDS = 5;

interface BatchMeter {
  accepted(records: number, rejected: number, bodyBytes: number): void;
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

/** A POST to a data endpoint, and the results of its steps. */
class DataPost {
  readonly endpoint: Endpoint;
  readonly raw: IncomingMessage;
  /** The value of X-Request-Id. */
  readonly id = randomUUID();
  readonly startedAtMs = performance.now();
  readonly waits = noWaits();
  bearer: BearerResult = { kind: "absent" };
  /** Set once the request is authorised and within the client's rate. */
  principal: Principal | undefined;
  /** Set once the rate was checked; later responses report it. */
  rate: { readonly of: Principal; readonly result: RateResult } | undefined;
  trace: MaybeTrace;
  /** Set once the headers are read; later responses, including errors, report how they were applied. */
  parameters: HeaderParameters | undefined;
  backfill: Admitted | undefined;
  /** The backfill has ended. With an Idempotency-Key the batch may have been accepted before, which only its body shows. */
  notOpen: ServiceError | undefined;
  body: ReceivedBody | undefined;
  /** Kept because the body may be released once the batch is packed. */
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

/** Calls `use` synchronously if the value is no promise: awaits are measurable in requests of one record. */
function whenKnown<Known>(
  value: Known | Promise<Known>,
  use: (known: Known) => Promise<void> | undefined | void,
): Promise<void> | undefined {
  return (value instanceof Promise ? value.then(use) : use(value)) ?? undefined;
}

/** A result of an earlier step. */
function found<Found>(value: Found | undefined): Found {
  if (value === undefined) throw new Error("A step of the ingest pipeline ran before the one that it needs.");
  return value;
}

function checkFraming(_context: DataContext, { raw }: DataPost): void {
  const fault = faultOf(raw);
  if (fault !== undefined) throw fault;
}

function authenticate(context: DataContext, post: DataPost): Promise<void> | undefined {
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

function limitRate(context: DataContext, post: DataPost): void {
  const admission = admit(context, [post.endpoint.scope], post.bearer);
  if (admission.kind === "refused") throw admission.refusal;
  const { principal, rate } = admission;
  post.rate = { of: principal, result: rate };
  if (admission.kind === "limited") throw admission.error;
  post.principal = principal;
  post.trace = beginTrace(context.tracer, post.raw.headers["traceparent"], post.startedAtMs);
}

function readHeaders(_context: DataContext, post: DataPost): void {
  checkMediaType(post.raw.headers["content-type"]);
  post.parameters = readHeaderParameters(post.raw);
}

export function checkReady(context: DataContext): void {
  const blocked = context.blockedReason();
  if (blocked === undefined) return;
  throw new ServiceError("bellhop.accept.Unavailable", {
    // Not an Error: a stack would not help, and the log may be on the disk that is filling up.
    cause: blocked,
    retryAfterSeconds: BLOCKED_RETRY_AFTER_SECONDS,
  });
}

function admitBackfill(context: DataContext, post: DataPost): Promise<void> | undefined {
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
  const handled = asking.then(
    () => undefined,
    (refusal) => {
      if (idempotencyKey === null || refusal.code !== "bellhop.backfill.NotOpen") throw refusal;
      post.notOpen = refusal;
    },
  );
  return countDatabase(post.waits, handled);
}

function readmitBackfill(_context: DataContext, post: DataPost): Promise<void> | undefined {
  return post.backfill && whileOpen(post, post.backfill.stillOpen());
}

async function receive(context: DataContext, post: DataPost): Promise<void> {
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

function readRecords(context: DataContext, post: DataPost): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (settings) => readRecordsBy(settings, context, post));
}

function readRecordsBy(
  settings: RedactionList,
  context: DataContext,
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
  const reading = readBatchInTurns(body, context.limits, resource, (record) => batch.add(record));
  const settle = (refusal: BatchRefusal | undefined) => {
    post.waits.records = performance.now() - startedAt;
    charge(post, found(post.cost)(post.bodyBytes, batch.all, batch.unusable));
    if (refusal !== undefined) throw refusalError(refusal);
  };
  return whenKnown(reading, settle);
}

function refuseForeign(context: DataContext, post: DataPost): Promise<void> | undefined {
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

function validateRecords(context: DataContext, post: DataPost): Promise<void> | undefined {
  const { preferenceApplied, idempotencyKey } = found(post.parameters);
  const hint = () => (preferenceApplied === null ? misspeltHandling(post.raw.headers) : "");
  try {
    if (post.notOpen !== undefined) throw post.notOpen;
    post.kept = { ...found(post.batch).result(hint), body: found(post.body).bytes };
    return undefined;
  } catch (refusal) {
    if (idempotencyKey === null) throw refusal;
    return repeatAnswer(context, post, refusal);
  }
}

/** Repeats the answer of a batch accepted before under this key, although a setting would refuse it now or its backfill has ended. */
async function repeatAnswer(context: DataContext, post: DataPost, refusal: unknown): Promise<void> {
  await fingerprint(context, post);
  const { clientId } = found(post.principal);
  const finding = findAccepted(context.pool, clientId, post.idempotency);
  const requestId = await countDatabase(post.waits, finding);
  if (requestId === undefined) throw refusal;
  post.acceptedRequestId = requestId;
  context.batchWatch.accepted(post, { requestId, repeated: true });
  post.endpoint.meter.repeated();
}

function registerProperties(context: DataContext, post: DataPost): Promise<void> | undefined {
  const registering = context.properties.register(found(post.principal).clientId, found(post.kept).records);
  return registering && countDatabase(post.waits, registering);
}

function fingerprint(_context: DataContext, post: DataPost): Promise<void> | undefined {
  const { idempotencyKey: key, lenient, backfillId } = found(post.parameters);
  if (key === null) return undefined;
  // Includes the backfill: otherwise a repeated key would make one backfill claim the batch of another.
  const of = backfillId === null ? "" : `${backfillId}\0`;
  const head = `${post.endpoint.resource}\0${lenient}\0${of}`;
  return whenKnown(fingerprintOf(head, found(post.body).bytes), (made) => {
    post.idempotency = { key, fingerprint: made };
  });
}

function redact(context: DataContext, post: DataPost): Promise<void> | undefined {
  return whenKnown(context.redactions.current(), (redactions) =>
    whenKnown(redactBatch(post.endpoint.resource, found(post.kept), redactions), (kept) => {
      post.kept = kept;
    }),
  );
}

function authorizeAgain(context: DataContext, post: DataPost): Promise<void> | undefined {
  const { principal, bearer, endpoint } = post;
  if (principal === undefined || bearer.kind !== "ok") return undefined;
  const known = principalAgain(context, principal, bearer.version, [endpoint.scope]);
  if (known === principal) return undefined;
  return whenKnown(known, (current) => {
    post.principal = current;
    const foreign = found(post.kept).records.find(
      ({ clientCode, propertyCode }) => !permits(current, clientCode, propertyCode),
    );
    if (foreign === undefined) return undefined;
    return countDatabase(post.waits, auditForeign(context, post, foreign)).then(() => {
      throw lacksGrant(foreign.clientCode, foreign.propertyCode, foreign.index);
    });
  });
}

/** Applying a batch of this size takes tenths of a second, for which smaller ones need not wait (docs/decisions/0007). */
const LARGE_RECORDS = 2_000;
const LARGE_BYTES = 4 * 1_048_576;

async function append(context: DataContext, post: DataPost): Promise<void> {
  const { trace, waits, parameters } = post;
  const { letter, meter } = post.endpoint;
  const { lenient, correlationId, replyTo, backfillId } = found(parameters);
  const { body, records, rejected } = found(post.kept);
  const yields = post.backfill !== undefined || records.length >= LARGE_RECORDS || body.length >= LARGE_BYTES;
  const log = yields ? await context.yieldingLog() : context.acceptLog;
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
  context.batchWatch.accepted(post, acceptance);
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

/** Truncates an unchecked code. A surrogate pair cut in half could not be stored. */
function cutCode(code: string | undefined): string | undefined {
  return code?.slice(0, CODE_KEPT_CHARACTERS_MAX).toWellFormed();
}

async function auditForeign(
  context: DataContext,
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
    message: `Record ${index} is not of this backfill's property, ${JSON.stringify([of?.clientCode, of?.propertyCode]).replace(/[^\x20-\x7e]/g, "?")}.`,
  });
}

function refusalError({ code, message, violations }: BatchRefusal): ServiceError {
  if (violations.length === 0) return new ServiceError(code, { message });
  return new ServiceError(code, { message, violations, violationTotal: violations.length });
}

/** The first value of a preference in the Prefer header (RFC 7240), in lower case; null if absent. Malformed preferences are ignored. */
export function preferenceOf(prefer: string | string[] | undefined, name: string): string | null {
  if (prefer === undefined) return null;
  const list = typeof prefer === "string" ? prefer : prefer.join(",");
  // Splits at commas outside quotes.
  const preferences = list.match(/(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g) ?? [];
  const named = preferences.map((preference) => PREFERENCE.exec(preference));
  const [, , quoted, token] = named.find((found) => found?.[1]?.toLowerCase() === name) ?? [];
  return (quoted ?? token)?.toLowerCase() ?? null;
}

const PREFERENCE = /^\s*([\w-]+)\s*(?:=\s*(?:"([^"\\]*)"|([^\s;"]+))\s*)?(?:;|$)/;
