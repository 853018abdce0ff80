import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { parse } from "yaml";
import { lowestIdAt } from "../../src/ingest/log/part-name.ts";
import { ensurePartitions } from "../../src/ingest/log/partitions.ts";
import { createSurveyMetrics, type Survey, startSurvey } from "../../src/operations/metrics/survey.ts";
import { createMetrics, createProcessMetrics, renderMetrics } from "../../src/platform/telemetry/metrics.ts";
import { endLogWriters } from "../support/held-appends.ts";
import { Evaluator, namesIn, readScrape, type Scrape } from "../support/promql.ts";
import { apply } from "../support/read-fixture.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { ALERT_CASES } from "./alert-cases.ts";

const WAIT_MS_MAX = 60_000;
/** Two scrapes are as far apart as the shortest window of a rule is long, whatever time has passed. */
const STEP_SECONDS = 300;
const TARGET = { job: "bellhop", instance: "node-1:8080" };

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

const fileOf = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), "utf8");
const { groups } = parse(await fileOf("deploy/prometheus/alerts.yaml")) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(await fileOf("deploy/grafana/bellhop.json")) as {
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
};
const panels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$__rate_interval", "5m") })),
);

/** They are of how fast this machine is, which is busy with other tests. */
const OF_THE_MACHINE = new Set([
  "BellhopAnswersSlow",
  "BellhopFlushSlow",
  "BellhopThreadBusy",
  "BellhopMemoryGrows",
  "BellhopDiskFills",
  "BellhopPoolWaits",
  "BellhopStatementsSlow",
  "BellhopLongTransaction",
]);

