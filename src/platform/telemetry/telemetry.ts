import { type SpanContext, TraceFlags } from "@opentelemetry/api";
import type { MetricValues } from "./metrics.ts";
import type { Reporter, Tracer } from "./opentelemetry.ts";
import type { Telemetry } from "./telemetry-settings.ts";

/** Starts tracing on this thread; undefined, loading nothing, without a collector. The caller stops it. */
export async function startTracer(
  telemetry: Telemetry | undefined,
  reporter: Reporter,
): Promise<Tracer | undefined> {
  if (telemetry === undefined || telemetry.sampler === "always_off") return undefined;
  const { Tracer } = await import("./opentelemetry.ts");
  return new Tracer(telemetry, reporter);
}

/** Starts sending the metrics of the process; undefined without a collector, or if sending is disabled. */
export async function startMetricSending(
  telemetry: Telemetry | undefined,
  reporter: Reporter,
  read: () => Promise<MetricValues>,
): Promise<{ stop(): Promise<void> } | undefined> {
  if (telemetry === undefined || telemetry.metricIntervalMs === 0) return undefined;
  const { sendMetrics } = await import("./opentelemetry.ts");
  return sendMetrics(telemetry, reporter, read);
}

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
const SAMPLED_DIGITS = "01";
const PACKED_DIGITS = TRACE_ID_DIGITS + SPAN_ID_DIGITS + SAMPLED_DIGITS.length;

/** The `traceparent` header for calls within this sampled span (W3C Trace Context). */
export function traceparentOf({ traceId, spanId }: SpanContext): string {
  return `00-${traceId}-${spanId}-${SAMPLED_DIGITS}`;
}

/** Encodes a sampled span for storage in the log: trace id, span id and flags in hexadecimal, 25 bytes. */
export function packTraceContext({ traceId, spanId }: SpanContext): string {
  return `${traceId}${spanId}${SAMPLED_DIGITS}`;
}

/** Decodes the span in which a log part was accepted; undefined if absent or malformed. */
export function unpackTraceContext(packed: string | null | undefined): SpanContext | undefined {
  if (packed?.length !== PACKED_DIGITS) return undefined;
  return {
    traceId: packed.slice(0, TRACE_ID_DIGITS),
    spanId: packed.slice(TRACE_ID_DIGITS, TRACE_ID_DIGITS + SPAN_ID_DIGITS),
    traceFlags: TraceFlags.SAMPLED,
  };
}
