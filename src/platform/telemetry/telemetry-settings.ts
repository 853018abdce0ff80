/** The values of OTEL_TRACES_SAMPLER (OpenTelemetry, "General SDK Configuration"). */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

/** Destination and selection of traces and metrics. */
export interface Telemetry {
  /** Without a trailing slash; `/v1/traces` and `/v1/metrics` are appended. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  readonly samplerRatio: number;
  /** 0: metrics are not sent. */
  readonly metricIntervalMs: number;
}

/** Reads settings (config-table.ts); `refusal` creates the error for an invalid one. */
export interface TelemetryReader {
  text(name: string): string | undefined;
  number(name: string, most?: number): number;
  /** An http or https address without a trailing slash; `example` is for the error message. */
  address(name: string, example: string): string | undefined;
  refusal(reason: string): Error;
}

/** The limit of Node's timers. */
const INTERVAL_MS_MAX = 2 ** 31 - 1;
const INTERVAL_MS_LEAST = 100;

function decode(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value);
    return /\p{Cc}/u.test(decoded) ? undefined : decoded;
  } catch {
    return undefined;
  }
}

/** Reads a W3C Baggage list of names and values. */
function readPairs(name: string, { text, refusal }: TelemetryReader): Record<string, string> {
  const pairs = (text(name) ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^\s*([^\s=]+)\s*=\s*(\S(?:.*\S)?)\s*$/.exec(pair) ?? [];
      // Omits the value, which may be a secret.
      if (key === undefined || value === undefined || !/^[\x20-\x7e]*$/.test(pair))
        throw refusal(`${name} must be name=value,name=value.`);
      const decoded = decode(value);
      if (decoded === undefined)
        throw refusal(`${name} has a value that is not percent-encoded text in one line.`);
      return [key, decoded];
    }),
  );
}

/**
 * Reads and validates OpenTelemetry's environment variables ("Environment Variable Specification"), for which the SDK reports no errors.
 * Undefined without a collector.
 */
export function readTelemetry(reader: TelemetryReader): Telemetry | undefined {
  const { text, number, address, refusal } = reader;
  const endpoint = address("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
  if (endpoint === undefined) return undefined;
  const sampler = SAMPLERS.find((name) => name === text("OTEL_TRACES_SAMPLER"));
  if (sampler === undefined) throw refusal(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(", ")}.`);
  const ratio = text("OTEL_TRACES_SAMPLER_ARG") ?? "";
  if (!/^\d+(\.\d+)?$/.test(ratio) || Number(ratio) > 1)
    throw refusal("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.");
  const metricIntervalMs = number("OTEL_METRIC_EXPORT_INTERVAL", INTERVAL_MS_MAX);
  if (metricIntervalMs !== 0 && metricIntervalMs < INTERVAL_MS_LEAST)
    throw refusal(`OTEL_METRIC_EXPORT_INTERVAL must be 0 or at least ${INTERVAL_MS_LEAST}.`);
  return {
    endpoint,
    headers: readPairs("OTEL_EXPORTER_OTLP_HEADERS", reader),
    serviceName: text("OTEL_SERVICE_NAME") ?? "bellhop",
    resource: readPairs("OTEL_RESOURCE_ATTRIBUTES", reader),
    sampler,
    samplerRatio: Number(ratio),
    metricIntervalMs,
  };
}
