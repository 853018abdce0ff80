import assert from "node:assert/strict";
import { test } from "node:test";
import { entriesOf } from "./log-entry.ts";

test("stored data of rejected records counts as bytes of the append, so that flushes stay small", () => {
  const violation = { pointer: "/1/roomStays", code: "required", message: "roomStays is required" };
  const record = { index: 0, start: 1, end: 3, clientCode: "ACME", propertyCode: "LON01" };
  const rejected = Array.from({ length: 1_000 }, (_, n) => ({
    index: n + 1,
    start: 1,
    end: 3,
    violations: Array.from({ length: 10 }, () => violation),
    violationTotal: 10,
  }));
  const { entries, bytes } = entriesOf({
    clientId: "tester",
    resource: "r",
    body: Buffer.from("[{}]"),
    records: [record],
    rejected,
    lenient: true,
    correlationId: null,
    replyTo: null,
    idempotency: null,
  });
  const { rejections, layout, body } = entries[0] as (typeof entries)[number];
  const kept = JSON.parse(rejections?.toString() ?? "");
  assert.deepEqual(
    kept,
    rejected.map(({ index, violations, violationTotal }) => ({ index, violations, violationTotal })),
  );
  assert.equal(
    bytes,
    [rejections, layout, body].reduce((sum, part) => sum + (part?.length ?? 0), 0),
  );
});
