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
const WAIT_ATTRIBUTES = (Object.keys(noWaits()) as Wait[]).map(
  (wait) => [wait, `bellhop.wait.${wait}_ms`] as const,
);

/** Tells of a request that is over: its own span, and of a batch how its records were judged and how it was appended. */
export function endTrace(
  tracer: Tracer,
  trace: RequestTrace,
  request: TracedRequest,
  shape: SpanShape,
  status: number,
  isClientGone: boolean,
): void {
  const { startedAtMs, waits, clientId, acceptedRequestId } = request;
  const attributes: Record<string, string | number | boolean | undefined> = {
    "bellhop.client_id": clientId,
    "bellhop.request_id": acceptedRequestId,
    "bellhop.http_request_id": request.id,
  };
  if (isClientGone) attributes["bellhop.client_gone"] = true;
  if (waits !== undefined) {
    for (const [wait, attribute] of WAIT_ATTRIBUTES)
      if (waits[wait] >= SHOWN_WAIT_MS) attributes[attribute] = Math.round(waits[wait]);
    const within = (part: SpanShape, startMs: number, durationMs: number) => {
      if (Number.isNaN(startMs)) return;
      const { context, parentSpanId } = tracer.beginWithin(trace.context);
      const endMs = startMs + durationMs;
      tracer.end({ context, parentSpanId, shape: part, startMs, endMs });
    };
    within(JUDGE, trace.recordsAtMs, waits.records);
    within(APPEND, trace.appendAtMs, waits.lane + waits.flush);
  }
  tracer.end({
    context: trace.context,
    parentSpanId: trace.parentSpanId,
    shape,
    startMs: startedAtMs,
    endMs: performance.now(),
    attributes,
    failure: status >= 500 ? String(status) : undefined,
  });
}
