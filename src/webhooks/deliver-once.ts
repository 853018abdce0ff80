import { type IncomingMessage, type RequestOptions, request as requestInTheClear } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type pg from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { traceparentOf, unpackTraceContext } from "../platform/telemetry/telemetry.ts";
import type { AddressRules } from "./address-rules.ts";
import { permittedAddresses, type ResolveHost, SendFailure } from "./endpoint-address.ts";
import { TEST_EVENT, webhookIdOf } from "./message.ts";
import { readLiveSecrets, type SecretSealer, signedHeaders } from "./secrets.ts";

/** One try, from the question for the address to the answer. */
const TRY_MS_MAX = 15_000;
/** Of an answer's body so much is kept, for people; no more than that is read. */
const ANSWER_BYTES_MAX = 512;
const ANSWER_HEADER_BYTES_MAX = 8_192;

/** One try of a message, as it goes out. */
interface OutgoingTry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What came of a try. */
interface TryResult {
  /** Of the answer; null when there was none. */
  readonly status: number | null;
  /** Why it was no delivery, in a word; null for a 2xx. */
  readonly failure: string | null;
  /** What the receiver asked for by Retry-After; else 0. */
  readonly retryAfterSeconds: number;
  /** The beginning of the answer's body, without control characters. */
  readonly answer: string;
}

export interface SendParts {
  readonly rules: AddressRules;
  readonly resolve: ResolveHost;
  /** Ends every try when the node stops. */
  readonly stopping: AbortSignal;
  readonly tryMsMax?: number;
}

const USER_AGENT = "Bellhop-Webhooks/1";

/**
 * POSTs a message once, on a connection of its own, to an address that was looked at. Redirects are answers like any other
 * that is not 2xx: whoever followed one would be led where the rules do not look. Never rejects.
 */
export async function sendMessage(outgoing: OutgoingTry, parts: SendParts): Promise<TryResult> {
  const late = AbortSignal.timeout(parts.tryMsMax ?? TRY_MS_MAX);
  const signal = AbortSignal.any([late, parts.stopping]);
  const answered = { status: null, retryAfterSeconds: 0, answer: "" };
  try {
    const url = new URL(outgoing.url);
    const addresses = await permittedAddresses(url, parts.rules, parts.resolve, signal);
    const { response, answer } = await post(url, addresses, outgoing, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    return {
      status,
      answer,
      failure: isGood ? null : status >= 300 && status < 400 ? "Redirected" : "NotAccepted",
      retryAfterSeconds: secondsAskedFor(response.headers["retry-after"]),
    };
  } catch (error) {
    if (parts.stopping.aborted) return { ...answered, failure: "Stopped" };
    if (late.aborted) return { ...answered, failure: "TimedOut" };
    return { ...answered, failure: reasonOf(error) };
  }
}

/** A word for what went wrong on the way: Node's code (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …) where it has one. */
function reasonOf(error: unknown): string {
  if (error instanceof SendFailure) return error.reason;
  const causes = error instanceof AggregateError ? error.errors : [error];
  for (const cause of causes)
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string")
      return cause.code.slice(0, 64);
  return "Failed";
}

/** Answers what Node's own lookup would, from addresses that are known already. */
function lookupOf(addresses: readonly string[]): NonNullable<RequestOptions["lookup"]> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family ?? 4);
  };
}

function post(
  url: URL,
  addresses: readonly string[],
  { headers, body }: OutgoingTry,
  signal: AbortSignal,
): Promise<{ readonly response: IncomingMessage; readonly answer: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ response: IncomingMessage; answer: string }>();
  const sending = (url.protocol === "https:" ? request : requestInTheClear)(url, {
    method: "POST",
    // A connection of its own: none is kept for a receiver that may be gone, and none is shared between endpoints.
    agent: false,
    lookup: lookupOf(addresses),
    signal,
    maxHeaderSize: ANSWER_HEADER_BYTES_MAX,
    headers: {
      ...headers,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "user-agent": USER_AGENT,
    },
  });
  sending.on("error", reject);
  sending.on("response", (response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = () => {
      resolve({ response, answer: textOf(Buffer.concat(chunks).subarray(0, ANSWER_BYTES_MAX)) });
      sending.destroy();
    };
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= ANSWER_BYTES_MAX) finish();
    });
    // The status is what counts: an answer whose body breaks off has been given.
    response.on("end", finish).on("error", finish).on("close", finish);
  });
  sending.end(body);
  return promise;
}

function textOf(bytes: Buffer): string {
  return bytes
    .toString("utf8")
    .replace(/[\p{Cc}\p{Cf}\ufffd]+/gu, " ")
    .trim();
}

/** Seconds of a Retry-After header (RFC 9110 section 10.2.3), which may be a date. */
function secondsAskedFor(header: string | undefined): number {
  if (header === undefined) return 0;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1_000);
}

