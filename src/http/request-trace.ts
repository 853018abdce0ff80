import type { BegunSpan, Tracer } from "../observe/otlp/tracer.ts";
import type { RequestWaits, Wait } from "../observe/request-waits.ts";

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
  return begun === undefined ? null : { ...begun, recordsAtMs: Number.NaN, appendAtMs: Number.NaN };
}

/** What is told of a request that is over. */
interface TracedRequest {
  readonly id: string;
  readonly method: string;
  readonly route: string;
  readonly startedAtMs: number;
  readonly waits: RequestWaits | undefined;
  readonly clientId: string | undefined;
  readonly acceptedRequestId: string | undefined;
}

/** A wait that took less is no reason to look at it. */
const SHOWN_WAIT_MS = 1;

/** Tells of a request that is over: its own span, and of a batch how its records were judged and how it was appended. */
export function endTrace(
  tracer: Tracer,
  trace: RequestTrace,
  request: TracedRequest,
  status: number,
  isClientGone: boolean,
): void {
  const { method, route, startedAtMs, waits, clientId, acceptedRequestId } = request;
  const attributes: Record<string, string | number | boolean | undefined> = {
    "http.request.method": method,
    "http.route": route,
    "http.response.status_code": status,
    "bellhop.client_id": clientId,
    "bellhop.request_id": acceptedRequestId,
    "bellhop.http_request_id": request.id,
  };
  if (isClientGone) attributes["bellhop.client_gone"] = true;
  if (waits !== undefined) {
    for (const wait in waits) {
      const ms = waits[wait as Wait];
      if (ms >= SHOWN_WAIT_MS) attributes[`bellhop.wait.${wait}_ms`] = Math.round(ms);
    }
    const within = (name: string, startMs: number, durationMs: number) => {
      if (Number.isNaN(startMs)) return;
      const { context, parentSpanId } = tracer.beginWithin(trace.context);
      const endMs = startMs + durationMs;
      tracer.end({ context, parentSpanId, name, kind: "internal", startMs, endMs, attributes: {} });
    };
    within("judge records", trace.recordsAtMs, waits.records);
    within("append", trace.appendAtMs, waits.lane + waits.flush);
  }
  tracer.end({
    context: trace.context,
    parentSpanId: trace.parentSpanId,
    name: `${method} ${route}`,
    kind: "server",
    startMs: startedAtMs,
    endMs: performance.now(),
    attributes,
    failure: status >= 500 ? String(status) : undefined,
  });
}
