import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { BodyLayout } from "../../src/ingest/log/body-layout.ts";
import { listRequestRecords } from "../../src/query/list-request-records.ts";
import { errorObject } from "../support/error-object.ts";
import { inventoryRecord, type LooseRecord } from "../support/records.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { watchedPool } from "../support/watched-pool.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const lenient = { headers: { prefer: "handling=lenient" } };
const valid = (day: number, changes: LooseRecord = {}) =>
  inventoryRecord({ occupancyDate: `2026-05-${String(day).padStart(2, "0")}`, ...changes });

interface Stored {
  readonly layout: Buffer;
  readonly body: Buffer;
  readonly record_count: number;
  readonly batch_record_count: number;
  readonly lenient: boolean;
  readonly rejections: { index: number; violationTotal: number; violations: { pointer: string }[] }[] | null;
}

async function storedParts(requestId: unknown): Promise<Stored[]> {
  const { rows } = await service.pool.query<Stored>(
    "select * from bellhop.accept_log where request_id = $1 order by bucket",
    [requestId],
  );
  return rows;
}

test("valid records are accepted; invalid ones are stored verbatim, with their index and pointers", async () => {
  const bad = '{"clientCode":"ACME",  "propertyCode":"LON01","createDateTime":"today", "x": 1.50}';
  const text = `[${JSON.stringify(valid(1))},${bad},${JSON.stringify(valid(2))},"not a record",null]`;
  const answer = await service.post("inventories", text, lenient);
  assert.equal(answer.status, 202, answer.text);
  assert.equal(answer.headers.get("preference-applied"), "handling=lenient");
  const [part, ...others] = await storedParts(answer.json()["requestId"]);
  assert.ok(part !== undefined && others.length === 0);
  assert.equal(part.record_count, 2);
  assert.equal(part.batch_record_count, 5);
  assert.equal(part.lenient, true);
  assert.deepEqual(
    part.rejections?.map(({ index }) => index),
    [1, 3, 4],
  );
  assert.ok(part.rejections?.[0]?.violations.some(({ pointer }) => pointer === "/1/createDateTime"));
  const kept = [...new BodyLayout(part.layout).allRecords(part.body)];
  assert.equal(kept.find(({ index }) => index === 1)?.bytes.toString(), bad);
  assert.equal(kept.find(({ index }) => index === 3)?.bytes.toString(), '"not a record"');
});

test("a batch without one valid record is still 400, its violations listed", async () => {
  const answer = await service.post("inventories", [valid(1, { occupancyDate: "x" }), {}], lenient);
  const { violations } = errorObject(answer, 400, "bellhop.contract.InvalidRecords");
  assert.ok(violations?.some(({ pointer }) => pointer === "/0/occupancyDate"));
  assert.ok(violations?.some(({ pointer }) => pointer === "/1/clientCode"));
});

test("a foreign code anywhere, in an invalid record too, is still 403 for the whole batch", async () => {
  for (const foreign of [valid(2, { clientCode: "OTHER" }), { clientCode: "OTHER", propertyCode: "X" }]) {
    const answer = await service.post("inventories", [valid(1), foreign], lenient);
    assert.equal(answer.status, 403);
    assert.equal(answer.bytes.length, 0);
  }
});

test("an empty array, or a body that is not a JSON array, is still 400", async () => {
  for (const text of ["[", "{}", "[]", `[${JSON.stringify(valid(1))},]`]) {
    errorObject(await service.post("inventories", text, lenient), 400);
  }
});

test("without the preference one invalid record refuses the batch, and nothing is stored", async () => {
  const count = () => service.pool.query("select count(*)::int as n from bellhop.accept_log");
  const before = (await count()).rows[0].n;
  const answer = await service.post("inventories", [valid(1), valid(2, { createDateTime: null }), valid(3)]);
  const { violations, violationTotal } = errorObject(answer, 400, "bellhop.contract.InvalidRecords");
  assert.equal(violationTotal, 1);
  assert.deepEqual(
    violations?.map(({ pointer, code }) => [pointer, code]),
    [["/1/createDateTime", "null"]],
  );
  assert.equal((await count()).rows[0].n, before);
});

test("at most 100 violations are listed, with their total number", async () => {
  const records = Array.from({ length: 300 }, () => ({ clientCode: "ACME", propertyCode: "LON01" }));
  const answer = await service.post("inventories", records);
  const { violations, violationTotal } = errorObject(answer, 400, "bellhop.contract.InvalidRecords");
  assert.equal(violations?.length, 100);
  assert.equal(violationTotal, 900);
});

test("at most 10 violations of a rejected record are stored, and their total", async () => {
  const roomTypeInventories = Array.from({ length: 50 }, () => ({ roomTypeCode: "DLX" }));
  const answer = await service.post("inventories", [valid(1), valid(2, { roomTypeInventories })], lenient);
  const [part] = await storedParts(answer.json()["requestId"]);
  assert.equal(part?.rejections?.[0]?.violations.length, 10);
  assert.equal(part?.rejections?.[0]?.violationTotal, 100);
});

test("at most 10,000 violations of a batch are stored, then one per record, and a page of outcomes reads them once", async () => {
  const roomTypeInventories = Array.from({ length: 5 }, () => ({ roomTypeCode: "DLX" }));
  const invalid = Array.from({ length: 1_100 }, () => valid(2, { roomTypeInventories }));
  // Of a day that no other test sends: applied or not yet, it is no record that a list of what is notable has.
  const answer = await service.post("inventories", [valid(20), ...invalid], lenient);
  const requestId = String(answer.json()["requestId"]);
  const [part] = await storedParts(requestId);
  const kept = part?.rejections?.map(({ violations }) => violations.length);
  assert.deepEqual(kept, [...Array(1_000).fill(10), ...Array(100).fill(1)]);
  assert.ok(part?.rejections?.every(({ violationTotal }) => violationTotal === 10));
  let statements = 0;
  const counted = watchedPool(service.pool, ({ name }) => {
    if (name?.startsWith("read-request-details")) statements += 1;
  });
  const request = { requestId, resource: "inventories" } as const;
  const listed: { violations: object[]; violationTotal: number }[] = [];
  for await (const item of listRequestRecords(counted, service.client.clientId, request, {
    start: null,
    limit: 1_000,
  }))
    listed.push(JSON.parse(item.toString()));
  assert.equal(listed.length, 1_000);
  assert.ok(
    listed.every(({ violations, violationTotal }) => violations.length === 10 && violationTotal === 10),
  );
  assert.equal(statements, 1);
});
