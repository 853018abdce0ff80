import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { ConfigError, readConfig } from "../../config.ts";
import { packTraceContext, traceparentOf, unpackTraceContext } from "./telemetry.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318/" };

test("without a collector there is no telemetry, whatever else is set", () => {
  assert.equal(readConfig({ OTEL_TRACES_SAMPLER: "always_on", OTEL_SERVICE_NAME: "x" }).telemetry, undefined);
});

test("the standard variables are read: lists of names and values are percent-encoded", () => {
  assert.deepEqual(
    readConfig({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20a%2Cb , x=1=2",
      OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
      OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
      OTEL_TRACES_SAMPLER_ARG: "0.25",
    }).telemetry,
    {
      endpoint: "http://127.0.0.1:4318",
      headers: { authorization: "Bearer a,b", x: "1=2" },
      serviceName: "bellhop",
      resource: { "deployment.environment.name": "test" },
      sampler: "parentbased_traceidratio",
      samplerRatio: 0.25,
      metricIntervalMs: 60_000,
    },
  );
});

test("by default one trace in ten is sampled, and every trace whose caller is sampled", () => {
  const { sampler, samplerRatio } = readConfig(ENDPOINT).telemetry ?? {};
  assert.deepEqual([sampler, samplerRatio], ["parentbased_traceidratio", 0.1]);
});

test("invalid settings are refused, and no secret is repeated", () => {
  const refused: Record<string, string>[] = [
    { OTEL_EXPORTER_OTLP_ENDPOINT: "127.0.0.1:4318" },
    { OTEL_EXPORTER_OTLP_ENDPOINT: "grpc://127.0.0.1:4317" },
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: "s3cret" },
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: "a=s3cret%E0%A4%A" },
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: "a=s3cret\r\nb: c" },
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: "a=s3cret%0d%0ab:c" },
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: "sometimes" },
    { ...ENDPOINT, OTEL_TRACES_SAMPLER_ARG: "1.5" },
    { ...ENDPOINT, OTEL_METRIC_EXPORT_INTERVAL: "5" },
    { ...ENDPOINT, OTEL_METRIC_EXPORT_INTERVAL: "99999999999" },
  ];
  for (const environment of refused)
    assert.throws(
      () => readConfig(environment),
      (error) => error instanceof ConfigError && !error.message.includes("s3cret"),
      JSON.stringify(environment),
    );
});

test("a span context survives storage in the log", () => {
  const span = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", traceFlags: 1 };
  const packed = packTraceContext(span);
  assert.equal(packed.length, 50);
  assert.deepEqual(unpackTraceContext(packed), span);
  assert.equal(traceparentOf(span), `00-${span.traceId}-${span.spanId}-01`);
  for (const other of [null, undefined, "", "0".repeat(48)])
    assert.equal(unpackTraceContext(other), undefined);
});

/** How many modules of OpenTelemetry's SDK a process loads that imports the service and its threads, and starts what settings ask for. */
function modulesLoaded(settings: Readonly<Record<string, string>>): number {
  const script = `
    import { createRequire } from "node:module";
    const load = (path) => import(new URL(path, ${JSON.stringify(new URL("../../", import.meta.url))}).href);
    for (const path of ["service/service.ts", "service/http-thread.ts", "service/apply-thread.ts"]) await load(path);
    const { readConfig } = await load("config.ts");
    const { startTracer, startMetricSending } = await load("platform/telemetry/telemetry.ts");
    const { telemetry } = readConfig(${JSON.stringify(settings)});
    await startTracer(telemetry, {});
    await startMetricSending(telemetry, {}, async () => []);
    const loaded = Object.keys(createRequire(import.meta.url).cache);
    console.log(loaded.filter((path) => path.includes("@opentelemetry/sdk-")).length);
    process.exit();`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
  });
  assert.match(stdout, /^\d+\n$/, stderr);
  return Number(stdout);
}

test("OpenTelemetry's SDK is loaded where a collector is named, and nowhere else", () => {
  assert.equal(modulesLoaded({}), 0);
  assert.ok(modulesLoaded(ENDPOINT) > 0);
});
