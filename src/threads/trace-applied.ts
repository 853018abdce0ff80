import type { LogPart } from "../apply/backlog.ts";
import type { SpanShape } from "../observe/otlp/span-message.ts";
import { unpackTraceContext } from "../observe/otlp/trace-context.ts";
import type { Tracer } from "../observe/otlp/tracer.ts";

const APPLY: SpanShape = { name: "apply", kind: "consumer" };

/**
 * Tells of an apply transaction that has just been committed: a span for each part whose batch was traced, within the span of
 * the request that brought it, from whichever node that was.
 */
export function traceApplied(
  tracer: Tracer,
  parts: readonly LogPart[],
  records: number,
  durationMs: number,
): void {
  const endMs = performance.now();
  for (const part of parts) {
    const request = unpackTraceContext(part.traceContext);
    if (request === undefined) continue;
    const attributes = {
      "bellhop.request_id": part.requestId,
      "bellhop.bucket": part.bucket,
      "bellhop.run.parts": parts.length,
      "bellhop.run.records": records,
    };
    tracer.endWithin(request, { shape: APPLY, startMs: endMs - durationMs, endMs, attributes });
  }
}
