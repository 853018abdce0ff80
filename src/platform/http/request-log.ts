import type { IncomingMessage, ServerResponse } from "node:http";
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  type Logger,
  longestWait,
  noWaits,
  type RequestWaits,
  runWithWaits,
  shownWaits,
  sumOfWaits,
} from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tracer } from "../telemetry/opentelemetry.ts";

/** The span of a request, and the start times of its parts (`performance.now`; NaN if a part was not reached). */
interface RequestTrace {
  readonly span: Span;
  /** The wall-clock time at which `performance.now` was 0. */
  readonly epochMs: number;
  recordsAtMs: number;
  appendAtMs: number;
}

/** Null: not sampled. Undefined: tracing is disabled or has not begun. */
export type MaybeTrace = RequestTrace | null | undefined;

/**
 * Begins the span of a request. `traceparent` is accepted only from authenticated callers, so that strangers cannot
 * choose what is sampled or write into others' traces.
 */
export function beginTrace(
  tracer: Tracer | undefined,
  traceparent: string | string[] | undefined,
  startedAtMs: number,
): MaybeTrace {
  if (tracer === undefined) return undefined;
  const epochMs = Date.now() - performance.now();
  const options = { kind: SpanKind.SERVER, startTime: epochMs + startedAtMs };
  const span = tracer.begin("request", options, typeof traceparent === "string" ? traceparent : undefined);
  return span === undefined ? null : { span, epochMs, recordsAtMs: Number.NaN, appendAtMs: Number.NaN };
}

/** Shorter waits are not reported. */
const SHOWN_WAIT_MS = 1;

function shown(waitMs: number): number | undefined {
  return waitMs >= SHOWN_WAIT_MS ? Math.round(waitMs) : undefined;
}

/** Ends the span of a request, and for a batch adds spans of validation and append. */
function endTrace(
  tracer: Tracer,
  { span, epochMs, recordsAtMs, appendAtMs }: RequestTrace,
  { id, method, route, waits = noWaits(), clientId, acceptedRequestId }: LoggedRequest,
  { statusCode: status, writableFinished }: ServerResponse,
  endMs: number,
): void {
  const traceStep = (name: string, startMs: number, lastedMs: number) => {
    if (Number.isNaN(startMs)) return;
    const startTime = epochMs + startMs;
    tracer.beginWithin(span.spanContext(), name, { startTime }).end(startTime + lastedMs);
  };
  traceStep("judge records", recordsAtMs, waits.records);
  traceStep("append", appendAtMs, waits.logWriter + waits.flush);
  span.updateName(`${method} ${route}`);
  span.setAttributes({
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "bellhop.client_id": clientId,
    "bellhop.request_id": acceptedRequestId,
    "bellhop.http_request_id": id,
    "bellhop.client_gone": !writableFinished || undefined,
    "bellhop.wait.authentication_ms": shown(waits.authentication),
    "bellhop.wait.body_ms": shown(waits.body),
    "bellhop.wait.records_ms": shown(waits.records),
    "bellhop.wait.database_ms": shown(waits.database),
    "bellhop.wait.log_writer_ms": shown(waits.logWriter),
    "bellhop.wait.flush_ms": shown(waits.flush),
    "bellhop.wait.asked_ms": shown(waits.asked),
    "bellhop.wait.answer_ms": shown(waits.answer),
  });
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR, message: String(status) });
  span.end(epochMs + endMs);
}

declare module "fastify" {
  interface FastifyRequest {
    /** When the headers had arrived (`performance.now`); NaN if no hook ran. */
    startedAtMs: number;
    /** Undefined if no hook ran. */
    waits: RequestWaits | undefined;
  }
}

/** The fields of a request's log line that the response does not have. */
export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  /** The route, not the URL, which may contain a key or a code. */
  readonly route: string;
  readonly startedAtMs: number;
  readonly waits: RequestWaits | undefined;
  /** Undefined if it has not begun; it then begins when the request ends. */
  readonly trace: MaybeTrace;
  readonly traceparent: string | string[] | undefined;
  readonly clientId: string | undefined;
  /** The request id of an accepted batch. */
  readonly acceptedRequestId: string | undefined;
  readonly correlationId: string | string[] | undefined;
}

/** Only these responses log the client's address, which is otherwise not recorded for privacy. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** How requests are logged, counted and traced. */
export interface RequestLogContext {
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Requests that take at least this many milliseconds are logged; 0 disables. */
  readonly slowRequestMs: number;
  /** Undefined without tracing. */
  readonly tracer: Tracer | undefined;
  /** The client's address: of the connection, or as forwarded by trusted proxies. */
  clientAddress(raw: IncomingMessage): string;
}

function metersOf({ requests, requestSeconds }: Metrics, method: string, route: string, status: number) {
  return {
    requests: requests.labels({ method, route, status }),
    seconds: requestSeconds.labels({ route }),
  };
}

/**
 * Logs and counts each answered request once, when the response has been written or the client has disconnected.
 * Fastify's `onResponse` hook misses the second case, in which the batch is stored nevertheless.
 */
export class RequestLog {
  readonly #context: RequestLogContext;
  readonly #meters = new Map<string, ReturnType<typeof metersOf>>();