const MINUTE = 60;
const HOUR = 3_600;

/**
 * Seconds to wait after each failed try of a message, before chance is added. The first two are over before anybody has
 * noticed an ordinary restart; the later ones reach over a weekend's night. After the last one the message is a dead letter:
 * 11 tries in some 46 hours.
 */
const TRY_AGAIN_SECONDS = [
  5,
  30,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  14 * HOUR,
] as const;

/** Spread by a fifth either way, so that what failed together does not come back together. */
const SPREAD = 0.2;
/** What a receiver may ask for by Retry-After. */
const ASKED_SECONDS_MAX = HOUR;

/** Of an endpoint, beside those of its messages: after so many failures in a row it is tried only now and then. */
const ENDPOINT_FAILURES_FREE = 2;
const ENDPOINT_WAIT_SECONDS = [5, 10, 20, 40, 60] as const;

/** When and how often things are tried. Tests have shorter plans. */
export interface RetryPlan {
  readonly messageSeconds: readonly number[];
  readonly endpointSeconds: readonly number[];
  /** An endpoint none of whose tries was good for so long is paused. */
  readonly pauseAfterSeconds: number;
}

export function standardPlan(pauseAfterSeconds: number): RetryPlan {
  return { messageSeconds: TRY_AGAIN_SECONDS, endpointSeconds: ENDPOINT_WAIT_SECONDS, pauseAfterSeconds };
}

/**
 * Seconds until a message is tried again after its `attempts`-th try failed; undefined when that was the last.
 * `askedSeconds` is what the receiver asked for (Retry-After): never sooner than that, an hour at most.
 */
export function secondsUntilNextTry(
  { messageSeconds }: RetryPlan,
  attempts: number,
  askedSeconds: number,
  chance: number,
): number | undefined {
  const planned = messageSeconds[attempts - 1];
  if (planned === undefined) return undefined;
  const spread = planned * (1 - SPREAD + 2 * SPREAD * chance);
  return Math.max(spread, Math.min(askedSeconds, ASKED_SECONDS_MAX));
}

/**
 * Seconds for which an endpoint is left alone after `failures` failed tries in a row; 0 for the first ones, which may be the
 * fault of one message. Otherwise each of ten thousand waiting messages would knock on a dead receiver by its own plan.
 */
export function secondsEndpointRests(
  { endpointSeconds }: RetryPlan,
  failures: number,
  chance: number,
): number {
  const place = Math.min(failures - ENDPOINT_FAILURES_FREE, endpointSeconds.length) - 1;
  const planned = endpointSeconds[place];
  return planned === undefined ? 0 : planned * (1 - SPREAD + 2 * SPREAD * chance);
}

/** The span that the request $1 was accepted in, where it was traced. An index scan of the log's request ids. */
const READ_CONTEXT = namedStatement(
  "read-trace-context",
  `select encode(trace_context, 'hex') as trace_context from bellhop.accept_log where request_id = $1 and trace_context is not null limit 1`,
);
/** One message as it is sent; nothing when it was delivered, given up or removed meanwhile. */
const LOAD = namedStatement(
  "load-message",
  `select message.body, message.event, message.cause, coalesce(message.url, endpoint.url) as url, message.attempts,
    extract(epoch from clock_timestamp())::float8 as "nowSeconds",
    (select version::text from bellhop.privacy_version) as "privacyVersion",
    extract(epoch from clock_timestamp() - message.created_at)::float8 as "ageSeconds"
  from bellhop.webhook_message as message
  join bellhop.webhook_endpoint as endpoint on endpoint.endpoint_id = message.endpoint_id
  where message.message_id = $1 and message.dead_at is null`,
);
const SETTLE_DELIVERED = readStatement(new URL("./sql/settle-delivered.sql", import.meta.url));
const SETTLE_FAILED = readStatement(new URL("./sql/settle-failed.sql", import.meta.url));

/** A receiver says by it that it wants no more (Standard Webhooks 1.0). */
const GONE = 410;

/** A message that is to be tried now. */
export interface DueMessage {
  readonly messageId: string;
  readonly endpointId: string;
  readonly clientId: string;
  /** Failed tries of the endpoint since its last good one. */
  readonly failures: number;
}

