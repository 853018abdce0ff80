/** Traces and metrics with OpenTelemetry's SDK. Loaded by telemetry.ts only if a collector is configured. */
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Attributes,
  ROOT_CONTEXT,
  type Tracer as SdkTracer,
  type Span,
  type SpanContext,
  type SpanOptions,
  trace,
  ValueType,
} from "@opentelemetry/api";
import { type ExportResult, ExportResultCode, millisToHrTime, parseTraceParent } from "@opentelemetry/core";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import manifest from "../../../package.json" with { type: "json" };
import type { Logger } from "./log.ts";
import type { Metrics, MetricValues } from "./metrics.ts";
import type { Telemetry } from "./telemetry-settings.ts";

/** Ended spans of a thread that wait for a slow collector; further spans are dropped and counted. */
const WAITING_SPANS_MAX = 4_096;
const SPANS_A_MESSAGE = 512;
const SEND_MS = 1_000;
/** How long a stopping process waits for the collector. */
const STOP_MS = 1_000;
/** Minimum interval between log lines about an unreachable collector. */
const LOGGED_EVERY_MS = 60_000;

/** Logs and counts failures of telemetry. */
export interface Reporter {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Attributes of all spans and metrics of a process (OpenTelemetry, "Resource semantic conventions"). */
function resourceOf({ serviceName, resource }: Telemetry): Resource {
  return resourceFromAttributes({
    "service.name": serviceName,
    "service.version": manifest.version,
    "service.instance.id": `${hostname()}/${process.pid}`,
    "host.name": hostname(),
    "process.pid": process.pid,
    ...resource,
  });
}

/** Records every part of a sampled trace, on all nodes. A sampler that is not parent-based also decides on traces of callers. */
function samplerOf({ sampler, samplerRatio }: Telemetry): Sampler {
  let root: Sampler = new TraceIdRatioBasedSampler(samplerRatio);
  if (sampler.endsWith("always_on")) root = new AlwaysOnSampler();
  if (sampler.endsWith("always_off")) root = new AlwaysOffSampler();
  if (sampler.startsWith("parentbased_")) return new ParentBasedSampler({ root });
  return new ParentBasedSampler({ root, remoteParentSampled: root, remoteParentNotSampled: root });
}

interface Exporter<Batch> {
  export(batch: Batch, done: (result: ExportResult) => void): void;
}

/** Calls `failed` for exports that the SDK drops silently. */
function watchExports<Batch>(
  exporter: Exporter<Batch>,
  failed: (error: unknown, batch: Batch) => void,
  begun: (batch: Batch) => void = () => undefined,
): void {
  const send = exporter.export.bind(exporter);
  exporter.export = (batch, done) => {
    begun(batch);
    send(batch, (result) => {
      if (result.code !== ExportResultCode.SUCCESS) failed(result.error, batch);
      done(result);
    });
  };
}

function logFailures({ log }: Reporter, what: string): (error: unknown) => void {
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - loggedAtMs < LOGGED_EVERY_MS) return;
    loggedAtMs = performance.now();
    log.warn({ err: error }, `the collector did not receive ${what}`);
  };
}

/** Waits for pending exports, at most STOP_MS. */
async function waitToStop(stopping: Promise<void>): Promise<void> {
  const late = new AbortController();
  const inTime = stopping.finally(() => late.abort());
  await Promise.race([inTime, delay(STOP_MS, undefined, { signal: late.signal })]).catch(() => undefined);
}

/** Sends ended spans in batches. Unlike the SDK's queue, counts the spans that it drops. */
class SpanQueue implements SpanProcessor {
  readonly #lost: (spans: number) => void;
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;

  constructor(telemetry: Telemetry, reporter: Reporter) {
    this.#lost = (spans) => reporter.metrics.telemetryLost.inc({ signal: "spans" }, spans);
    const log = logFailures(reporter, "traces");
    const exporter = new OTLPTraceExporter({
      url: `${telemetry.endpoint}/v1/traces`,
      headers: { ...telemetry.headers },
    });
    watchExports<ReadableSpan[]>(
      exporter,
      (error, spans) => {
        this.#lost(spans.length);
        log(error);
      },
      (spans) => {
        this.#waiting -= spans.length;
      },
    );
    this.#batches = new BatchSpanProcessor({
      exporter,
      maxQueueSize: WAITING_SPANS_MAX,
      maxExportBatchSize: SPANS_A_MESSAGE,
      scheduledDelayMillis: SEND_MS,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#waiting === WAITING_SPANS_MAX) {
      this.#lost(1);
      return;
    }
    this.#waiting += 1;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }
}

/** Begins the spans of one thread. Times are milliseconds since 1970; by default the SDK's clock is used. */
export class Tracer {
  readonly #provider: TracerProvider;
  readonly #tracer: SdkTracer;

