import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

type AttributeValue = string | number | boolean;

/** A span as it arrived, its attributes as plain values. Times are nanoseconds since 1970. */
export interface CollectedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly failure: string | undefined;
}

/** A metric as it arrived: of each of its sets of labels the value, or of a histogram its buckets' counts. */
export interface CollectedMetric {
  readonly service: string;
  readonly name: string;
  readonly unit: string;
  readonly kind: "sum" | "gauge" | "histogram";
  readonly points: readonly {
    readonly labels: Readonly<Record<string, AttributeValue>>;
    readonly value: number;
  }[];
}

interface Json {
  readonly [name: string]: unknown;
}

const list = (value: unknown): readonly Json[] => {
  assert.ok(Array.isArray(value), `not a list: ${JSON.stringify(value)}`);
  return value as Json[];
};
const matching = (value: unknown, shape: RegExp): string => {
  assert.ok(typeof value === "string" && shape.test(value), `${JSON.stringify(value)} is not ${shape}`);
  return value;
};
const NANOSECONDS = /^1[5-9]\d{17}$/;

/** Of OTLP's AnyValue exactly one field is set; an int64 is a number or text (protobuf's JSON mapping). */
function plainValueOf(value: Json): AttributeValue {
  assert.equal(Object.keys(value).length, 1, JSON.stringify(value));
  if ("intValue" in value) return Number(matching(String(value["intValue"]), /^-?\d+$/));
  const { stringValue, boolValue, doubleValue } = value as Readonly<Record<string, AttributeValue>>;
  return stringValue ?? boolValue ?? doubleValue ?? assert.fail(JSON.stringify(value));
}

function attributesOf(attributes: unknown): Record<string, AttributeValue> {
  return Object.fromEntries(
    list(attributes).map(({ key, value }) => [String(key), plainValueOf(value as Json)]),
  );
}

function spanOf(service: string, span: Json): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, kind, startTimeUnixNano, endTimeUnixNano, status } = span;
  assert.ok(Number.isInteger(kind) && Number(kind) >= 1 && Number(kind) <= 5);
  const collected = {
    service,
    traceId: matching(traceId, /^[0-9a-f]{32}$/),
    spanId: matching(spanId, /^[0-9a-f]{16}$/),
    parentSpanId: parentSpanId === undefined ? undefined : matching(parentSpanId, /^[0-9a-f]{16}$/),
    name: matching(name, /./),
    kind: Number(kind),
    start: BigInt(matching(startTimeUnixNano, NANOSECONDS)),
    end: BigInt(matching(endTimeUnixNano, NANOSECONDS)),
    attributes: attributesOf(span["attributes"]),
    failure: (status as { message?: string } | undefined)?.message,
  };
  assert.ok(collected.end >= collected.start, `${collected.name} ends before it begins`);
  return collected;
}

function metricOf(service: string, metric: Json): CollectedMetric {
  const kind = (["sum", "gauge", "histogram"] as const).find((name) => name in metric);
  assert.ok(kind !== undefined, JSON.stringify(metric));
  const data = metric[kind] as Json;
  if (kind !== "gauge") assert.equal(data["aggregationTemporality"], 2);
  const points = list(data["dataPoints"]).map((point) => {
    matching(point["timeUnixNano"], NANOSECONDS);
    const labels = attributesOf(point["attributes"]);
    if (kind !== "histogram") return { labels, value: Number(point["asDouble"]) };
    const counts = (point["bucketCounts"] as unknown[]).map((count) =>
      Number(matching(String(count), /^\d+$/)),
    );
    // One bucket more than bounds, for what is beyond the last; together they are the count.
    assert.equal(counts.length, (point["explicitBounds"] as number[]).length + 1);
    const value = counts.reduce((sum, count) => sum + count, 0);
    assert.equal(value, Number(matching(String(point["count"]), /^\d+$/)));
    return { labels, value };
  });
  return { service, kind, points, name: String(metric["name"]), unit: String(metric["unit"]) };
}

/** An OpenTelemetry collector as far as OTLP/HTTP in JSON goes: it takes what is of the protocol's shape, and fails at all else. */
export interface OtlpCollector {
  readonly endpoint: string;
  readonly spans: readonly CollectedSpan[];
  /** As they came last, by service and name. */
  readonly metrics: ReadonlyMap<string, CollectedMetric>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** What was not of the protocol. */
  readonly faults: readonly unknown[];
  /** How the next ones are answered; by default 200. */
  status: number;
  stop(): Promise<void>;
}

async function bodyOf(request: IncomingMessage): Promise<Json> {
  assert.equal(request.method, "POST");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  assert.equal(request.headers["content-type"], "application/json");
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Json;
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const metrics = new Map<string, CollectedMetric>();
  const headers: IncomingHttpHeaders[] = [];
  const faults: unknown[] = [];
  const take = (path: string | undefined, body: Json) => {
    const isTraces = path === "/v1/traces";
    assert.ok(isTraces || path === "/v1/metrics", path);
    for (const batch of list(body[isTraces ? "resourceSpans" : "resourceMetrics"])) {
      const resource = attributesOf((batch["resource"] as Json)["attributes"]);
      const service = String(resource["service.name"]);
      for (const scope of list(batch[isTraces ? "scopeSpans" : "scopeMetrics"])) {
        assert.equal((scope["scope"] as Json)["name"], "bellhop");
        if (isTraces) for (const span of list(scope["spans"])) spans.push(spanOf(service, span));
        else
          for (const metric of list(scope["metrics"]).map((one) => metricOf(service, one)))
            metrics.set(`${service} ${metric.name}`, metric);
      }
    }
  };
  const server = createServer(async (request, response) => {
    headers.push(request.headers);
    try {
      const body = await bodyOf(request);
      if (collector.status === 200) take(request.url, body);
    } catch (error) {
      faults.push(error);
    }
    response.writeHead(collector.status, { "content-type": "application/json" }).end("{}");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const collector: OtlpCollector = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    metrics,
    headers,
    faults,
    status: 200,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return collector;
}
