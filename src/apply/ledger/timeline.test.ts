import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type TimelineChange, type TimelineCopy, timelineDifference } from "./timeline.ts";

const compareReceipts = (left: TimelineCopy, right: TimelineCopy) =>
  left.requestId === right.requestId ? left.index - right.index : left.requestId < right.requestId ? -1 : 1;

/** The content that counts, by the definition. */
function counting(copies: readonly TimelineCopy[], sourceTime: string, request: string): string | null {
  const known = copies.filter((one) => one.sourceTime <= sourceTime && one.countsFrom <= request);
  // A version is received when the first of its copies was.
  const firsts = known.filter(
    (one) =>
      !known.some(
        (other) =>
          other.sourceTime === one.sourceTime &&
          other.content === one.content &&
          compareReceipts(other, one) < 0,
      ),
  );
  firsts.sort((left, right) =>
    left.sourceTime === right.sourceTime
      ? compareReceipts(left, right)
      : left.sourceTime < right.sourceTime
        ? -1
        : 1,
  );
  return firsts.at(-1)?.content ?? null;
}

/** How often each content is there by the changes up to two instants. */
function summed(
  changes: readonly TimelineChange[],
  sourceTime: string,
  request: string,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const change of changes) {
    if (change.sourceTime > sourceTime || change.countsFrom > request) continue;
    sums.set(change.content, (sums.get(change.content) ?? 0) + change.by);
  }
  for (const [content, sum] of sums) if (sum === 0) sums.delete(content);
  return sums;
}

const letters = ["1", "2", "3", "4", "5", "6"];
const copies = fc.uniqueArray(
  fc
    .record({
      sourceTime: fc.constantFrom(...letters.slice(0, 4)),
      requestId: fc.constantFrom(...letters),
      index: fc.nat(2),
      content: fc.constantFrom("a", "b", "c"),
      release: fc.option(fc.constantFrom(...letters), { freq: 3, nil: "" }),
    })
    .map(({ release, ...copy }) => ({
      ...copy,
      countsFrom: release > copy.requestId ? release : copy.requestId,
    })),
  { maxLength: 9, selector: ({ requestId, index }) => `${requestId}/${index}` },
);

function assertSums(changes: readonly TimelineChange[], all: readonly TimelineCopy[]): void {
  for (const sourceTime of ["0", ...letters]) {
    for (const request of ["0", ...letters]) {
      const content = counting(all, sourceTime, request);
      const expected = new Map(content === null ? [] : [[content, 1]]);
      assert.deepEqual(summed(changes, sourceTime, request), expected, `${sourceTime} ${request}`);
    }
  }
}

test("the changes of a key's versions sum up to what counts, at any instant of either clock", () => {
  fc.assert(
    fc.property(copies, (all) => assertSums(timelineDifference([], all), all)),
    { numRuns: 1_000 },
  );
});

test("however copies arrive, the differences sum up to the same", () => {
  fc.assert(
    fc.property(copies, fc.array(fc.nat(9), { maxLength: 4 }), (all, cuts) => {
      const steps = [0, ...cuts.sort((left, right) => left - right), all.length];
      const changes: TimelineChange[] = [];
      let before: readonly TimelineCopy[] = [];
      for (const step of steps) {
        const after = all.slice(0, step);
        changes.push(...timelineDifference(before, after));
        before = after;
      }
      assertSums(changes, all);
    }),
    { numRuns: 1_000 },
  );
});

test("many versions of one source time are not all compared with each other", () => {
  const count = 2_000;
  let read = 0;
  const all = Array.from({ length: count }, (_, n) => ({
    get sourceTime() {
      read += 1;
      return "1";
    },
    requestId: String(n).padStart(4, "0"),
    index: 0,
    content: `content ${n}`,
    countsFrom: String(n).padStart(4, "0"),
  }));
  timelineDifference(all.slice(1), all);
  assert.ok(read < 100 * count, `${read} times`);
});

test("nothing is written where nothing changes", () => {
  const one = { sourceTime: "1", requestId: "1", index: 0, content: "a", countsFrom: "1" };
  const unchanged = { sourceTime: "2", requestId: "2", index: 0, content: "a", countsFrom: "2" };
  assert.deepEqual(timelineDifference([one], [one, unchanged]), []);
  assert.deepEqual(timelineDifference([one], [one, { ...one, requestId: "3", countsFrom: "3" }]), []);
  assert.deepEqual(timelineDifference([one], [one, { ...unchanged, content: "b" }]), [
    { sourceTime: "2", countsFrom: "2", content: "a", by: -1 },
    { sourceTime: "2", countsFrom: "2", content: "b", by: 1 },
  ]);
});