  constructor(telemetry: Telemetry, reporter: Reporter) {
    this.#provider = new TracerProvider({
      resource: resourceOf(telemetry),
      sampler: samplerOf(telemetry),
      spanProcessors: [new SpanQueue(telemetry, reporter)],
    });
    this.#tracer = this.#provider.getTracer("bellhop", manifest.version);
  }

  /** Begins a trace, or continues that of a `traceparent`; undefined if not sampled. */
  begin(name: string, options: SpanOptions, traceparent?: string): Span | undefined {
    const caller = traceparent === undefined ? null : parseTraceParent(traceparent);
    const context =
      caller === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, { ...caller, isRemote: true });
    const span = this.#tracer.startSpan(name, options, context);
    return span.isRecording() ? span : undefined;
  }

  /** Begins a child of a sampled span of this installation. */
  beginWithin(parent: SpanContext, name: string, options: SpanOptions): Span {
    return this.#tracer.startSpan(name, options, trace.setSpanContext(ROOT_CONTEXT, parent));
  }

  /** Sends pending spans, for at most STOP_MS. */
  async stop(): Promise<void> {
    await waitToStop(this.#provider.shutdown());
  }
}

/** Sends the metrics of a process at an interval and when stopped. */
export function sendMetrics(
  telemetry: Telemetry,
  reporter: Reporter,
  read: () => Promise<MetricValues>,
): { stop(): Promise<void> } {
  const log = logFailures(reporter, "metrics");
  const failed = (error: unknown) => {
    reporter.metrics.telemetryLost.inc({ signal: "metrics" });
    log(error);
  };
  const exporter = new OTLPMetricExporter({
    url: `${telemetry.endpoint}/v1/metrics`,
    headers: { ...telemetry.headers },
  });
  watchExports(exporter, failed);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: telemetry.metricIntervalMs,
  });
  const resource = resourceOf(telemetry);
  const scope = { name: "bellhop", version: manifest.version };
  reader.setMetricProducer({
    async collect() {
      try {
        const metrics = metricDataOf(await read(), performance.timeOrigin, Date.now());
        return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
      } catch (error) {
        failed(error);
        throw error;
      }
    },
  });
  return { stop: () => waitToStop(reader.shutdown()) };
}

/** A value of prom-client. */
interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

/** UCUM units by the suffix of a metric's name. */
const UNITS: readonly (readonly [suffix: RegExp, unit: string])[] = [
  [/_seconds(_total)?$/, "s"],
  [/_bytes(_total)?$/, "By"],
];

/** Converts Prometheus histograms, whose buckets are cumulative, to OTLP histograms, whose buckets are not. */
function histogramsOf(values: readonly Value[]) {
  const labelsOf = ({ labels: { le: _, ...labels } }: Value) => labels;
  const groups = Map.groupBy(values, (value) => JSON.stringify(labelsOf(value)));
  return [...groups.values()].map((group) => {
    const ending = (suffix: string) =>
      group.find(({ metricName }) => metricName?.endsWith(suffix))?.value ?? 0;
    const buckets = group.filter(({ labels }) => labels["le"] !== undefined);
    return {
      labels: labelsOf(group[0] as Value),
      value: {
        count: ending("_count"),
        sum: ending("_sum"),
        buckets: {
          boundaries: buckets.map(({ labels }) => Number(labels["le"])).filter(Number.isFinite),
          counts: buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0)),
        },
      },
    };
  });
}

/**
 * Converts metrics to the SDK's form under their Prometheus names, so that one dashboard reads both. Times are milliseconds since 1970.
 * Omits metrics without values.
 */
export function metricDataOf(values: MetricValues, startedAtMs: number, nowMs: number): MetricData[] {
  const times = { startTime: millisToHrTime(startedAtMs), endTime: millisToHrTime(nowMs) };
  const pointsOf = <Point>(points: readonly { readonly labels: object; readonly value: Point }[]) =>
    points.map(({ labels, value }) => ({ ...times, attributes: labels as Attributes, value }));
  return values.flatMap((metric): MetricData[] => {
    const finite = (metric.values as readonly Value[]).filter(({ value }) => Number.isFinite(value));
    if (finite.length === 0) return [];
    const { name, help: description } = metric;
    const unit = UNITS.find(([suffix]) => suffix.test(name))?.[1] ?? "1";
    const data = {
      descriptor: { name, description, unit, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    // Declared as a number, but a name at run time.
    switch (String(metric.type)) {
      case "counter":
        return [
          { ...data, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: pointsOf(finite) },
        ];
      case "gauge":
        return [{ ...data, dataPointType: DataPointType.GAUGE, dataPoints: pointsOf(finite) }];
      case "histogram":
        return [
          { ...data, dataPointType: DataPointType.HISTOGRAM, dataPoints: pointsOf(histogramsOf(finite)) },
        ];
      default:
        return [];
    }
  });
}
