import type { TraceContext } from "./trace-context.ts";

/** What stands beside a span, a resource or a measurement. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** OTLP's SpanKind (opentelemetry/proto/trace/v1/trace.proto). */
export const SPAN_KIND = { internal: 1, server: 2, client: 3, consumer: 5 } as const;

/** A span that is over. Times are milliseconds of this thread's `performance.now`. */
export interface Span {
  readonly context: TraceContext;
  /** Of the span that it is part of; undefined for the first of a trace. */
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: keyof typeof SPAN_KIND;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  /** Why it failed, in a word; undefined when it did not. */
  readonly failure?: string | undefined;
}

const ERROR_STATUS = 2;
const MICROSECONDS_A_MILLISECOND = 1_000;

/** A time as OTLP/JSON has it: nanoseconds since 1970 as decimal text, of which we know the microseconds. */
export function nanoseconds(sinceEpochMs: number): string {
  return `${Math.round(sinceEpochMs * MICROSECONDS_A_MILLISECOND)}000`;
}

function anyValueOf(value: string | number | boolean): string {
  if (typeof value === "string") return `{"stringValue":${JSON.stringify(value)}}`;
  if (typeof value === "boolean") return `{"boolValue":${value}}`;
  if (Number.isSafeInteger(value)) return `{"intValue":"${value}"}`;
  return `{"doubleValue":${Number.isFinite(value) ? value : 0}}`;
}

/** Attributes as OTLP/JSON has them; those that are undefined are left out. */
export function attributesOf(attributes: Attributes): string {
  let list = "";
  for (const key in attributes) {
    const value = attributes[key];
    if (value === undefined) continue;
    list += `${list === "" ? "" : ","}{"key":${JSON.stringify(key)},"value":${anyValueOf(value)}}`;
  }
  return `[${list}]`;
}

/** A span as OTLP/JSON has it. `epochMs`: when the thread's clock was 0. Written by hand, as it is made for each request. */
export function spanJson(span: Span, epochMs: number): string {
  const { context, parentSpanId, name, kind, startMs, endMs, failure } = span;
  const parent = parentSpanId === undefined ? "" : `"parentSpanId":"${parentSpanId}",`;
  const status =
    failure === undefined ? "" : `,"status":{"code":${ERROR_STATUS},"message":${JSON.stringify(failure)}}`;
  return `{"traceId":"${context.traceId}","spanId":"${context.spanId}",${parent}"flags":1,"name":${JSON.stringify(name)},"kind":${SPAN_KIND[kind]},"startTimeUnixNano":"${nanoseconds(epochMs + startMs)}","endTimeUnixNano":"${nanoseconds(epochMs + endMs)}","attributes":${attributesOf(span.attributes)}${status}}`;
}

/** Who speaks: the resource and the scope that every message begins with. */
export interface Speaker {
  readonly resource: Attributes;
  readonly version: string;
}

function speakerJson({ resource, version }: Speaker, list: string, items: string): string {
  return `{"resource":{"attributes":${attributesOf(resource)}},"${list}":[{"scope":{"name":"bellhop","version":${JSON.stringify(version)}},${items}}]}`;
}

/** The body of `/v1/traces`: an ExportTraceServiceRequest of spans that are JSON already. */
export function tracesJson(speaker: Speaker, spans: readonly string[]): string {
  return `{"resourceSpans":[${speakerJson(speaker, "scopeSpans", `"spans":[${spans.join(",")}]`)}]}`;
}

/** The body of `/v1/metrics`: an ExportMetricsServiceRequest. */
export function metricsJson(speaker: Speaker, metrics: readonly string[]): string {
  return `{"resourceMetrics":[${speakerJson(speaker, "scopeMetrics", `"metrics":[${metrics.join(",")}]`)}]}`;
}
