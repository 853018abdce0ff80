import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "../metrics.ts";
import { metricsJson } from "./json.ts";
import { metricsOf } from "./metrics-json.ts";

interface Sent {
  readonly name: string;
  readonly unit: string;
  readonly sum?: {
    readonly isMonotonic: boolean;
    readonly dataPoints: readonly { readonly asDouble: number }[];
  };
  readonly gauge?: { readonly dataPoints: readonly unknown[] };
  readonly histogram?: { readonly dataPoints: readonly Record<string, unknown>[] };
}

async function sent(): Promise<(name: string) => Sent> {
  const metrics = createMetrics();
  metrics.requests.inc({ method: "GET", route: '/a"b', status: 200 }, 3);
  metrics.requestSeconds.observe({ route: "/a" }, 0.003);
  metrics.requestSeconds.observe({ route: "/a" }, 100);
  metrics.requestSeconds.observe({ route: "/b" }, 0.5);
  metrics.applyLagSeconds.set(2.5);
  const values = await metrics.registry.getMetricsAsJSON();
  const body = metricsJson({ resource: {}, version: "1" }, metricsOf(values, 1_000, 2_000));
  const [{ scopeMetrics: [{ metrics: list } = { metrics: [] }] = [] } = {}] = (
    JSON.parse(body) as { resourceMetrics: { scopeMetrics: { metrics: Sent[] }[] }[] }
  ).resourceMetrics;
  return (name) => list.find((metric) => metric.name === name) ?? assert.fail(name);
}

test("counters are sums that only rise, gauges are gauges, units are those that names end in", async () => {
  const of = await sent();
  const requests = of("bellhop_http_requests_total");
  assert.deepEqual([requests.sum?.isMonotonic, requests.sum?.dataPoints[0]?.asDouble], [true, 3]);
  const lag = of("bellhop_apply_lag_seconds");
  assert.deepEqual([lag.unit, lag.gauge?.dataPoints.length], ["s", 1]);
  assert.equal(of("bellhop_flush_bytes").unit, "By");
});

test("a histogram's buckets hold what fell into them alone, one point for each set of labels", async () => {
  const points = (await sent())("bellhop_http_request_seconds").histogram?.dataPoints ?? [];
  assert.equal(points.length, 2);
  const [first] = points;
  const bounds = first?.["explicitBounds"] as number[];
  const counts = first?.["bucketCounts"] as string[];
  assert.equal(counts.length, bounds.length + 1);
  assert.deepEqual([counts[bounds.indexOf(0.005)], counts.at(-1), first?.["count"]], ["1", "1", "2"]);
  assert.equal(first?.["startTimeUnixNano"], "1000000000");
  assert.deepEqual(first?.["attributes"], [{ key: "route", value: { stringValue: "/a" } }]);
});
