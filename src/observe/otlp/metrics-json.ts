import type { MetricValues } from "../metrics.ts";
import { type Attributes, attributesOf, nanoseconds } from "./json.ts";

type Metric = MetricValues[number];

/** What prom-client has of a histogram beside its values. */
interface Value {
  readonly value: number;
  readonly labels: Readonly<Partial<Record<string, string | number>>>;
  readonly metricName?: string;
}

/** OTLP's AggregationTemporality: values count from the beginning of the process. */
const CUMULATIVE = 2;
/** UCUM's words for the base units that names end in. */
const UNITS: readonly (readonly [suffix: RegExp, unit: string])[] = [
  [/_seconds(_total)?$/, "s"],
  [/_bytes(_total)?$/, "By"],
];

interface Clock {
  readonly startedAt: string;
  readonly now: string;
}

function pointOf({ value, labels }: Value, { startedAt, now }: Clock): string {
  return `{"attributes":${attributesOf(labels as Attributes)},"startTimeUnixNano":"${startedAt}","timeUnixNano":"${now}","asDouble":${value}}`;
}

/** The buckets, the sum and the count of each set of labels are one point; OTLP's buckets hold what fell into them alone. */
function histogramPoints(values: readonly Value[], { startedAt, now }: Clock): string[] {
  const keyOf = ({ labels }: Value) => JSON.stringify({ ...labels, le: undefined });
  return [...Map.groupBy(values, keyOf).values()].map((of) => {
    const sum = of.find(({ metricName }) => metricName?.endsWith("_sum"))?.value ?? 0;
    const count = of.find(({ metricName }) => metricName?.endsWith("_count"))?.value ?? 0;
    const upTo = of.filter(({ labels }) => labels["le"] !== undefined);
    const bounds = upTo.flatMap(({ labels }) => (labels["le"] === "+Inf" ? [] : [Number(labels["le"])]));
    const within = upTo.map(({ value }, at) => value - (upTo[at - 1]?.value ?? 0));
    const labels = attributesOf({ ...of[0]?.labels, le: undefined } as Attributes);
    const counts = within.map((value) => `"${value}"`).join(",");
    return `{"attributes":${labels},"startTimeUnixNano":"${startedAt}","timeUnixNano":"${now}","count":"${count}","sum":${sum},"bucketCounts":[${counts}],"explicitBounds":[${bounds.join(",")}]}`;
  });
}

function dataOf(metric: Metric, clock: Clock): string | undefined {
  const values = (metric.values as readonly Value[]).filter(({ value }) => Number.isFinite(value));
  if (values.length === 0) return undefined;
  // The type has numbers by its declaration, and names in what it is.
  switch (String(metric.type)) {
    case "counter":
      return `"sum":{"aggregationTemporality":${CUMULATIVE},"isMonotonic":true,"dataPoints":[${values.map((value) => pointOf(value, clock)).join(",")}]}`;
    case "gauge":
      return `"gauge":{"dataPoints":[${values.map((value) => pointOf(value, clock)).join(",")}]}`;
    case "histogram":
      return `"histogram":{"aggregationTemporality":${CUMULATIVE},"dataPoints":[${histogramPoints(values, clock).join(",")}]}`;
    default:
      return undefined;
  }
}

/**
 * Metrics as OTLP/JSON has them, each under its Prometheus name, so that one dashboard reads both. `startedAtMs` and `nowMs`
 * are milliseconds since 1970. Those without a value are left out.
 */
export function metricsOf(values: MetricValues, startedAtMs: number, nowMs: number): string[] {
  const clock = { startedAt: nanoseconds(startedAtMs), now: nanoseconds(nowMs) };
  return values.flatMap((metric) => {
    const data = dataOf(metric, clock);
    if (data === undefined) return [];
    const unit = UNITS.find(([suffix]) => suffix.test(metric.name))?.[1] ?? "1";
    return [
      `{"name":${JSON.stringify(metric.name)},"description":${JSON.stringify(metric.help)},"unit":"${unit}",${data}}`,
    ];
  });
}
