import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request } from "node:https";
import { isIP } from "node:net";
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type pg from "pg";
import type { Grant } from "../identity/grants.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { isUuid } from "../platform/http/position.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { traceparentOf, unpackTraceContext } from "../platform/telemetry/telemetry.ts";
import type { AddressRules } from "./address-rules.ts";
import { permittedAddresses, type ResolveHost, SendFailure } from "./endpoint-address.ts";
import { TEST_EVENT, webhookIdOf } from "./message.ts";
import { withinGrants } from "./notice-changes.ts";
import { readLiveSecrets, signedHeaders } from "./secrets.ts";

/** Timeout of one attempt, including DNS. */
const TRY_MS_MAX = 15_000;
/** Response bytes that are read and kept for the delivery log. */
const ANSWER_BYTES_MAX = 512;
const ANSWER_HEADER_BYTES_MAX = 8_192;
const USER_AGENT = "Bellhop-Webhooks/1";

interface OutgoingTry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface TryResult {
  /** Status of the response; null if there was none. */
  readonly status: number | null;
  /** One-word reason for a failure; null for a 2xx. */
  readonly failure: string | null;
  /** The receiver's Retry-After, or 0. */
  readonly retryAfterSeconds: number;
  /** The start of the response body, without control characters. */
  readonly answer: string;
}

const NO_ANSWER = { status: null, retryAfterSeconds: 0, answer: "" };

export interface SendParts {
  readonly rules: AddressRules;
  readonly resolve: ResolveHost;
  /** Aborts every attempt when the node stops. */
  readonly stopping: AbortSignal;
  readonly tryMsMax?: number;
}

/**
 * POSTs a message once, on a separate connection, to a checked address. A redirect counts as a failure, because following it would bypass
 * the check. Never rejects.
 */
export async function sendMessage(outgoing: OutgoingTry, parts: SendParts): Promise<TryResult> {
  const late = AbortSignal.timeout(parts.tryMsMax ?? TRY_MS_MAX);
  const signal = AbortSignal.any([late, parts.stopping]);
  try {
    const url = new URL(outgoing.url);
    const addresses = await permittedAddresses(url, parts.rules, parts.resolve, signal);
    const { response, answer } = await post(url, addresses, outgoing, signal);
    const status = response.statusCode ?? 0;
    const isGood = status >= 200 && status < 300;
    const failure = isGood ? null : status >= 300 && status < 400 ? "Redirected" : "NotAccepted";
    return { status, answer, failure, retryAfterSeconds: parseRetryAfter(response.headers["retry-after"]) };
  } catch (error) {
    const failure = parts.stopping.aborted ? "Stopped" : late.aborted ? "TimedOut" : reasonOf(error);
    return { ...NO_ANSWER, failure };
  }
}

/** One word for a failed connection: Node's error code if there is one (`ECONNREFUSED`, `CERT_HAS_EXPIRED` …). */
function reasonOf(error: unknown): string {
  if (error instanceof SendFailure) return error.message;
  const causes = error instanceof AggregateError ? error.errors : [error];
  for (const cause of causes)
    if (cause instanceof Error && "code" in cause && typeof cause.code === "string")
      return cause.code.slice(0, 64);
  return "Failed";
}

/** A lookup function that returns addresses already resolved and checked. */
function lookupOf(addresses: readonly string[]): NonNullable<RequestOptions["lookup"]> {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, options, done) => {
    if (options.all === true) done(null, found);
    else done(null, found[0]?.address ?? "", found[0]?.family ?? 4);
  };
}

