import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { readConfig } from "../../src/config.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type CollectedSpan, type OtlpCollector, startOtlpCollector } from "../support/otlp-collector.ts";
import { inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

const WAIT_MS_MAX = 60_000;
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const SERVER = 2;
const CLIENT = 3;
const CONSUMER = 5;

describe("traces of two nodes on one database, one that accepts and one that applies", () => {
  let collector: OtlpCollector;
  let receiver: WebhookReceiver;
  let database: TestDatabase;
  let accepting: TestService;
  let applying: TestService;
  before(async () => {
    collector = await startOtlpCollector();
    receiver = await startWebhookReceiver();
    database = await createTestDatabase();
    const telemetryOf = (name: string) =>
      readConfig({
        OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`,
        OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=hotels, authorization=Bearer%20secret-of-ours",
        OTEL_SERVICE_NAME: name,
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
        OTEL_TRACES_SAMPLER: "parentbased_always_on",
        OTEL_METRIC_EXPORT_INTERVAL: "200",
      }).telemetry;
    applying = await startTestService(
      { roles: ["apply"], telemetry: telemetryOf("applying"), webhookAllowedNetworks: ["127.0.0.0/8"] },
      { database },
    );
    accepting = await startTestService(
      {
        roles: ["accept", "read"],
        telemetry: telemetryOf("accepting"),
        webhookAllowedNetworks: ["127.0.0.0/8"],
      },
      { database },
    );
  });
  after(async () => {
    await accepting.stop();
    await applying.stop();
    await receiver.stop();
    await collector.stop();
    await database.drop();
  });
  afterEach(() => assert.deepEqual(collector.faults, []));

  const collected = (matches: (span: CollectedSpan) => boolean) =>
    untilFound(async () => collector.spans.find(matches), WAIT_MS_MAX);
  const requestIdOf = ({ text }: { text: string }) => (JSON.parse(text) as { requestId: string }).requestId;
  const traceIdOf = (requestId: string) =>
    untilFound(async () => {
      const line = accepting.logLines().find((one) => one.includes(`"requestId":"${requestId}"`));
      return line === undefined ? undefined : (JSON.parse(line) as { traceId?: string }).traceId;
    }, WAIT_MS_MAX);

  test("a batch is one trace from its POST to the webhook that reports it: its caller's, on whatever node", async () => {
    const registered = await accepting.send("POST", "/api/public/v1/webhooks", {
      body: { url: receiver.url, events: ["request.applied"] },
    });
    assert.equal(registered.status, 201, registered.text);
    const posted = await accepting.post("reservations", [reservationRecord()], {
      headers: { traceparent: `00-${TRACE_ID}-${CALLER}-01` },
    });
    assert.equal(posted.status, 202);
    const of = (name: string) => collected((span) => span.traceId === TRACE_ID && span.name === name);
    const request = await of("POST /api/public/v1/reservations");
    const requestId = requestIdOf(posted);
    assert.deepEqual([request.service, request.kind, request.parentSpanId], ["accepting", SERVER, CALLER]);
    assert.equal(request.attributes["bellhop.request_id"], requestId);
    assert.equal(request.attributes["http.response.status_code"], 202);
    for (const name of ["judge records", "append"]) {
      const within = await of(name);
      assert.equal(within.parentSpanId, request.spanId);
      assert.ok(within.start >= request.start && within.end <= request.end, name);
    }
    const apply = await of("apply");
    assert.deepEqual(
      [apply.service, apply.kind, apply.parentSpanId, apply.attributes["bellhop.request_id"]],
      ["applying", CONSUMER, request.spanId, requestId],
    );
    const delivery = await of("deliver request.applied");
    assert.deepEqual(
      [delivery.service, delivery.kind, delivery.parentSpanId],
      ["applying", CLIENT, request.spanId],
    );
    const [message] = receiver.received;
    assert.equal(message?.headers["traceparent"], `00-${TRACE_ID}-${delivery.spanId}-01`);
  });

  test("without a caller's trace it starts a new one, named in the request's log line", async () => {
    const requestId = requestIdOf(await accepting.post("inventories", [inventoryRecord()]));
    const traceId = await traceIdOf(requestId);
    const apply = await collected((span) => span.name === "apply" && span.traceId === traceId);
    assert.equal(apply.attributes["bellhop.request_id"], requestId);
    const request = await collected((span) => span.kind === SERVER && span.traceId === traceId);
    assert.equal(request.parentSpanId, undefined);
  });

  test("a caller that is not sampled is not reported, and nothing travels with its batch", async () => {
    const traceId = "1".repeat(32);
    const posted = await accepting.post("inventories", [inventoryRecord()], {
      headers: { traceparent: `00-${traceId}-${CALLER}-00` },
    });
    const { rows } = await database.pool.query(
      "select trace_context is null as untraced from bellhop.accept_log where request_id = $1",
      [requestIdOf(posted)],
    );
    assert.deepEqual(rows, [{ untraced: true }]);
    // What comes after it is reported, so that it would have been.
    const later = await traceIdOf(requestIdOf(await accepting.post("inventories", [inventoryRecord()])));
    await collected((span) => span.traceId === later && span.kind === SERVER);
    assert.ok(!collector.spans.some((span) => span.traceId === traceId));
  });

  test("unauthenticated callers cannot join a trace; queries and refusals have spans, too", async () => {
    const traceparent = `00-${"2".repeat(32)}-${CALLER}-01`;
    await accepting.post("groups", [], { as: null, headers: { traceparent } });
    await accepting.get("/api/public/v1/requests", { headers: { traceparent } });
    await accepting.post("groups", [{}], { headers: { traceparent } });
    const spanOf = (route: string, status: number) =>
      collected(
        ({ name, attributes }) => name === route && attributes["http.response.status_code"] === status,
      );
    const stranger = await spanOf("POST /api/public/v1/groups", 401);
    assert.deepEqual([stranger.parentSpanId, stranger.traceId === "2".repeat(32)], [undefined, false]);
    assert.equal((await spanOf("GET /api/public/v1/requests", 200)).parentSpanId, CALLER);
    assert.equal((await spanOf("POST /api/public/v1/groups", 400)).parentSpanId, CALLER);
  });

  test("no span contains record data, and health and metrics have none", async () => {
    await accepting.get("/healthz");
    const requestId = requestIdOf(await accepting.post("reservations", [reservationRecord()]));
    const traceId = await traceIdOf(requestId);
    await collected((span) => span.name === "apply" && span.traceId === traceId);
    const all = JSON.stringify(collector.spans, (_key, value: unknown) =>
      typeof value === "bigint" ? String(value) : value,
    );
    for (const word of ["LON01", "DLX", "healthz", "secret-of-ours"]) assert.ok(!all.includes(word), word);
  });

  test("metrics of both nodes have their Prometheus names and the configured headers", async () => {
    const metric = (name: string) => untilFound(async () => collector.metrics.get(name), WAIT_MS_MAX);
    await until(
      async () =>
        (await metric("accepting bellhop_accepted_batches_total")).points.some(({ value }) => value > 0),
      WAIT_MS_MAX,
    );
    await until(
      async () => (await metric("applying bellhop_apply_seconds")).points.some(({ value }) => value > 0),
      WAIT_MS_MAX,
    );
    const seconds = await metric("accepting bellhop_http_request_seconds");
    assert.deepEqual([seconds.kind, seconds.unit], ["histogram", "s"]);
    assert.equal((await metric("accepting bellhop_body_bytes_in_flight")).kind, "gauge");
    for (const { authorization, "x-tenant": tenant } of collector.headers)
      assert.deepEqual([authorization, tenant], ["Bearer secret-of-ours", "hotels"]);
  });

  test("an unreachable collector costs no request and is reported once; lost spans are counted", async () => {
    collector.status = 400;
    const before = accepting.logLines().length;
    for (let count = 0; count < 3; count += 1)
      assert.equal((await accepting.post("inventories", [inventoryRecord()])).status, 202);
    await until(
      async () =>
        /\nbellhop_telemetry_lost_total\{signal="spans"\} [1-9]/.test((await accepting.get("/metrics")).text),
      WAIT_MS_MAX,
    );
    collector.status = 200;
    const reported = accepting
      .logLines()
      .slice(before)
      .filter((line) => line.includes("the collector did not receive traces"));
    assert.equal(reported.length, 1);
    const traceId = await traceIdOf(requestIdOf(await accepting.post("inventories", [inventoryRecord()])));
    await collected((span) => span.name === "apply" && span.traceId === traceId);
  });
});