  constructor(context: RequestLogContext) {
    this.#context = context;
  }

  /** Must be called before the response is written. Calls `describe` once the request is over. */
  whenOver(response: ServerResponse, describe: () => LoggedRequest): void {
    const sentAtMs = performance.now();
    // Read now: a closed connection no longer knows its address.
    const address = REFUSALS.has(response.statusCode) ? this.#context.clientAddress(response.req) : undefined;
    const over = () => {
      const request = describe();
      const overAtMs = performance.now();
      if (request.waits !== undefined)
        request.waits.answer = waitForClient(request.startedAtMs, request.waits, sentAtMs, overAtMs);
      this.#write(response, request, address, overAtMs);
    };
    if (response.closed) setImmediate(over);
    else response.once("close", over);
  }

  #write(
    response: ServerResponse,
    request: LoggedRequest,
    address: string | undefined,
    overAtMs: number,
  ): void {
    const { method, route, acceptedRequestId, clientId, correlationId } = request;
    const { statusCode } = response;
    const elapsedMs = overAtMs - request.startedAtMs;
    const meters = this.#metersOf(method, route, statusCode);
    meters.requests.inc();
    meters.seconds.observe(elapsedMs / 1000);
    const traceId = this.#trace(response, request, overAtMs);
    const level = statusCode >= 500 ? "error" : route.startsWith("/api/") ? "info" : "debug";
    this.#context.log[level](
      {
        httpRequestId: request.id,
        method,
        route,
        status: statusCode,
        ms: Math.round(elapsedMs * 10) / 10,
        clientGone: !response.writableFinished || undefined,
        clientId,
        requestId: acceptedRequestId,
        address,
        correlationId: correlationId === undefined ? undefined : String(correlationId).slice(0, 128),
        traceId,
      },
      "request",
    );
    this.#noteSlow(request, statusCode, elapsedMs);
  }

  /**
   * Returns the trace id of a sampled request. Only requests to the API are traced, not those to health checks or
   * documents.
   */
  #trace(response: ServerResponse, request: LoggedRequest, endMs: number): string | undefined {
    const { tracer } = this.#context;
    if (tracer === undefined || !request.route.startsWith("/api/")) return undefined;
    const { clientId, traceparent, startedAtMs } = request;
    const trace =
      request.trace ??
      (request.trace === undefined && beginTrace(tracer, clientId && traceparent, startedAtMs));
    if (!trace) return undefined;
    endTrace(tracer, trace, request, response, endMs);
    return trace.span.spanContext().traceId;
  }

  /** Excludes the time that the client asked to wait (`Prefer: wait`). */
  #noteSlow(
    { id, method, route, waits = noWaits() }: LoggedRequest,
    status: number,
    elapsedMs: number,
  ): void {
    const { log, metrics, slowRequestMs } = this.#context;
    if (slowRequestMs === 0 || elapsedMs - waits.asked < slowRequestMs) return;
    const waited = longestWait(waits, elapsedMs);
    metrics.slowRequests.inc({ route, waited });
    const ms = Math.round(elapsedMs * 10) / 10;
    log.warn(
      { httpRequestId: id, method, route, status, ms, waited, waits: shownWaits(waits) },
      "slow request",
    );
  }

  #metersOf(method: string, route: string, status: number) {
    const key = `${method} ${status} ${route}`;
    let meters = this.#meters.get(key);
    if (meters === undefined) {
      meters = metersOf(this.#context.metrics, method, route, status);
      this.#meters.set(key, meters);
    }
    return meters;
  }
}

/**
 * The time from the response to its acceptance by the client, without other waits in between (pages are read while they
 * are sent).
 */
function waitForClient(startedAtMs: number, waits: RequestWaits, sentAtMs: number, overAtMs: number): number {
  return Math.max(0, Math.min(overAtMs - sentAtMs, overAtMs - startedAtMs - sumOfWaits(waits)));
}

/** Logs and counts the responses that Fastify sends. */
export function logRequests(app: FastifyInstance, requestLog: RequestLog): void {
  const seen = new WeakSet<ServerResponse>();
  // Fastify measures `reply.elapsedTime` only with an `onResponse` hook; otherwise it is 0.
  app.decorateRequest("startedAtMs", Number.NaN);
  app.decorateRequest("waits", undefined);
  app.addHook("onRequest", (request, _reply, done) => {
    request.startedAtMs = performance.now();
    request.waits = noWaits();
    runWithWaits(request.waits, done);
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    // An error while a response is serialized replaces it with a second response.
    if (!seen.has(reply.raw)) {
      seen.add(reply.raw);
      requestLog.whenOver(reply.raw, () => describe(request));
    }
    done(null, payload);
  });
}

function describe(request: FastifyRequest): LoggedRequest {
  const { id, method, startedAtMs, waits } = request;
  return {
    id,
    method,
    route: request.routeOptions.url ?? "unknown",
    // The router refuses an undecodable address before any hook runs.
    startedAtMs: Number.isNaN(startedAtMs) ? performance.now() : startedAtMs,
    waits,
    trace: undefined,
    traceparent: request.headers["traceparent"],
    clientId: request.principal?.clientId,
    acceptedRequestId: undefined,
    correlationId: request.headers["x-correlation-id"],
  };
}
