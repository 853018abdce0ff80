import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import type { Logger } from "../observe/log.ts";
import type { Metrics, MetricValues } from "../observe/metrics.ts";
import type { Speaker } from "../observe/otlp/json.ts";
import type { MetricExporter } from "../observe/otlp/metric-exporter.ts";
import type { Telemetry } from "../observe/otlp/settings.ts";
import type { Tracer } from "../observe/otlp/tracer.ts";

/** A collector that is away is told of so often at most. */
const TOLD_EVERY_MS = 60_000;

interface Teller {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** What stands beside everything that a process sends (OpenTelemetry, "Resource semantic conventions"). */
function speakerOf({ serviceName, resource }: Telemetry): Speaker {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  return {
    version,
    resource: {
      "service.name": serviceName,
      "service.version": version,
      "service.instance.id": `${hostname()}/${process.pid}`,
      "host.name": hostname(),
      "process.pid": process.pid,
      ...resource,
    },
  };
}

function tellFailures(log: Logger, what: string): (error: unknown) => void {
  let toldAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = performance.now();
    log.warn({ err: error }, `${what} did not reach the collector`);
  };
}

/** Starts to trace on this thread; undefined, and nothing is loaded, where no collector is named. Its owner stops it. */
export async function startTracer(
  telemetry: Telemetry | undefined,
  { log, metrics }: Teller,
): Promise<Tracer | undefined> {
  if (telemetry === undefined || telemetry.sampler === "always_off") return undefined;
  const { Tracer } = await import("../observe/otlp/tracer.ts");
  return new Tracer({
    url: new URL(`${telemetry.endpoint}/v1/traces`),
    headers: telemetry.headers,
    sampler: telemetry.sampler,
    ratio: telemetry.samplerRatio,
    speaker: speakerOf(telemetry),
    events: {
      lost: (spans) => metrics.telemetryLost.inc({ signal: "spans" }, spans),
      failed: tellFailures(log, "traces"),
    },
  });
}

/** Starts to send the metrics of the whole process; undefined where no collector is named or none are to be sent. */
export async function startMetricExporter(
  telemetry: Telemetry | undefined,
  { log, metrics }: Teller,
  read: () => Promise<MetricValues>,
): Promise<MetricExporter | undefined> {
  if (telemetry === undefined || telemetry.metricIntervalMs === 0) return undefined;
  const { MetricExporter } = await import("../observe/otlp/metric-exporter.ts");
  const tell = tellFailures(log, "metrics");
  return new MetricExporter({
    url: new URL(`${telemetry.endpoint}/v1/metrics`),
    headers: telemetry.headers,
    intervalMs: telemetry.metricIntervalMs,
    speaker: speakerOf(telemetry),
    read,
    failed(error) {
      metrics.telemetryLost.inc({ signal: "metrics" });
      tell(error);
    },
  });
}
