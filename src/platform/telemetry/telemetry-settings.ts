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

/** Where traces and metrics go, and which. */
export interface Telemetry {
  /** Without a slash at the end; `/v1/traces` and `/v1/metrics` are put behind it. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: SamplerName;
  readonly samplerRatio: number;
  /** 0: none are sent. */
  readonly metricIntervalMs: number;
}

/** How settings (config-table.ts) are read; `refusal` makes what is thrown for one that cannot be used. */
export interface TelemetryReader {
  text(name: string): string | undefined;
  number(name: string, most?: number): number;
  /** An http or https address without a slash at the end; `example`: for the message of what is none. */
  address(name: string, example: string): string | undefined;
  refusal(reason: string): Error;
}

/** A timer takes no more. */
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

/** W3C Baggage's list of names and values. */
function readPairs(name: string, { text, refusal }: TelemetryReader): Record<string, string> {
  const pairs = (text(name) ?? "").split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, key, value] = /^\s*([^\s=]+)\s*=\s*(\S(?:.*\S)?)\s*$/.exec(pair) ?? [];
      // The value is not repeated: it may be a secret.
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
 * Reads and checks the settings under OpenTelemetry's names ("Environment Variable Specification"), as the SDK itself reports no
 * error for a value that it cannot use. Undefined when no collector is named, whatever else is set.
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
