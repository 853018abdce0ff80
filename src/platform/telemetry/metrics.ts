import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const WEBHOOK_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200, 28_800, 172_800];
const FLUSH_APPENDS = [1, 2, 4, 8, 16, 32, 64, 128];
const BYTES = [1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864];

/** The values of one thread's metrics, which are sent between threads. */
export type MetricValues = Awaited<ReturnType<Registry["getMetricsAsJSON"]>>;

/** The metrics of a process in the Prometheus text format; adds values with the same name and labels. */
export function renderMetrics(ofThreads: readonly MetricValues[]): Promise<string> {
  return AggregatorRegistry.aggregate([...ofThreads]).metrics();
}

/** As `renderMetrics`, but returns values. */
export function sumMetrics(ofThreads: readonly MetricValues[]): Promise<MetricValues> {
  return AggregatorRegistry.aggregate([...ofThreads]).getMetricsAsJSON();
}

/** Metrics reported once per process. */
export interface ProcessMetrics {
  readonly registry: Registry;
  /** 1 for each role that the process can serve now, else 0. */
  readonly ready: Gauge<"role">;
  readonly unresponsiveThreads: Gauge;
}

/** Includes prom-client's metrics of the process, and of the event loop and heap of the calling thread. */
export function createProcessMetrics(): ProcessMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { gauge } = makersOf(registry);
  return {
    registry,
    ready: gauge("ready", "Whether the node can perform the role.", ["role"]),
    unresponsiveThreads: gauge(
      "unresponsive_threads",
      "Threads that did not report within 2 s; their other metrics are from their last report.",
    ),
  };
}

/** Functions that create metrics of one registry, with a common name prefix. */
function makersOf(registry: Registry) {
  const registers = [registry];
  return {
    counter: <T extends string>(name: string, help: string, labelNames: T[] = []) =>
      new Counter({ name: `bellhop_${name}`, help, labelNames, registers }),
    histogram: <T extends string>(name: string, help: string, buckets: number[], labelNames: T[] = []) =>
      new Histogram({ name: `bellhop_${name}`, help, buckets, labelNames, registers }),
    gauge: <T extends string>(name: string, help: string, labelNames: T[] = []) =>
      new Gauge({ name: `bellhop_${name}`, help, labelNames, registers }),
    /** Reported by each thread for the whole process, so the maximum is used instead of the sum. */
    sharedGauge: <T extends string>(name: string, help: string, labelNames: T[] = []) =>
      new Gauge({ name: `bellhop_${name}`, help, labelNames, registers, aggregator: "max" }),
  };
}

type Makers = ReturnType<typeof makersOf>;

function requestMetrics({ counter, histogram }: Makers) {
  return {
    requests: counter("http_requests_total", "Requests answered.", ["method", "route", "status"]),
    requestSeconds: histogram("http_request_seconds", "Time from headers to response.", REQUEST_SECONDS, [
      "route",
    ]),
    slowRequests: counter(
      "slow_requests_total",
      "Requests that took longer than SLOW_REQUEST_MS, by what they waited for most.",
      ["route", "waited"],
    ),
    errors: counter("errors_total", "Error responses, by code.", ["code"]),
  };
}

function acceptMetrics({ counter, histogram, sharedGauge }: Makers) {
  return {
    acceptedBatches: counter("accepted_batches_total", "Batches answered 202 and durable.", ["resource"]),
    acceptedRecords: counter("accepted_records_total", "Records of those batches.", ["resource"]),
    rejectedRecords: counter("rejected_records_total", "Records rejected in lenient batches.", ["resource"]),
    violations: counter("violations_total", "Violations found, by code.", ["code"]),
    bodyBytes: histogram("body_bytes", "Decompressed bytes of batches.", BYTES, ["resource"]),
    bodyBytesInFlight: sharedGauge("body_bytes_in_flight", "Bytes of bodies in progress."),
    repeatedKeys: counter("idempotent_repeats_total", "Batches answered again by their Idempotency-Key."),
    flushAppends: histogram("flush_appends", "Batches sharing one commit.", FLUSH_APPENDS),
    flushBytes: histogram("flush_bytes", "Stored bytes of one commit.", BYTES),
    flushSeconds: histogram("flush_seconds", "Time of one durable commit.", REQUEST_SECONDS),
    logWriterFailures: counter("log_writer_failures_total", "Accept connections lost or flushes failed."),
  };
}