function post(url: URL, addresses: readonly string[], { headers, body }: OutgoingTry, signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<{ response: IncomingMessage; answer: string }>();
  const sending = (url.protocol === "https:" ? request : requestHttp)(url, {
    method: "POST",
    // A separate connection: none is kept open for a receiver that may be gone, or shared between endpoints.
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
  // A 101 that upgrades the connection is neither a response nor an error.
  sending.on("upgrade", (response, socket) => {
    socket.destroy();
    resolve({ response, answer: "" });
  });
  // Whatever else closes the connection before a response must end the attempt as well: it would take a place for good.
  const onClose = () => reject(new SendFailure("Closed"));
  sending.on("close", onClose);
  sending.on("response", (response) => {
    sending.off("close", onClose);
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
    // The status decides, even if the body is truncated.
    response.on("end", finish).on("error", finish).on("close", finish);
  });
  sending.end(body);
  return promise;
}

function textOf(bytes: Buffer): string {
  const text = bytes.toString("utf8");
  return text.replace(/[\p{Cc}\p{Cf}\ufffd]+/gu, " ").trim();
}

/** Seconds of a Retry-After header (RFC 9110 section 10.2.3), which may be a date. */
function parseRetryAfter(header: string | undefined): number {
  if (header === undefined) return 0;
  if (/^\d+$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.max(0, (at - Date.now()) / 1_000);
}

/**
 * Seconds to wait after each failed attempt, before jitter: short at first for a restart, long enough at the end for a weekend. After 11
 * attempts in about 46 hours the message is a dead letter.
 */
const RETRY_SECONDS = [5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 50_400, 50_400] as const;
/** Jitter of ±20 %, so that concurrent failures are not retried together. */
const JITTER = 0.2;
/** The longest Retry-After honoured. */
const RETRY_AFTER_SECONDS_MAX = 3_600;
/** After this many consecutive failures an endpoint rests, in addition to its messages' waits. */
const ENDPOINT_FAILURES_FREE = 2;
const ENDPOINT_WAIT_SECONDS = [5, 10, 20, 40, 60] as const;

/** Retry delays. Tests use shorter ones. */
export interface RetryPlan {
  readonly messageSeconds: readonly number[];
  readonly endpointSeconds: readonly number[];
  /** An endpoint that has only failed for this long is paused. */
  readonly pauseAfterSeconds: number;
}

export function standardPlan(pauseAfterSeconds: number): RetryPlan {
  return { messageSeconds: RETRY_SECONDS, endpointSeconds: ENDPOINT_WAIT_SECONDS, pauseAfterSeconds };
}

const withJitter = (seconds: number, chance: number) => seconds * (1 - JITTER + 2 * JITTER * chance);

/** Seconds until the next attempt after the `attempts`-th failure, at least Retry-After; undefined after the last. */
export function secondsUntilNextTry(
  { messageSeconds }: RetryPlan,
  attempts: number,
  askedSeconds: number,
  chance: number,
): number | undefined {
  const planned = messageSeconds[attempts - 1];
  if (planned === undefined) return undefined;
  return Math.max(withJitter(planned, chance), Math.min(askedSeconds, RETRY_AFTER_SECONDS_MAX));
}

/**
 * Seconds that an endpoint rests after `failures` consecutive failures; 0 for the first ones, which one message may cause. Without a rest,
 * each of ten thousand waiting messages would try a dead receiver.
 */
export function secondsEndpointRests(
  { endpointSeconds }: RetryPlan,
  failures: number,
  chance: number,
): number {
  const place = Math.min(failures - ENDPOINT_FAILURES_FREE, endpointSeconds.length) - 1;
  return withJitter(endpointSeconds[place] ?? 0, chance);
}

/** The span in which request $1 was accepted, if it was traced. */
const READ_CONTEXT = namedStatement(
  "read-trace-context",
  `select encode(trace_context, 'hex') as trace_context from bellhop.accept_log where request_id = $1 and trace_context is not null limit 1`,
);
/** A message and, if it contains records, its client's grants; nothing if it has been delivered, given up or deleted. */
const LOAD = namedStatement(
  "load-message",
  `select message.body, message.event, message.cause, coalesce(message.url, endpoint.url) as url, message.attempts,
    extract(epoch from clock_timestamp())::float8 as "nowSeconds",
    (select version::text from bellhop.privacy_version) as "privacyVersion",
    extract(epoch from clock_timestamp() - message.created_at)::float8 as "ageSeconds",
    (select json_agg(json_build_object('clientCode', client_code, 'propertyCode', property_code)) from bellhop.client_grant
    where client_id = endpoint.client_id and message.event = 'changes.available') as grants
  from bellhop.webhook_message as message
  join bellhop.webhook_endpoint as endpoint on endpoint.endpoint_id = message.endpoint_id
  where message.message_id = $1 and message.dead_at is null`,
);
const SETTLE = readStatement(new URL("./sql/settle-message.sql", import.meta.url));

/** The receiver wants no more messages (Standard Webhooks 1.0). */
const GONE = 410;

/** A message that is due. */
export interface DueMessage {
  readonly messageId: string;
  readonly endpointId: string;
  readonly clientId: string;
  /** Consecutive failed attempts of the endpoint. */
  readonly failures: number;
}

export interface DeliveryParts {
  readonly pool: pg.Pool;
  readonly cipher: SecretCipher;
  readonly plan: RetryPlan;
  readonly send: SendParts;
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined;
}

/** Result of an attempt, for metrics and logs. */
export interface Tried {
  readonly endpointId: string;
  readonly messageId: string;
  readonly event: string;
  /** Null for a delivery. */
  readonly failure: string | null;
  /** From queueing to the end of this attempt. */
  readonly ageSeconds: number;
  /** The message became a dead letter. */
  readonly isDead: boolean;
  /** The endpoint was paused automatically. */
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
  /** The privacy version when the body was read. */
  readonly privacyVersion: string;
  /** Null if the message contains no records, or its client has no grants. */
  readonly grants: readonly Grant[] | null;
}

/** Starts the span of an attempt, as a child of the request's span if that was traced. */
async function beginSpan({ pool, tracer }: DeliveryParts, { event, cause }: LoadedMessage) {
  if (tracer === undefined) return undefined;
  const of = [`deliver ${event}`, { kind: SpanKind.CLIENT }] as const;
  if (event !== "request.applied" || !isUuid(cause)) return tracer.begin(...of);
  const { rows } = await pool.query<{ trace_context: string }>({ ...READ_CONTEXT, values: [cause] });
  const request = unpackTraceContext(rows[0]?.trace_context);
  return request === undefined ? tracer.begin(...of) : tracer.beginWithin(request, ...of);
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

async function send(parts: DeliveryParts, due: DueMessage, message: LoadedMessage): Promise<TryResult> {
  const { pool, cipher } = parts;
  const { endpointId, messageId } = due;
  const { url, body, nowSeconds, attempts } = message;
  let secrets: readonly string[];
  try {
    secrets = await readLiveSecrets(pool, cipher, endpointId);
  } catch (error) {
    // An error with a code (SQLSTATE, socket) is the database's; without one, this node's key cannot decrypt the secret.
    if (error instanceof Error && "code" in error) throw error;
    return { ...NO_ANSWER, failure: "SecretNotReadable" };
  }
  const span = await beginSpan(parts, message);
  const signed = { id: webhookIdOf(messageId), timestampSeconds: Math.floor(nowSeconds), body };
  // Not signed, because a proxy may continue the trace.
  const traced = span === undefined ? {} : { traceparent: traceparentOf(span.spanContext()) };
  const result = await sendMessage(
    { url, body, headers: { ...signedHeaders(signed, secrets), ...traced } },
    parts.send,
  );
  if (span !== undefined) endSpan(span, result, due, attempts + 1);
  return result;
}

/**
 * Attempts a message once and records the outcome. Undefined if the message is gone or the node stops; it then stays due. Rejects if the
 * database is unavailable; a delivery is then repeated with the same id.
 */
export async function deliverOnce(parts: DeliveryParts, due: DueMessage): Promise<Tried | undefined> {
  const { pool, plan } = parts;
  const { messageId, endpointId } = due;
  const loaded = (await pool.query<LoadedMessage>({ ...LOAD, values: [messageId] })).rows[0];
  if (loaded === undefined) return undefined;
  // A grant may have been revoked while the message waited.
  const isOfChanges = loaded.event === "changes.available";
  const message = isOfChanges ? { ...loaded, body: withinGrants(loaded.body, loaded.grants ?? []) } : loaded;
  const startedAt = performance.now();
  const result = await send(parts, due, message);
  if (result.failure === "Stopped") return undefined;
  const durationMs = Math.round(performance.now() - startedAt);
  const attempt = message.attempts + 1;
  const { event, url, privacyVersion } = message;
  const { status, failure, answer, retryAfterSeconds } = result;
  const nextSeconds = secondsUntilNextTry(plan, attempt, retryAfterSeconds, Math.random()) ?? null;
  const restSeconds = secondsEndpointRests(plan, due.failures + 1, Math.random());
  const logged = [attempt, event, url, durationMs, status, answer, privacyVersion, failure];
  const bounds = [nextSeconds, restSeconds, plan.pauseAfterSeconds, event === TEST_EVENT, status === GONE];
  const values = [messageId, endpointId, ...logged, ...bounds];
  const { rows } = await pool.query<{ isPaused: boolean }>({ ...SETTLE, values });
  const isDead = failure !== null && nextSeconds === null;
  const ageSeconds = message.ageSeconds + durationMs / 1_000;
  return { endpointId, messageId, event, failure, ageSeconds, isDead, isPaused: rows[0]?.isPaused ?? false };
}