export interface DeliveryParts {
  readonly pool: pg.Pool;
  readonly sealer: SecretSealer;
  readonly plan: RetryPlan;
  readonly send: SendParts;
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

/** What is told of a try. */
export interface Tried {
  readonly endpointId: string;
  readonly messageId: string;
  readonly event: string;
  /** Null for a delivery. */
  readonly failure: string | null;
  /** From when the message was queued to the end of this try. */
  readonly ageSeconds: number;
  /** The message was given up with this try. */
  readonly isDead: boolean;
  /** The endpoint is paused by itself. */
  readonly isPaused: boolean;
}

interface LoadedMessage {
  readonly body: string;
  readonly event: string;
  readonly cause: string;
  readonly url: string;
  readonly attempts: number;
  readonly nowSeconds: number;
  readonly ageSeconds: number;
  /** From when its body was read. */
  readonly privacyVersion: string;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Begins the span of a try: within the request that the message tells of, if that was traced, else a trace of its own. Undefined
 * where it is not sampled. Rejects when the database cannot be asked.
 */
async function beginSpan(
  { pool, tracer }: DeliveryParts,
  { event, cause }: LoadedMessage,
): Promise<Span | undefined> {
  if (tracer === undefined) return undefined;
  const request = event === "request.applied" && UUID.test(cause) ? await contextOf(pool, cause) : undefined;
  const of = [`deliver ${event}`, { kind: SpanKind.CLIENT }] as const;
  return request === undefined ? tracer.begin(...of) : tracer.beginWithin(request, ...of);
}

async function contextOf(pool: pg.Pool, requestId: string) {
  const { rows } = await pool.query<{ trace_context: string }>({ ...READ_CONTEXT, values: [requestId] });
  return unpackTraceContext(rows[0]?.trace_context);
}

function endSpan(span: Span, { status, failure }: TryResult, due: DueMessage, attempt: number): void {
  span.setAttributes({
    "http.request.method": "POST",
    "http.response.status_code": status ?? undefined,
    "http.request.resend_count": attempt > 1 ? attempt - 1 : undefined,
    "bellhop.webhook.endpoint_id": due.endpointId,
    "bellhop.webhook.message_id": due.messageId,
  });
  if (failure !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
  span.end();
}

async function send(
  { pool, sealer, send: parts }: DeliveryParts,
  due: DueMessage,
  { url, body, nowSeconds }: LoadedMessage,
  span: Span | undefined,
): Promise<TryResult> {
  let secrets: readonly string[];
  try {
    secrets = await readLiveSecrets(pool, sealer, due.endpointId);
  } catch (error) {
    // The database did not answer, or (no SQLSTATE, no socket's code) the secret does not open with this node's key.
    if (error instanceof Error && "code" in error) throw error;
    return { status: null, failure: "SecretNotReadable", retryAfterSeconds: 0, answer: "" };
  }
  const signed = { id: webhookIdOf(due.messageId), timestampSeconds: Math.floor(nowSeconds), body };
  // Not signed: whoever passes a message on may trace it, too.
  const traced = span === undefined ? {} : { traceparent: traceparentOf(span.spanContext()) };
  const headers = { ...signedHeaders(signed, secrets), ...traced };
  return await sendMessage({ url, body, headers }, parts);
}

/**
 * Tries a message once and writes down what came of it. Undefined when it was gone before, or when the node stops: then it is
 * due as before, for another node. Rejects when the database cannot be asked; a delivery is then repeated, with the same id.
 */
export async function deliverOnce(parts: DeliveryParts, due: DueMessage): Promise<Tried | undefined> {
  const { pool, plan } = parts;
  const { messageId, endpointId } = due;
  const message = (await pool.query<LoadedMessage>({ ...LOAD, values: [messageId] })).rows[0];
  if (message === undefined) return undefined;
  const startedAt = performance.now();
  const span = await beginSpan(parts, message);
  const result = await send(parts, due, message, span);
  if (result.failure === "Stopped") return undefined;
  const durationMs = Math.round(performance.now() - startedAt);
  const attempt = message.attempts + 1;
  if (span !== undefined) endSpan(span, result, due, attempt);
  const { event, url } = message;
  const { status, failure, answer, retryAfterSeconds } = result;
  // Receivers may answer with what they were told: the answer is noted only if nothing of that was erased meanwhile.
  const noted = [
    messageId,
    endpointId,
    attempt,
    event,
    url,
    durationMs,
    status,
    answer,
    message.privacyVersion,
  ];
  const tried = {
    endpointId,
    messageId,
    event,
    failure,
    ageSeconds: message.ageSeconds + durationMs / 1_000,
  };
  if (failure === null) {
    await pool.query({ ...SETTLE_DELIVERED, values: noted });
    return { ...tried, isDead: false, isPaused: false };
  }
  const nextSeconds = secondsUntilNextTry(plan, attempt, retryAfterSeconds, Math.random()) ?? null;
  const restSeconds = secondsEndpointRests(plan, due.failures + 1, Math.random());
  const bounds = [nextSeconds, restSeconds, plan.pauseAfterSeconds, event === TEST_EVENT, status === GONE];
  const { rows } = await pool.query<{ isPaused: boolean }>({
    ...SETTLE_FAILED,
    values: [...noted, failure, ...bounds],
  });
  return { ...tried, isDead: nextSeconds === null, isPaused: rows[0]?.isPaused ?? false };
}
