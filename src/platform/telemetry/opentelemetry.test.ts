import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { type OtlpCollector, startOtlpCollector } from "../../../test/support/otlp-collector.ts";
import { until } from "../../../test/support/until.ts";
import { readConfig } from "../../config.ts";
import { createLogger } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { metricDataOf, Tracer } from "./opentelemetry.ts";
import { SAMPLERS, type Telemetry } from "./telemetry-settings.ts";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "b7ad6b7169203331";
/** Nobody listens on the discard port. */
const NOWHERE = "http://127.0.0.1:9";
const WAIT_MS_MAX = 60_000;

const log = createLogger({ level: "silent", pretty: false });
const metrics = createMetrics();
const tracers: Tracer[] = [];
after(() => Promise.all(tracers.map((tracer) => tracer.stop())));

function tracerTo(endpoint: string, settings: Readonly<Record<string, string>> = {}): Tracer {
  const { telemetry } = readConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_SAMPLER: "parentbased_always_on",
    ...settings,
  });
  const tracer = new Tracer(telemetry as Telemetry, { log, metrics });
  tracers.push(tracer);
  return tracer;
}

/** Whether each sampler, in their order, records a request of this caller. */
function decisions(traceparent: string | undefined, ratio: string): boolean[] {
  return SAMPLERS.map((sampler) => {
    const tracer = tracerTo(NOWHERE, { OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: ratio });
    return tracer.begin("request", {}, traceparent) !== undefined;
  });
}

test("samplers that are based on the caller do as it did, the others do not ask", () => {
  assert.deepEqual(decisions(`00-${TRACE_ID}-${SPAN_ID}-01`, "0"), [true, false, false, true, true, true]);
  assert.deepEqual(decisions(`00-${TRACE_ID}-${SPAN_ID}-00`, "0"), [true, false, false, false, false, false]);
});

test("without a caller, parent-based samplers use their root sampler", () => {
  assert.deepEqual(decisions(undefined, "1"), [true, false, true, true, false, true]);
});

test("a ratio samples about that share of traces, and the same ones everywhere", () => {
  const ids = Array.from({ length: 4_000 }, () => randomBytes(16).toString("hex"));
  const of = (ratio: string) =>
    tracerTo(NOWHERE, { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: ratio });
  const [quarter, half] = [of("0.25"), of("0.5")];
  const chosen = ids.filter((id) => quarter.begin("request", {}, `00-${id}-${SPAN_ID}-01`) !== undefined);
  assert.ok(chosen.length > 800 && chosen.length < 1_200, `${chosen.length} of 4,000`);
  assert.ok(chosen.every((id) => half.begin("request", {}, `00-${id}-${SPAN_ID}-01`) !== undefined));
});

test("a part of a sampled trace is recorded where nothing else would be", () => {
  const tracer = tracerTo(NOWHERE, { OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" });
  const part = tracer.beginWithin({ traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 }, "apply", {});
  assert.equal(part.isRecording(), true);
  assert.equal(part.spanContext().traceId, TRACE_ID);
});

test("a traceparent is continued, including extended later versions; an invalid one begins a trace", () => {
  const tracer = tracerTo(NOWHERE);
  const traceIdOf = (header: string | undefined) =>
    tracer.begin("request", {}, header)?.spanContext().traceId;
  for (const header of [
    `00-${TRACE_ID}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-03`,
    `cc-${TRACE_ID}-${SPAN_ID}-01-what-the-future-brings`,
  ])
    assert.equal(traceIdOf(header), TRACE_ID, header);
  for (const header of [
    undefined,
    "",
    `00-${"0".repeat(32)}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${"0".repeat(16)}-01`,
    `00-${TRACE_ID.toUpperCase()}-${SPAN_ID}-01`,
    `00-${TRACE_ID}-${SPAN_ID}-1`,
    `00-${TRACE_ID}-${SPAN_ID}-01-more`,
    `ff-${TRACE_ID}-${SPAN_ID}-01`,
    "x".repeat(10_000),
  ]) {
    const begun = traceIdOf(header);
    assert.match(begun ?? "", /^[0-9a-f]{32}$/, header);
    assert.ok(begun !== TRACE_ID && begun !== "0".repeat(32), header);
  }
});

test("spans that a collector does not take in time are bounded; each is sent or counted as lost", async (t) => {
  const ended = 10_000;
  const lostOf = async () => (await metrics.telemetryLost.get()).values[0]?.value ?? 0;
  const before = await lostOf();
  const collector: OtlpCollector = await startOtlpCollector();
  t.after(() => collector.stop());
  const tracer = tracerTo(collector.endpoint);
  for (let count = 0; count < ended; count += 1) tracer.begin("request", {})?.end();
  const lost = (await lostOf()) - before;
  assert.ok(lost > 0 && lost < ended, `${lost} of ${ended}`);
  await until(async () => collector.spans.length === ended - lost, WAIT_MS_MAX);
  assert.deepEqual(collector.faults, []);
});

async function metricData() {
  const { registry, ...of } = createMetrics();
  of.requests.inc({ method: "GET", route: '/a"b', status: 200 }, 3);
  of.requestSeconds.observe({ route: "/a" }, 0.003);
  of.requestSeconds.observe({ route: "/a" }, 100);
  of.requestSeconds.observe({ route: "/b" }, 0.5);
  of.applyLagSeconds.set(2.5);
  const all = metricDataOf(await registry.getMetricsAsJSON(), 1_000, 2_000);
  return (name: string) => all.find(({ descriptor }) => descriptor.name === name) ?? assert.fail(name);
}

test("counters are sums that only rise, gauges are gauges, units are those that names end in", async () => {
  const of = await metricData();
  const requests = of("bellhop_http_requests_total");
  assert.ok("isMonotonic" in requests && requests.isMonotonic);
  assert.deepEqual(
    requests.dataPoints.map(({ value, attributes }) => ({ value, attributes })),
    [{ value: 3, attributes: { method: "GET", route: '/a"b', status: 200 } }],
  );
  const lag = of("bellhop_apply_lag_seconds");
  assert.deepEqual([lag.descriptor.unit, "isMonotonic" in lag, lag.dataPoints[0]?.value], ["s", false, 2.5]);
  assert.equal(of("bellhop_flush_bytes").descriptor.unit, "By");
});

test("a histogram's buckets hold what fell into them alone, one point for each set of labels", async () => {
  const points = (await metricData())("bellhop_http_request_seconds").dataPoints;
  assert.equal(points.length, 2);
  const [first] = points;
  assert.ok(typeof first?.value === "object" && "buckets" in first.value);
  const { buckets, count } = first.value;
  assert.equal(buckets.counts.length, buckets.boundaries.length + 1);
  assert.deepEqual(
    [buckets.counts[buckets.boundaries.indexOf(0.005)], buckets.counts.at(-1), count],
    [1, 1, 2],
  );
  assert.deepEqual([first.startTime, first.attributes], [[1, 0], { route: "/a" }]);
});
