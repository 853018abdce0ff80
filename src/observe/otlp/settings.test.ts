import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError, readConfig } from "../../config.ts";

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

test("what cannot be used is refused, and no secret is repeated", () => {
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
