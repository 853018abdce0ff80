import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraces } from "../../../test/support/otlp-protobuf.ts";
import { type Span, SpanMessage, type SpanShape } from "./span-message.ts";

const SPEAKER = { resource: { "service.name": "Hôtel", "process.pid": 4711 }, version: "0.2.0" };
const EPOCH_MS = 1_763_800_000_123.25;

const SHAPE: SpanShape = {
  ...{ name: "POST /api/public/v1/réservations", kind: "server" },
  attributes: { "http.request.method": "POST" },
};

const spanOf = (attributes: NonNullable<Span["attributes"]>, failure?: string): Span => ({
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentSpanId: "00f067aa0ba902b7",
  shape: SHAPE,
  startMs: 1.5,
  endMs: 200.0625,
  attributes,
  failure,
});

const spansOf = (message: SpanMessage) =>
  (
    readTraces(message.bytes()) as {
      readonly resourceSpans: readonly [{ readonly scopeSpans: readonly [{ readonly spans: unknown[] }] }];
    }
  ).resourceSpans[0].scopeSpans[0].spans;

test("a message is what OTLP has, whatever is said in it", () => {
  const message = new SpanMessage(4_096, SPEAKER);
  const said = { yes: true, no: false, few: 202, many: 2 ** 40, part: 0.25, below: -7, ключ: "naïve 🏨" };
  assert.ok(message.add(spanOf({ ...said, long: "x".repeat(300), nothing: undefined }, "503"), EPOCH_MS));
  assert.deepEqual(readTraces(message.bytes()), {
    resourceSpans: [
      {
        resource: {
          attributes: [
            { key: "service.name", value: { stringValue: "Hôtel" } },
            { key: "process.pid", value: { intValue: "4711" } },
          ],
        },
        scopeSpans: [
          {
            scope: { name: "bellhop", version: "0.2.0" },
            spans: [
              {
                traceId: "0af7651916cd43dd8448eb211c80319c",
                spanId: "b7ad6b7169203331",
                parentSpanId: "00f067aa0ba902b7",
                name: "POST /api/public/v1/réservations",
                kind: 2,
                startTimeUnixNano: "1763800000124750000",
                endTimeUnixNano: "1763800000323313000",
                attributes: [
                  { key: "http.request.method", value: { stringValue: "POST" } },
                  { key: "yes", value: { boolValue: true } },
                  { key: "no", value: { boolValue: false } },
                  { key: "few", value: { intValue: "202" } },
                  { key: "many", value: { intValue: String(2 ** 40) } },
                  { key: "part", value: { doubleValue: 0.25 } },
                  { key: "below", value: { doubleValue: -7 } },
                  { key: "ключ", value: { stringValue: "naïve 🏨" } },
                  { key: "long", value: { stringValue: "x".repeat(300) } },
                ],
                status: { message: "503", code: 2 },
                flags: "1",
              },
            ],
          },
        ],
      },
    ],
  });
});

test("what has no room is not there, not in part either; once it was sent there is room again", () => {
  const message = new SpanMessage(1_024, SPEAKER);
  let taken = 0;
  while (message.add(spanOf({ taken }), EPOCH_MS)) taken += 1;
  assert.ok(taken > 3 && taken < 10, `${taken}`);
  assert.deepEqual([message.spans, spansOf(message).length], [taken, taken]);
  message.clear();
  assert.deepEqual([message.spans, spansOf(message).length], [0, 0]);
  assert.ok(message.add(spanOf({ again: true }), EPOCH_MS));
  assert.equal(spansOf(message).length, 1);
  const parts = ["one", "two"].map((name) => ({ ...spanOf({ name }), spanId: undefined }));
  for (const part of parts) assert.ok(message.add(part, EPOCH_MS));
  const ids = (spansOf(message) as { spanId: string }[]).map(({ spanId }) => spanId);
  assert.equal(new Set(ids).size, 3, "a span that nobody refers to has an id of its own");
  const large = { one: "€".repeat(4_000), two: "€".repeat(4_000), three: "€".repeat(4_000) };
  const roomy = new SpanMessage(65_536, SPEAKER);
  assert.deepEqual([roomy.add(spanOf(large), EPOCH_MS), roomy.spans], [false, 0]);
  assert.ok(roomy.add(spanOf({ one: large.one }), EPOCH_MS));
  const [{ attributes }] = spansOf(roomy) as [{ attributes: { value: { stringValue: string } }[] }];
  assert.equal(attributes.at(-1)?.value.stringValue, "€".repeat(2_048));
});