function applyMetrics({ counter, histogram, gauge }: Makers) {
  return {
    appliedRecords: counter("applied_records_total", "Records applied, by outcome.", ["outcome"]),
    applySeconds: histogram("apply_seconds", "Time of one apply transaction.", REQUEST_SECONDS),
    applyLagSeconds: gauge(
      "apply_lag_seconds",
      "Age of the oldest batch of the last apply transaction when it committed.",
    ),
    applyFailures: counter("apply_failures_total", "Apply transactions that failed and are retried."),
    bucketsOwned: gauge("buckets_owned", "Buckets that this node applies."),
    silentSessionsEnded: counter(
      "silent_sessions_ended_total",
      "Sessions of other nodes ended because they were unresponsive and held locks or leases.",
    ),
    subscriptionMessages: counter(
      "subscription_messages_total",
      "Attempts to deliver a report or alert, by result: sent, kept, retried, failed, dropped.",
      ["result"],
    ),
    webhookTries: counter("webhook_tries_total", "Webhook delivery attempts, by result.", ["result"]),
    webhookSeconds: histogram(
      "webhook_delivery_seconds",
      "Time from queueing a webhook to its delivery.",
      WEBHOOK_SECONDS,
    ),
  };
}

function retentionMetrics({ counter, sharedGauge }: Makers) {
  return {
    retentionRuns: counter("retention_runs_total", "Retention runs, by result.", ["state"]),
    retentionWindows: counter(
      "retention_windows_total",
      "Windows from which retention deleted expired data, or that it dropped.",
      ["table"],
    ),
    retentionRunTimestamp: sharedGauge(
      "retention_run_timestamp_seconds",
      "Unix time of this process's last complete retention run; 0 if there was none.",
    ),
  };
}

function nodeMetrics({ counter, gauge, sharedGauge }: Makers) {
  return {
    nodesPresent: sharedGauge("nodes_present", "Nodes that serve a kind of request, including this one.", [
      "role",
    ]),
    poolConnections: gauge("pool_connections", "Connections of the shared pools.", ["state"]),
    slowStatements: counter("slow_statements_total", "Statements that took longer than SLOW_QUERY_MS.", [
      "statement",
    ]),
    telemetryLost: counter(
      "telemetry_lost_total",
      "Spans and metric exports that the collector did not accept.",
      ["signal"],
    ),
    threadBusySeconds: counter("thread_busy_seconds_total", "Time that a thread's loop was not idle.", [
      "thread",
    ]),
    threadHeapBytes: gauge("thread_heap_bytes", "JavaScript heap in use by a thread.", ["thread"]),
  };
}

/** The metrics of a thread. Label values are bounded: never a client code, a key or an address. */
export type Metrics = ReturnType<typeof createMetrics>;

/** Creates the metrics of one thread in a registry of its own, so that services in one test process do not share counters. */
export function createMetrics() {
  const registry = new Registry();
  const makers = makersOf(registry);
  return {
    registry,
    ...requestMetrics(makers),
    ...acceptMetrics(makers),
    ...applyMetrics(makers),
    ...retentionMetrics(makers),
    ...nodeMetrics(makers),
  };
}

/** The values of a thread's metrics, including its own event loop time. */
export function readMetrics(metrics: Metrics, thread: string): Promise<MetricValues> {
  const { active } = performance.eventLoopUtilization();
  const busy = busyMs.get(metrics) ?? 0;
  metrics.threadBusySeconds.inc({ thread }, Math.max(0, active - busy) / 1000);
  busyMs.set(metrics, active);
  metrics.threadHeapBytes.set({ thread }, process.memoryUsage().heapUsed);
  return metrics.registry.getMetricsAsJSON();
}

/** The part of the event loop's active time already counted. */
const busyMs = new WeakMap<Metrics, number>();