describe("alert rules and dashboard, on scrapes of a running service", () => {
  let service: TestService;
  let survey: Survey;
  let scrapes = 0;
  let healthy: Scrape;
  before(async () => {
    service = await startTestService();
    // The service's own looks every minute.
    survey = startSurvey({
      on: service.pool,
      dataDirectory: process.cwd(),
      failed: () => undefined,
      pace: { first: 1, often: 20, seldom: 20, restPerWork: 1 },
    });
    await apply(service, "inventories", [inventoryRecord()]);
    await seen("bellhop_feeds", (value) => value === 1);
    await scrape();
    // Applied: its arrival would be one more of the feed that a test makes silent.
    await apply(service, "inventories", [inventoryRecord()]);
    healthy = await scrape();
  });
  after(async () => {
    survey.stop();
    await service.stop();
  });

  async function textNow(): Promise<string> {
    const { text } = await service.get("/metrics");
    const looked = await renderMetrics([await survey.metrics()]);
    const names = new Set([...looked.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
    const others = text.split("\n").filter((line) => !names.has(/^(?:# \w+ )?([\w:]+)/.exec(line)?.[1]));
    return `${others.join("\n")}\n${looked}`;
  }

  async function scrape(): Promise<Scrape> {
    scrapes += 1;
    return readScrape(await textNow(), scrapes * STEP_SECONDS, TARGET);
  }

  /** Waits until the survey has seen something. */
  async function seen(metric: string, wanted: (value: number) => boolean): Promise<void> {
    await until(async () => {
      const values = (await survey.metrics()).find(({ name }) => name === metric)?.values ?? [];
      return values.some(({ value }) => wanted(value));
    }, WAIT_MS_MAX);
  }

  const firing = (on: readonly Scrape[]): string[] => {
    const evaluator = new Evaluator(on);
    return rules.filter(({ expr }) => evaluator.evaluate(expr).length > 0).map(({ alert }) => alert);
  };

  test("every expression is PromQL, of metrics and labels that a scrape has", async () => {
    const types = [...(await textNow()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
    const known = new Set(["up"]);
    for (const [, name = "", type] of types)
      for (const suffix of type === "histogram" ? ["_bucket", "_sum", "_count"] : [""])
        known.add(name + suffix);
    const labelsOf = new Map<string, readonly string[]>();
    for (const { registry } of [createMetrics(), createSurveyMetrics(), createProcessMetrics()])
      for (const { name } of registry.getMetricsAsArray())
        labelsOf.set(
          name,
          (registry.getSingleMetric(name) as unknown as { labelNames: string[] }).labelNames,
        );
    assert.ok(rules.length > 20 && panels.length > 40, `${rules.length} rules, ${panels.length} targets`);
    for (const { expr, ...of } of [...rules, ...panels]) {
      for (const { metric, labels } of namesIn(expr)) {
        const what = JSON.stringify({ ...of, metric });
        assert.ok(known.has(metric), `not scraped: ${what}`);
        const own = labelsOf.get(metric.replace(/_(bucket|sum|count)$/, "")) ?? labelsOf.get(metric) ?? [];
        for (const label of labels)
          assert.ok([...own, ...Object.keys(TARGET), "le"].includes(label), `no label ${label}: ${what}`);
      }
    }
  });

  test("every metric has a name in Prometheus's style, and labels with few values", () => {
    const few = new Set(
      ["method", "route", "status", "code", "resource", "outcome", "role", "result", "state"].concat(
        ...["thread", "waited", "statement", "signal", "table", "kind"],
      ),
    );
    for (const { registry } of [createMetrics(), createSurveyMetrics()]) {
      for (const { name } of registry.getMetricsAsArray()) {
        const { type, labelNames } = registry.getSingleMetric(name) as unknown as {
          readonly type: string;
          readonly labelNames: readonly string[];
        };
        assert.match(name, /^bellhop_[a-z]+(_[a-z]+)*$/);
        assert.equal(name.endsWith("_total"), type === "counter", name);
        assert.doesNotMatch(name, /_(ms|milliseconds|minutes|hours|kb|mb|percent)(_|$)/);
        for (const label of labelNames) assert.ok(few.has(label), `${name} has the label ${label}`);
      }
    }
  });

  test("every alert has a severity and a runbook with its name", async () => {
    const operations = await fileOf("docs/operations.md");
    for (const { alert, labels, annotations } of rules) {
      assert.ok(["page", "ticket"].includes(labels.severity), alert);
      assert.equal(
        annotations.runbook_url,
        `{{ $externalLabels.bellhop_url }}/docs/operations#${alert.toLowerCase()}`,
      );
      assert.ok(operations.includes(`\n### ${alert}\n`), `docs/operations.md has no ### ${alert}`);
      assert.ok(annotations.summary !== "", alert);
    }
    const headings = [...operations.matchAll(/^### (Bellhop\w+)$/gm)].map(([, name]) => name);
    assert.deepEqual(headings.sort(), rules.map(({ alert }) => alert).sort());
  });

  test("the table of faults names findings of doctor and alerts that exist", async () => {
    const operations = await fileOf("docs/operations.md");
    const [, table = ""] = /<!-- checked: faults -->([\s\S]*?)<!-- end -->/.exec(operations) ?? [];
    const checks = "server-checks schema-checks settings-check installation-checks log-files-check examine";
    const code = await Promise.all(
      checks.split(" ").map((name) => fileOf(`src/operations/doctor/${name}.ts`)),
    );
    const named = [...table.matchAll(/`([a-z-]+\.[a-z-]+|Bellhop\w+)`/g)].map(([, name = ""]) => name);
    assert.ok(named.length > 25, `${named.length}`);
    const alerts = new Set(rules.map(({ alert }) => alert));
    const isKnown = (name: string) => alerts.has(name) || code.some((text) => text.includes(`"${name}"`));
    assert.deepEqual(
      named.filter((name) => !isKnown(name)),
      [],
    );
  });

  test("every alert has a fault that `npm run campaign -- alerts` lets Prometheus see", () => {
    assert.deepEqual(Object.keys(ALERT_CASES).sort(), rules.map(({ alert }) => alert).sort());
  });

  test("nothing fires while all is well", async () => {
    const fired = firing([healthy, await scrape()]).filter((alert) => !OF_THE_MACHINE.has(alert));
    assert.deepEqual(fired, []);
  });

  test("silent feeds fire, and many at once page an operator", async () => {
    const { pool } = service;
    const old = lowestIdAt(Date.now() - 30 * 3_600_000);
    // One arrival of the feed, that of thirty hours ago.
    await pool.query(
      "delete from bellhop.feed_arrival where last_request_id < (select max(last_request_id::text)::uuid from bellhop.feed_arrival)",
    );
    await pool.query("update bellhop.feed_arrival set last_request_id = $1", [old]);
    await seen("bellhop_feeds_silent", (value) => value === 1);
    assert.deepEqual(
      firing([healthy, await scrape()]).filter((alert) => alert.includes("Silent")),
      ["BellhopFeedsSilent"],
    );
    const hotels = Array.from({ length: 12 }, (_, at) => inventoryRecord({ propertyCode: `H${at}` }));
    assert.equal((await service.post("inventories", hotels)).status, 202);
    await seen("bellhop_feeds", (value) => value === 13);
    await pool.query("update bellhop.feed_arrival set last_request_id = $1 where last_request_id <> $1", [
      old,
    ]);
    await seen("bellhop_feeds_silent", (value) => value === 13);
    assert.deepEqual(
      firing([healthy, await scrape()]).filter((alert) => alert.includes("Silent")),
      ["BellhopFeedsSilent", "BellhopManyFeedsSilent"],
    );
    await pool.query("delete from bellhop.feed_arrival");
    await seen("bellhop_feeds", (value) => value === 0);
  });

  test("quarantined records fire when they become many, and when they stay", async () => {
    const quarantined = Array.from({ length: 120 }, (_, at) =>
      inventoryRecord({
        createDateTime: "2099-01-01T00:00:00Z",
        occupancyDate: `2026-${String(4 + Math.floor(at / 28)).padStart(2, "0")}-${String(1 + (at % 28)).padStart(2, "0")}`,
      }),
    );
    assert.equal((await service.post("inventories", quarantined)).status, 202);
    await seen("bellhop_quarantine_held_records", (value) => value === 120);
    const first = await scrape();
    const quarantine = (on: readonly Scrape[]) => firing(on).filter((alert) => alert.includes("Quarantine"));
    assert.deepEqual(quarantine([healthy, first]), ["BellhopQuarantineGrows"]);
    assert.deepEqual(quarantine([first, await scrape()]), ["BellhopQuarantineStands"]);
  });

  test("an unapplied batch fires by its age", async () => {
    const holder = await service.pool.connect();
    try {
      const agoMs = Date.now() - 600_000;
      await ensurePartitions(holder, agoMs);
      await holder.query(
        "begin; set local idle_in_transaction_session_timeout = 0; update bellhop.bucket_lease set epoch = epoch",
      );
      assert.equal(
        (await service.post("inventories", [inventoryRecord({ propertyCode: "LATE" })])).status,
        202,
      );
      await service.pool.query(
        "update bellhop.accept_log set request_id = $1 where request_id = (select max(request_id::text)::uuid from bellhop.accept_log)",
        [lowestIdAt(agoMs)],
      );
      await seen("bellhop_oldest_unapplied_seconds", (value) => value > 500);
      assert.ok(firing([healthy, await scrape()]).includes("BellhopApplyLags"));
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    await seen("bellhop_oldest_unapplied_seconds", (value) => value === 0);
  });

  test("requests that fail because connections do fire, and so do invalid records of lenient batches", async () => {
    const lenient = { headers: { prefer: "handling=lenient" } };
    const sendInvalid = () =>
      until(
        async () => (await service.post("inventories", [inventoryRecord(), {}], lenient)).status === 202,
        WAIT_MS_MAX,
      );
    /** Ends the log writer's connection and sends, until so many batches were refused for it and so many log writers lost. */
    const failUntil = async (refusedMin: number, lostMin: number) => {
      let refused = 0;
      await until(async () => {
        await endLogWriters(service.database.clientConfig);
        if ((await service.post("inventories", [inventoryRecord()])).status === 503) refused += 1;
        const lost = /^bellhop_log_writer_failures_total (\d+)$/m.exec(
          (await service.get("/metrics")).text,
        )?.[1];
        return refused >= refusedMin && Number(lost) >= lostMin;
      }, WAIT_MS_MAX);
    };
    // A counter is there once it has counted, and rises from then on.
    await sendInvalid();
    await failUntil(1, 1);
    const began = await scrape();
    await sendInvalid();
    await failUntil(3, 30);
    const fired = firing([began, await scrape()]);
    for (const alert of [
      "BellhopLogWritersFail",
      "BellhopErrorBudgetFast",
      "BellhopErrorBudgetSlow",
      "BellhopRecordsRejected",
    ])
      assert.ok(fired.includes(alert), `${alert} did not fire`);
    // Another file's test waits for nothing of this service: it is let to come back.
    await until(async () => (await service.get("/readyz")).status === 200, WAIT_MS_MAX);
  });

  test("alerts about a failing machine fire on a scrape that shows the failure", async () => {
    const GIB = 1024 ** 3;
    const said: Readonly<
      Record<string, readonly [metric: string, value: number, labels?: Record<string, string>]>
    > = {
      BellhopNodeDown: ["up", 0],
      BellhopDown: ["bellhop_ready", 0, { role: "apply" }],
      BellhopAnswersSlow: [
        "bellhop_http_request_seconds_bucket",
        1e6,
        { le: "+Inf", route: "/api/public/v1/inventories" },
      ],
      BellhopFlushSlow: ["bellhop_flush_seconds_bucket", 1e6, { le: "+Inf" }],
      BellhopPoolWaits: ["bellhop_pool_connections", 3, { state: "waiting" }],
      BellhopApplyFails: ["bellhop_apply_failures_total", 1_000],
      BellhopBucketsUnowned: ["bellhop_buckets_unowned", 7],
      BellhopNodeHung: ["bellhop_silent_sessions_ended_total", 9],
      BellhopWebhooksGivenUp: ["bellhop_webhook_tries_total", 2, { result: "given up" }],
      BellhopDiskAlmostFull: ["bellhop_disk_free_bytes", GIB],
      BellhopDiskFills: ["bellhop_disk_free_bytes", 2 ** 20],
      BellhopWalGrows: ["bellhop_wal_files_bytes", 9 * GIB],
      BellhopCheckpointLate: ["bellhop_wal_since_checkpoint_bytes", 9 * GIB],
      BellhopLongTransaction: ["bellhop_oldest_transaction_seconds", 4_000],
      BellhopStatementsSlow: ["bellhop_slow_statements_total", 50, { statement: "read-history" }],
      BellhopRetentionFails: ["bellhop_retention_runs_total", 50, { state: "failed" }],
      BellhopSurveyFails: ["bellhop_survey_failures_total", 50],
      BellhopThreadBusy: ["bellhop_thread_busy_seconds_total", 1e6, { thread: "apply-1" }],
      BellhopMemoryGrows: ["process_resident_memory_bytes", 3 * GIB],
    };
    const now = await scrape();
    const shown = new Set<string>(Object.keys(said));
    for (const alert of [
      "ErrorBudgetFast",
      "ErrorBudgetSlow",
      "LogWritersFail",
      "ApplyLags",
      "FeedsSilent",
      "ManyFeedsSilent",
      "QuarantineGrows",
      "QuarantineStands",
      "RecordsRejected",
    ])
      shown.add(`Bellhop${alert}`);
    assert.deepEqual(
      [...shown].sort(),
      rules.map(({ alert }) => alert).sort(),
      "an alert that no test has seen firing",
    );
    for (const [alert, [metric, value, labels = {}]] of Object.entries(said)) {
      const wanted = { ...TARGET, ...labels, __name__: metric };
      const isIt = (of: Readonly<Record<string, string>>) =>
        Object.entries(wanted).every(([name, text]) => of[name] === text);
      const failing = (scraped: Scrape, to: number): Scrape => ({
        at: scraped.at,
        samples: [...scraped.samples.filter((sample) => !isIt(sample.labels)), { labels: wanted, value: to }],
      });
      const before = metric.endsWith("_total") ? failing(healthy, 0) : healthy;
      const fired = firing([{ ...before, at: now.at - STEP_SECONDS }, failing(now, value)]);
      assert.ok(fired.includes(alert), `${alert} did not fire on ${metric} ${value}`);
    }
  });
});
