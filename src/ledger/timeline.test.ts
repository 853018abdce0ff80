import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type TimelineChange, type TimelineVersion, timelineDifference, timelineOf } from "./timeline.ts";

/** The content that counts, by the definition. */
function counting(
  versions: readonly TimelineVersion[],
  sourceTime: string,
  requestId: string,
): string | null {
  const known = versions.filter((one) => one.sourceTime <= sourceTime && one.requestId <= requestId);
  known.sort((left, right) => {
    if (left.sourceTime !== right.sourceTime) return left.sourceTime < right.sourceTime ? -1 : 1;
    if (left.requestId !== right.requestId) return left.requestId < right.requestId ? -1 : 1;
    return left.index - right.index;
  });
  return known.at(-1)?.content ?? null;
}

/** How often each content is there by the changes up to two instants. */
function summed(
  changes: readonly TimelineChange[],
  sourceTime: string,
  requestId: string,
): Map<string, number> {
  const sums = new Map<string, number>();
  const add = (content: string | null, by: number) => {
    if (content !== null) sums.set(content, (sums.get(content) ?? 0) + by);
  };
  for (const change of changes) {
    if (change.sourceTime > sourceTime || change.requestId > requestId) continue;
    add(change.from, -1);
    add(change.to, 1);
  }
  for (const [content, sum] of sums) if (sum === 0) sums.delete(content);
  return sums;
}

const letters = ["1", "2", "3", "4", "5", "6"];
const versions = fc.uniqueArray(
  fc.record({
    sourceTime: fc.constantFrom(...letters),
    requestId: fc.constantFrom(...letters),
    index: fc.nat(2),
    content: fc.constantFrom("a", "b", "c"),
  }),
  { maxLength: 8, selector: ({ requestId, index }) => `${requestId}/${index}` },
);

function assertSums(changes: readonly TimelineChange[], all: readonly TimelineVersion[]): void {
  for (const sourceTime of ["0", ...letters]) {
    for (const requestId of ["0", ...letters]) {
      const content = counting(all, sourceTime, requestId);
      const expected = new Map(content === null ? [] : [[content, 1]]);
      assert.deepEqual(summed(changes, sourceTime, requestId), expected, `${sourceTime} ${requestId}`);
    }
  }
}

test("the changes of a key's versions sum up to what counts, at any instant of either clock", () => {
  fc.assert(
    fc.property(versions, (all) => assertSums(timelineOf(all), all)),
    { numRuns: 500 },
  );
});

test("however versions arrive, and their receipts are lowered, the differences sum up to the same", () => {
  fc.assert(
    fc.property(versions, fc.array(fc.nat(7), { maxLength: 4 }), (all, cuts) => {
      const steps = [0, ...cuts.sort((left, right) => left - right), all.length];
      const changes: TimelineChange[] = [];
      let before: readonly TimelineVersion[] = [];
      for (const step of steps) {
        // Until the end each is known by a later copy of it.
        const after = all
          .slice(0, step)
          .map((one, at) => (step < all.length && at % 2 === 0 ? { ...one, requestId: "7" } : one));
        changes.push(...timelineDifference(before, after));
        before = after;
      }
      assertSums(changes, all);
    }),
    { numRuns: 500 },
  );
});

test("nothing is written where nothing changes", () => {
  const one = { sourceTime: "1", requestId: "1", index: 0, content: "a" };
  const unchanged = { sourceTime: "2", requestId: "2", index: 0, content: "a" };
  assert.deepEqual(timelineDifference([one], [one, unchanged]), []);
  assert.deepEqual(timelineDifference([one], [one]), []);
  assert.deepEqual(timelineDifference([one], [one, { ...unchanged, content: "b" }]), [
    { sourceTime: "2", requestId: "2", from: "a", to: "b" },
  ]);
});
