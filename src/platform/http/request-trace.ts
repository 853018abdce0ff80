import { type Span, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import type { Tracer } from "../telemetry/opentelemetry.ts";
import { noWaits, type RequestWaits } from "../telemetry/request-waits.ts";

/** The span of a request, and when parts of it began, in milliseconds of `performance.now`; not a number for those that did not. */
export interface RequestTrace {
  readonly span: Span;
  /** When `performance.now` was 0: one reading, so that the parts of a request lie within it. */
  readonly epochMs: number;
  recordsAtMs: number;
  appendAtMs: number;
}

/** Null: its trace is not sampled. Undefined: nothing is traced, or nobody has asked yet. */
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

/** What the span of a request says of it. */
interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly waits: RequestWaits | undefined;
  readonly clientId: string | undefined;
  readonly acceptedRequestId: string | undefined;
}

/** A wait that took less is no reason to look at it. */
const SHOWN_WAIT_MS = 1;

function shown(waitMs: number): number | undefined {
  return waitMs >= SHOWN_WAIT_MS ? Math.round(waitMs) : undefined;
}

/** When and how a request ended. */
interface Ended {
  readonly endMs: number;
  readonly status: number;
  readonly isClientGone: boolean;
}

/** Ends the span of a request, and of a batch the spans within it: how its records were judged and how it was appended. */
export function endTrace(
  tracer: Tracer,
  { span, epochMs, recordsAtMs, appendAtMs }: RequestTrace,
  { id, method, route, waits = noWaits(), clientId, acceptedRequestId }: TracedRequest,
  { endMs, status, isClientGone }: Ended,
): void {
  const tellPart = (name: string, startMs: number, lastedMs: number) => {
    if (Number.isNaN(startMs)) return;
    const startTime = epochMs + startMs;
    tracer.beginWithin(span.spanContext(), name, { startTime }).end(startTime + lastedMs);
  };
  tellPart("judge records", recordsAtMs, waits.records);
  tellPart("append", appendAtMs, waits.logWriter + waits.flush);
  span.updateName(`${method} ${route}`);
  span.setAttributes({
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "bellhop.client_id": clientId,
    "bellhop.request_id": acceptedRequestId,
    "bellhop.http_request_id": id,
    "bellhop.client_gone": isClientGone || undefined,
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
