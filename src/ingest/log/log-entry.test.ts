import assert from "node:assert/strict";
import { test } from "node:test";
import { turnsDuring } from "../../../test/support/turns-during.ts";
import { packBody } from "./body-layout.ts";
import { entriesOf } from "./log-entry.ts";

test("stored data of rejected records counts as bytes of the append, so that flushes stay small", async () => {
  const violation = { pointer: "/1/roomStays", code: "required", message: "roomStays is required" };
  const record = { index: 0, start: 1, end: 3, clientCode: "ACME", propertyCode: "LON01" };
  const rejected = Array.from({ length: 1_000 }, (_, n) => ({
    index: n + 1,
    start: 1,
    end: 3,
    violations: Array.from({ length: 10 }, () => violation),
    violationTotal: 10,
  }));
  const { entries, bytes } = await entriesOf({
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

test("a large body is packed in turns, to the same bytes as at once", async () => {
  const records = Array.from({ length: 64 }, (_, n) => JSON.stringify({ n, text: "x".repeat(131_072) }));
  const body = Buffer.from(`[${records.join(",")}]`);
  let at = 1;
  const slices = records.map((text, index) => {
    const start = at;
    at += text.length + 1;
    return { index, start, end: at - 1, clientCode: "ACME", propertyCode: "LON01" };
  });
  const of = {
    clientId: "tester",
    resource: "r",
    body,
    records: slices,
    rejected: [],
    lenient: false,
  } as const;
  const { turns, result } = await turnsDuring(() =>
    entriesOf({ ...of, correlationId: null, replyTo: null, idempotency: null }),
  );
  assert.ok(turns >= 8, `${turns} turns`);
  const { layout, body: packed } = result.entries[0] as (typeof result.entries)[number];
  assert.deepEqual({ layout, body: packed }, packBody(body, slices));
});
