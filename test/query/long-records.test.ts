import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFailedRecords } from "../../src/backfill/gaps.ts";
import { UP_TO_NOW } from "../../src/backfill/tally.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { listRequestRecords } from "../../src/query/list-request-records.ts";
import { listRequests } from "../../src/query/list-requests.ts";
import { textsOfRecord } from "../../src/query/record-texts.ts";
import { assertTurns } from "../support/assert-turns.ts";
import { open } from "../support/backfill-fixture.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

const SENT_AT = "2026-01-01T00:00:00Z";
const RECORDS = 300;

let service: TestService;
let backfillId: string;
let requestId: string;
before(async () => {
  service = await startTestService();
  backfillId = await open(service, "LIS01", [
    { resource: "reservations", from: "2026-07-01", to: "2026-07-31" },
  ]);
  const unknown = Array.from({ length: 10_000 }, (_, at) => at);
  // Each is rejected, as it has no stays.
  const records = Array.from({ length: RECORDS }, (_, at) =>
    reservation(`R-${at}`, SENT_AT, { unknown, roomStays: [] }),
  );
  const headers = { prefer: "handling=lenient", "backfill-id": backfillId };
  requestId = await apply(service, "reservations", [...records, reservation("R", SENT_AT)], {
    headers,
  });
});
after(() => service.stop());

test("the records of a request are listed in turns, whatever their length", async () => {
  const request = { requestId, resource: "reservations" } as const;
  const page = { start: null, limit: RECORDS };
  let listed = 0;
  const list = async () => {
    listed = 0;
    for await (const item of listRequestRecords(service.pool, service.client.clientId, request, page)) {
      assert.equal(JSON.parse(item.toString()).outcome, "rejected");
      listed += 1;
    }
  };
  await assertTurns(list);
  assert.equal(listed, RECORDS);
});

test("the failed records of a backfill are listed in turns, whatever their length", async () => {
  const backfill = { backfillId, bucket: bucketOf("ACME", "LIS01") };
  const countRead = () => undefined;
  const asked = { backfill, propertyId: null, resource: "reservations", upTo: UP_TO_NOW, countRead } as const;
  let failed: readonly object[] = [];
  await assertTurns(async () => {
    failed = await readFailedRecords(service.pool, asked, null, RECORDS);
  });
  assert.equal(failed.length, RECORDS);
});

test("a record of megabytes is searched for its codes in turns", async () => {
  // Parsing an object takes the longest if no two have the same names.
  const unknown = Object.fromEntries(
    Array.from({ length: 120_000 }, (_, at) => [`a${at}`, { [`b${at}`]: 0 }]),
  );
  const own = { propertyCode: "LONG", unknown };
  const long = await apply(service, "reservations", [reservation("L", SENT_AT, own)]);
  const codes = { clientCode: "ACME", propertyCode: "LONG" };
  const filter = {
    ...{ resource: undefined, outcome: undefined, from: undefined, to: undefined },
    property: { ...codes, bucket: bucketOf("ACME", "LONG") },
  };
  let found: string[] = [];
  await assertTurns(async () => {
    found = [];
    for await (const item of listRequests(service.pool, service.client.clientId, filter, null, 10))
      found.push(JSON.parse(item.toString()).requestId);
  });
  assert.deepEqual(found, [long]);
});

test("texts of a long record are those that parsing it finds", async () => {
  const rest = `"rest": [${'[{}, "clientCode"], '.repeat(20_000)}{"propertyCode": "no", "a": ","}]`;
  const texts = async (json: string) => textsOfRecord(Buffer.from(json), ["clientCode", "propertyCode"]);
  const cases: readonly [json: string, found: object][] = [
    [`{"clientCode": "A", ${rest}, "propertyCode": "B"}`, { clientCode: "A", propertyCode: "B" }],
    [`{${rest}, "client\\u0043ode": "\\"é\\\\", "propertyCode": ["no"]}`, { clientCode: '"é\\' }],
    [`{"a": "clientCode", ${rest}, "b": {"clientCode": "no"}}`, {}],
    [
      `{"clientCode": "no", ${rest}, "clientCode": null, "propertyCode": "no", "propertyCode": "B"}`,
      { propertyCode: "B" },
    ],
    [`["clientCode", "no", {${rest}}]`, {}],
    [JSON.stringify("clientCode:".repeat(20_000)), {}],
  ];
  for (const [json, found] of cases) {
    assert.deepEqual(await texts(json), found, json.slice(0, 60));
    const { clientCode, propertyCode } = JSON.parse(json);
    const all = Object.entries({ clientCode, propertyCode }).filter(([, text]) => typeof text === "string");
    assert.deepEqual(found, Object.fromEntries(all));
  }
});
