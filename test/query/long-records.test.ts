import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFailedRecords } from "../../src/backfill/gaps.ts";
import { UP_TO_NOW } from "../../src/backfill/tally.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { listRequestRecords } from "../../src/query/list-request-records.ts";
import { open } from "../support/backfill-fixture.ts";
import { longestTurn } from "../support/longest-turn.ts";
import { apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

const SENT_AT = "2026-01-01T00:00:00Z";
const RECORDS = 300;
/** Processor time of a turn, in ms; parsing all of the records takes several times as long. */
const TURN_MS_MAX = 60;

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
    for await (const item of listRequestRecords(service.pool, service.client.clientId, request, page)) {
      assert.equal(JSON.parse(item.toString()).outcome, "rejected");
      listed += 1;
    }
  };
  const longest = await longestTurn(list);
  assert.equal(listed, RECORDS);
  assert.ok(longest < TURN_MS_MAX, `${longest} ms`);
});

test("the failed records of a backfill are listed in turns, whatever their length", async () => {
  const backfill = { backfillId, bucket: bucketOf("ACME", "LIS01") };
  const countRead = () => undefined;
  const asked = { backfill, propertyId: null, resource: "reservations", upTo: UP_TO_NOW, countRead } as const;
  let failed: readonly object[] = [];
  const longest = await longestTurn(async () => {
    failed = await readFailedRecords(service.pool, asked, null, RECORDS);
  });
  assert.equal(failed.length, RECORDS);
  assert.ok(longest < TURN_MS_MAX, `${longest} ms`);
});
