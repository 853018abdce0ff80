import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertTurns } from "../../../test/support/assert-turns.ts";
import { WorkPauses } from "./work-pauses.ts";

test("sorts as toSorted does, equal items in their order", async () => {
  const items = fc.array(fc.record({ key: fc.nat(50), place: fc.nat() }), { maxLength: 3_000, size: "max" });
  const compare = (one: { key: number }, other: { key: number }) => one.key - other.key;
  await fc.assert(
    fc.asyncProperty(items, async (some) => {
      assert.deepEqual(await new WorkPauses().sorted(some, compare), some.toSorted(compare));
    }),
    { numRuns: 30 },
  );
});

test("sorting many items leaves the thread to others", async () => {
  const items = Array.from({ length: 200_000 }, (_, at) => `${"x".repeat(60)}${(at * 7_919) % 999_983}`);
  const compare = (one: string, other: string) => one.localeCompare(other);
  await assertTurns(() => new WorkPauses().sorted(items, compare));
});
