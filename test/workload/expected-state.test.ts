import assert from "node:assert/strict";
import { test } from "node:test";
import { expectedState, type ReceivedRecord } from "./expected-state.ts";

function received(sourceTime: string, status: string, correlationId = "c-1"): ReceivedRecord {
  const json = JSON.stringify({ correlationId, lastModifiedDateTime: sourceTime, status });
  return { resource: "groups", clientCode: "A", propertyCode: "P", key: "G", sourceTime, json };
}

const X1 = received("2026-01-01T00:00:01Z", "X");
const Y2 = received("2026-01-01T00:00:02Z", "Y");
const X3 = received("2026-01-01T00:00:03Z", "X");

test("a newer record is applied, an older one is stale, and both are stored", () => {
  assert.deepEqual(expectedState([X1, Y2]).outcomes, ["a", "a"]);
  const { outcomes, records } = expectedState([Y2, X1]);
  assert.deepEqual(outcomes, ["a", "s"]);
  const [record] = records.values();
  assert.equal(record?.current.sourceTime, "2026-01-01T00:00:02.000000Z");
  assert.equal(record?.versions.length, 2);
});

test("an unchanged record advances the source time, so that earlier ones are stale", () => {
  const { outcomes, records } = expectedState([X1, X3, Y2]);
  assert.deepEqual(outcomes, ["a", "u", "s"]);
  assert.equal([...records.values()][0]?.current.sourceTime, "2026-01-01T00:00:03.000000Z");
});

test("the same record under another correlation id or spelling of its time is a duplicate", () => {
  const again = received("2026-01-01T00:00:01.000Z", "X", "c-2");
  assert.deepEqual(expectedState([X1, again, Y2, again]).outcomes, ["a", "d", "a", "d"]);
});

test("of two contents at one source time the one received later is current, and a late copy of the first changes nothing", () => {
  const other = received(X1.sourceTime, "Z");
  const { outcomes, records } = expectedState([X1, other, X1]);
  assert.deepEqual(outcomes, ["a", "a", "d"]);
  const [record] = records.values();
  assert.equal(record?.current, record?.versions[1]);
});
