import type { Attributes } from "../observe/otlp/json.ts";
import type { SpanShape } from "../observe/otlp/span-message.ts";
import type { BegunSpan, Tracer } from "../observe/otlp/tracer.ts";
import { noWaits, type RequestWaits, type Wait } from "../observe/request-waits.ts";

/** The span of a request, and when parts of it began, in milliseconds of `performance.now`; not a number for those that did not. */
export interface RequestTrace extends BegunSpan {
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
): MaybeTrace {
  if (tracer === undefined) return undefined;
  const begun = tracer.begin(typeof traceparent === "string" ? traceparent : undefined);
  if (begun === undefined) return null;
  const { context, parentSpanId } = begun;
  return { context, parentSpanId, recordsAtMs: Number.NaN, appendAtMs: Number.NaN };
}

/** What is told of a request that is over. */
interface TracedRequest {
  readonly id: string;
  readonly startedAtMs: number;
  readonly waits: RequestWaits | undefined;
  readonly clientId: string | undefined;
  readonly acceptedRequestId: string | undefined;
}

const JUDGE: SpanShape = { name: "judge records", kind: "internal" };
const APPEND: SpanShape = { name: "append", kind: "internal" };

/** What spans of requests have in common that were asked and answered alike. */
export function shapeOfRequests(method: string, route: string, status: number): SpanShape {
  return {
    name: `${method} ${route}`,
    kind: "server",
    attributes: {
      "http.request.method": method,
      "http.route": route,
      "http.response.status_code": status,
    },
  };
}

/** A wait that took less is no reason to look at it. */
const SHOWN_WAIT_MS = 1;

function shown(waitMs: number): number | undefined {
  return waitMs >= SHOWN_WAIT_MS ? Math.round(waitMs) : undefined;
}

type RequestAttributes = Readonly<Record<`bellhop.wait.${Wait}_ms`, number | undefined>> & Attributes;

/** What is a request's own. (All names at once: objects of one kind are made and read in a fraction of the time.) */
function attributesOf(
  { id, clientId, acceptedRequestId, waits = noWaits() }: TracedRequest,
  isClientGone: boolean,
): RequestAttributes {
  return {
    "bellhop.client_id": clientId,
    "bellhop.request_id": acceptedRequestId,
    "bellhop.http_request_id": id,
    "bellhop.client_gone": isClientGone || undefined,
    "bellhop.wait.authentication_ms": shown(waits.authentication),
    "bellhop.wait.body_ms": shown(waits.body),
    "bellhop.wait.records_ms": shown(waits.records),
    "bellhop.wait.database_ms": shown(waits.database),
    "bellhop.wait.lane_ms": shown(waits.lane),
    "bellhop.wait.flush_ms": shown(waits.flush),
    "bellhop.wait.asked_ms": shown(waits.asked),
    "bellhop.wait.answer_ms": shown(waits.answer),
  };
}

/** A request that is over: when, and how it was answered. */
interface Ended {
  readonly endMs: number;
  readonly status: number;
  readonly isClientGone: boolean;
}

/** Tells of a request that is over: its own span, and of a batch how its records were judged and how it was appended. */
export function endTrace(
  tracer: Tracer,
  { context, parentSpanId, recordsAtMs, appendAtMs }: RequestTrace,
  request: TracedRequest,
  shape: SpanShape,
  { endMs, status, isClientGone }: Ended,
): void {
  const { startedAtMs, waits = noWaits() } = request;
  if (!Number.isNaN(recordsAtMs))
    tracer.endWithin(context, { shape: JUDGE, startMs: recordsAtMs, endMs: recordsAtMs + waits.records });
  if (!Number.isNaN(appendAtMs)) {
    const appendedAtMs = appendAtMs + waits.lane + waits.flush;
    tracer.endWithin(context, { shape: APPEND, startMs: appendAtMs, endMs: appendedAtMs });
  }
  tracer.end({
    traceId: context.traceId,
    spanId: context.spanId,
    parentSpanId,
    shape,
    startMs: startedAtMs,
    endMs,
    attributes: attributesOf(request, isClientGone),
    failure: status >= 500 ? String(status) : undefined,
  });
}
