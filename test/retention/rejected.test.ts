import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { loadRecords } from "../../src/query/load-records.ts";
import { setTerm } from "../../src/retention/cli.ts";
import { runRetention } from "../../src/retention/run-retention.ts";
import type { Retained } from "../../src/retention/terms.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";

const DAY_MS = 86_400_000;
const GUEST = "Wilhelmina";

describe("rejected records of lenient batches", () => {
  let bench: ApplyBench;
  let requestId: string;
  before(async () => {
    bench = await ApplyBench.open();
    bench.startApplier();
    const other = { ...reservation("O1", "2026-01-01T00:00:00Z", "other"), clientCode: "OTHER" };
    await bench.acceptAndApply([other]);
    const [first, guest] = [reservation("R1", "2026-01-01T00:00:00Z", "first"), { guest: GUEST }];
    // The second has no key, so it cannot be read.
    const bad = { ...reservation("", "2026-01-01T00:00:00Z", "bad"), reservationId: undefined, ...guest };
    const whole = submissionOf([first, bad]);
    const [record, rejected] = whole.records;
    assert.ok(record && rejected);
    await bench.properties.register(whole.clientId, [record]);
    const violation = { pointer: "/1/reservationId", code: "field.required", message: "is required" };
    const named = { ...rejected, clientCode: "ACME", propertyCode: "LON01" };
    const submission = {
      ...whole,
      lenient: true,
      records: [record],
      rejected: [{ ...named, violations: [violation], violationTotal: 1 }],
    } as unknown as typeof whole;
    ({ requestId } = await bench.log.append(submission));
    await bench.outcomesOf(requestId);
  });
  after(() => bench.close());

  const run = () =>
    runRetention({ clientConfig: bench.database.clientConfig, nowMs: Date.now() + 60 * DAY_MS });
  const set = (kind: Retained, days: number) =>
    setTerm(bench.database.pool, { clientCode: "ACME", kind, resource: undefined }, days * DAY_MS);
  const payloads = async () => {
    const texts: string[] = [];
    const bucket = bucketOf("ACME", "LON01");
    const pointers = [0, 1].map((index) => ({ bucket, requestId, index }));
    for await (const bytes of loadRecords(bench.database.pool, pointers)) texts.push(bytes.toString());
    return texts;
  };

  test("are kept as long as their client code's other payloads", async () => {
    await set("payloads", 365);
    await run();
    assert.match((await payloads())[1] ?? "", new RegExp(GUEST));
    await set("payloads", 1);
    await run();
    const [current, rejected] = await payloads();
    assert.match(current ?? "", /first/);
    assert.equal(rejected, "null");
  });
});

test("a rejected record does not outlast its request, after which no erasure would find it", async () => {
  const bench = await ApplyBench.open();
  bench.startApplier();
  try {
    const whole = submissionOf([
      reservation("R1", "2026-01-01T00:00:00Z", "first"),
      { ...reservation("", "2026-01-01T00:00:00Z", "bad"), reservationId: undefined, guest: GUEST },
    ]);
    const [record, rejected] = whole.records;
    assert.ok(record && rejected);
    await bench.properties.register(whole.clientId, [record]);
    const submission = {
      ...whole,
      lenient: true,
      records: [record],
      rejected: [{ ...rejected, violations: [], violationTotal: 1 }],
    } as unknown as typeof whole;
    const { requestId } = await bench.log.append(submission);
    await bench.outcomesOf(requestId);
    await setTerm(bench.database.pool, { clientCode: "*", kind: "outcomes", resource: undefined }, DAY_MS);
    await runRetention({ clientConfig: bench.database.clientConfig, nowMs: Date.now() + 60 * DAY_MS });
    const texts: string[] = [];
    const pointers = [0, 1].map((index) => ({ bucket: bucketOf("ACME", "LON01"), requestId, index }));
    for await (const bytes of loadRecords(bench.database.pool, pointers)) texts.push(bytes.toString());
    assert.match(texts[0] ?? "", /first/);
    assert.equal(texts[1], "null");
  } finally {
    await bench.close();
  }
});
