import type { ServerResponse } from "node:http";
import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { HttpContext } from "../../service-context.ts";
import {
  longestWait,
  noWaits,
  type RequestWaits,
  runWithWaits,
  shownWaits,
  sumOfWaits,
} from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Tracer } from "../telemetry/opentelemetry.ts";

/** The span of a request, and when parts of it began, in milliseconds of `performance.now`; not a number for those that did not. */
interface RequestTrace {
  readonly span: Span;
  /** When `performance.now` was 0: one reading, so that the parts of a request lie within it. */
  readonly epochMs: number;
  recordsAtMs: number;
  appendAtMs: number;
}

/** Null: not sampled. Undefined: tracing is disabled, or not begun. */
export type MaybeTrace = RequestTrace | null | undefined;

/**
 * Begins the span of a request; `traceparent` is that of a caller who has shown who it is. (Anybody else's would let a stranger
 * choose what is sampled, and write into traces of others.)
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

/** Ends the span of a request, and of a batch the spans within it: how its records were judged and how it was appended. */
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
    /** When its headers had come, in milliseconds of `performance.now`. Not a number where no hook ran. */
    startedAtMs: number;
    /** Undefined where no hook ran. */
    waits: RequestWaits | undefined;
  }
}

/** What the log line of a request says beside its answer. */
export interface LoggedRequest {
  readonly id: string;
  readonly method: string;
  /** The route, not the URL, which may contain a key or a code. */
  readonly route: string;
  readonly startedAtMs: number;
  readonly waits: RequestWaits | undefined;
  /** Undefined where it has not begun: it then does as the request ends. */
  readonly trace: MaybeTrace;
  readonly traceparent: string | string[] | undefined;
  readonly clientId: string | undefined;
  /** The UUID a batch was answered with. */
  readonly acceptedRequestId: string | undefined;
  readonly correlationId: string | string[] | undefined;
}

/** Only these responses log the client's address, which for privacy is not recorded otherwise. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

type LogContext = Pick<HttpContext, "log" | "metrics" | "clientAddress" | "slowRequestMs" | "tracer">;

/** Where requests are counted that were asked and answered alike. */
function metersOf({ requests, requestSeconds }: Metrics, method: string, route: string, status: number) {
  return {
    requests: requests.labels({ method, route, status }),
    seconds: requestSeconds.labels({ route }),
  };
}

/**
 * Logs and counts each answered request once, when its response is written or its client is gone. Fastify's `onResponse` hook
 * misses the second case, in which a batch is on disk all the same.
 */
export class RequestLog {
  readonly #context: LogContext;
  /** By method, route and status, of which there are so many. */
  readonly #meters = new Map<string, ReturnType<typeof metersOf>>();

  constructor(context: LogContext) {
    this.#context = context;
  }

  /** To be called before the response is written. `describe` is called when it is over: soon after, when it was already. */
  whenOver(response: ServerResponse, describe: () => LoggedRequest): void {
    const sentAtMs = performance.now();
    // A connection that has ended does not know its address any more.
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
        ...(response.writableFinished ? {} : { clientGone: true }),
        ...(clientId === undefined ? {} : { clientId }),
        ...(acceptedRequestId === undefined ? {} : { requestId: acceptedRequestId }),
        ...(address === undefined ? {} : { address }),
        ...(correlationId === undefined ? {} : { correlationId: String(correlationId).slice(0, 128) }),
        ...(traceId === undefined ? {} : { traceId }),
      },
      "request",
    );
    this.#noteSlow(request, statusCode, elapsedMs);
  }

  /** Answers the id of its trace, where that is sampled. What is not of the API (health, documents) is not traced. */
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

  /** What a request had asked to wait for does not make it slow. */
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

/** From when it was given its answer until that was taken, less what else it waited for meanwhile (pages are read as they are sent). */
function waitForClient(startedAtMs: number, waits: RequestWaits, sentAtMs: number, overAtMs: number): number {
  return Math.max(0, Math.min(overAtMs - sentAtMs, overAtMs - startedAtMs - sumOfWaits(waits)));
}

/** Logs and counts what the framework answers. */
export function logRequests(app: FastifyInstance, requestLog: RequestLog): void {
  const seen = new WeakSet<ServerResponse>();
  // Fastify measures `reply.elapsedTime` only where it has an `onResponse` hook: it is 0 otherwise.
  app.decorateRequest("startedAtMs", Number.NaN);
  app.decorateRequest("waits", undefined);
  app.addHook("onRequest", (request, _reply, done) => {
    request.startedAtMs = performance.now();
    request.waits = noWaits();
    runWithWaits(request.waits, done);
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    // A fault while an answer is made sends another one in its place.
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
    // The router refuses an address that it cannot decode before any hook has run.
    startedAtMs: Number.isNaN(startedAtMs) ? performance.now() : startedAtMs,
    waits,
    trace: undefined,
    traceparent: request.headers["traceparent"],
    clientId: request.principal?.clientId,
    acceptedRequestId: undefined,
    correlationId: request.headers["x-correlation-id"],
  };
}
