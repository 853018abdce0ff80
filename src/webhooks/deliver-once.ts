import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type pg from "pg";
import type { Grant } from "../identity/grants.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { isUuid } from "../platform/http/position.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { traceparentOf, unpackTraceContext } from "../platform/telemetry/telemetry.ts";
import { TEST_EVENT, webhookIdOf } from "./message.ts";
import { withinGrants } from "./notice-changes.ts";
import { type RetryPlan, secondsEndpointRests, secondsUntilNextTry } from "./retry-plan.ts";
import { readLiveSecrets } from "./secrets.ts";
import { NO_ANSWER, type SendParts, sendMessage, type TryResult } from "./send-message.ts";
import { signedHeaders } from "./signature.ts";

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
