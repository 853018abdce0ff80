/** What stands beside a span, a resource or a measurement. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

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

/** Who speaks: the resource and the scope that every message begins with. */
export interface Speaker {
  readonly resource: Attributes;
  readonly version: string;
}

/** The body of `/v1/metrics`: an ExportMetricsServiceRequest. */
export function metricsJson({ resource, version }: Speaker, metrics: readonly string[]): string {
  return `{"resourceMetrics":[{"resource":{"attributes":${attributesOf(resource)}},"scopeMetrics":[{"scope":{"name":"bellhop","version":${JSON.stringify(version)}},"metrics":[${metrics.join(",")}]}]}]}`;
}
