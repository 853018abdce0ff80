import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type pg from "pg";
import { readStatement } from "../../db/statement.ts";
import type { Tracer } from "../../observe/opentelemetry.ts";
import { traceparentOf, unpackTraceContext } from "../../observe/telemetry.ts";
import { TEST_EVENT, webhookIdOf } from "./message.ts";
import { type RetryPlan, secondsEndpointRests, secondsUntilNextTry } from "./retry-plan.ts";
import { readLiveSecrets, type SecretSealer } from "./secrets.ts";
import { type SendParts, sendMessage, type TryResult } from "./send-message.ts";
import { signedHeaders } from "./signature.ts";

const READ_CONTEXT = readStatement(new URL("./sql/read-trace-context.sql", import.meta.url));
const LOAD = readStatement(new URL("./sql/load-message.sql", import.meta.url));
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
