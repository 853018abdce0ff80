import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { logPart as part } from "../../test/support/log-part.ts";
import { packBody } from "../ingest/log/stored-body.ts";
import { classifyPart, type PartClass, Scheduler } from "./applier.ts";
import type { LogPart } from "./backlog.ts";

const OWNED = [1, 2, 3];

test("all buckets are read at first and when a poll is due, else those with a hint", () => {
  const turns = new Scheduler();
  assert.deepEqual(turns.next(OWNED, 0), { buckets: OWNED, polled: true });
  assert.equal(turns.hasWork, false);
  turns.hint([2, 9]);
  assert.equal(turns.hasWork, true);
  assert.deepEqual(turns.next(OWNED, 0), { buckets: [2], polled: false });
  assert.deepEqual(turns.next(OWNED, 0), { buckets: [], polled: false });
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 0), { buckets: OWNED, polled: true });
});

test("buckets that failed together are tried one by one, and the one that fails again waits alone, ever longer", () => {
  const turns = new Scheduler();
  turns.next(OWNED, 0);
  turns.failed([1, 2], 0);
  assert.deepEqual(turns.next(OWNED, 0).buckets, [1]);
  turns.failed([1], 0);
  assert.deepEqual(turns.next(OWNED, 0).buckets, [2]);
  turns.succeeded([2]);
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 0).buckets, [2, 3]);
  assert.deepEqual(turns.next(OWNED, 199).buckets, []);
  assert.deepEqual(turns.next(OWNED, 200).buckets, [1]);
  turns.failed([1], 200);
  assert.deepEqual(turns.next(OWNED, 599).buckets, []);
  assert.deepEqual(turns.next(OWNED, 600).buckets, [1]);
  turns.succeeded([1]);
  turns.poll();
  assert.deepEqual(turns.next(OWNED, 600).buckets, OWNED);
});

test("a bucket that failed waits five seconds at most, and one that is no longer owned is not read", () => {
  const turns = new Scheduler();
  for (let n = 0; n < 100; n += 1) turns.failed([3], 0);
  turns.next([1, 2], 0);
  assert.deepEqual(turns.next([1, 2], 5_000).buckets, []);
  assert.deepEqual(turns.next(OWNED, 5_000).buckets, [3]);
});

/** Large ones have a capital for a name, bulk ones a digit. */
const classify = ({ requestId }: LogPart): PartClass => ({
  isLarge: requestId >= "A" && requestId < "a",
  isBulk: requestId < "A",
});
const namesOf = (parts: readonly LogPart[]) => parts.map(({ requestId }) => requestId).join("");

describe("small parts", () => {
  it("precede large ones of other buckets, which then alternate with them", () => {
    const turns = new Scheduler({ classify });
    assert.equal(
      namesOf(turns.choose([part(1, "A"), part(2, "b"), part(3, "C"), part(3, "d"), part(4, "e")]).parts),
      "be",
    );
    assert.equal(namesOf(turns.choose([part(1, "A"), part(3, "C"), part(3, "d"), part(5, "f")]).parts), "A");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(5, "f")]).parts), "f");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(6, "g")]).parts), "C");
    assert.equal(namesOf(turns.choose([part(3, "d"), part(6, "g")]).parts), "dg");
  });

  it("that precede a large one in their bucket are applied before it, whenever its turn comes", () => {
    const turns = new Scheduler({ classify });
    assert.equal(namesOf(turns.choose([part(1, "a"), part(1, "B"), part(1, "c"), part(2, "d")]).parts), "ad");
    assert.equal(namesOf(turns.choose([part(2, "e"), part(1, "f"), part(1, "B"), part(1, "c")]).parts), "fB");
  });

  it("without waiting batches, large ones are taken together without delay", () => {
    const turns = new Scheduler({ classify });
    for (let times = 0; times < 2; times += 1)
      assert.equal(namesOf(turns.choose([part(1, "A"), part(2, "B"), part(2, "c")]).parts), "ABc");
  });
});

it("is large from 256 bookings that are to be applied, and no push of two years of inventory", () => {
  const of = (records: number) =>
    packBody(
      Buffer.from("{}"),
      Array.from({ length: records }, (_, index) => ({ index, start: 0, end: 2 })),
    );
  const rejectedIndexes = new Set([0]);
  assert.deepEqual(
    [
      of(255),
      of(256),
      { ...of(256), rejectedIndexes },
      { ...of(730), resource: "i" as const },
      { layout: null },
    ].map((more) => classifyPart({ ...part(1, "a"), ...more }).isLarge),
    [false, true, false, false, false],
  );
});

describe("what goes to the bulk applier", () => {
  const choose = (parts: readonly LogPart[], handsOverBulk = true) =>
    new Scheduler({ classify, handsOverBulk }).choose(parts);

  it("is a bucket whose next part is bulk, with all later parts", () => {
    const parts = [part(1, "1"), part(2, "b"), part(1, "c"), part(2, "d"), part(1, "5")];
    const { parts: live, bulk } = choose(parts);
    assert.equal(namesOf(live), "bd");
    assert.deepEqual(bulk, [1]);
  });

  it("is not yet a bucket that has something else before: that is applied first, and nothing behind the bulk part", () => {
    const parts = [part(1, "a"), part(2, "b"), part(1, "3"), part(1, "d"), part(2, "e")];
    const { parts: live, bulk } = choose(parts);
    assert.equal(namesOf(live), "abe");
    assert.deepEqual(bulk, []);
  });

  it("is nothing where nothing is bulk, and without a bulk applier", () => {
    const parts = [part(1, "a"), part(2, "b")];
    assert.deepEqual(choose(parts), { parts, bulk: [] });
    const withBulk = [part(1, "1"), part(2, "b")];
    assert.deepEqual(choose(withBulk, false), { parts: withBulk, bulk: [] });
  });

  it("goes before the order of small and large: neither of them waits for bulk", () => {
    const { parts: live, bulk } = choose([part(1, "1"), part(2, "B"), part(3, "c")]);
    assert.equal(namesOf(live), "c");
    assert.deepEqual(bulk, [1]);
  });

  it("is a part of 2,000 records or 1 MiB stored, and whatever belongs to a backfill", () => {
    const of = (bytes: number, isBackfill = false) => ({
      ...part(1, "a"),
      ...packBody(Buffer.from("{}"), [{ index: 0, start: 0, end: 2 }]),
      body: Buffer.alloc(bytes),
      isBackfill,
    });
    const records = Array.from({ length: 2_000 }, (_, index) => ({ index, start: 0, end: 2 }));
    const many = { ...part(1, "a"), ...packBody(Buffer.from("{}"), records) };
    const classified = [of(1), of(1_048_575), of(1_048_576), of(1, true), many, { ...many, body: null }];
    assert.deepEqual(
      classified.map((one) => classifyPart(one).isBulk),
      [false, false, true, true, true, false],
    );
  });
});

test("runs grow from few records to many with each transaction that is committed soon", () => {
  const size = new Scheduler();
  const sizes = [size.recordsMax];
  for (let times = 0; times < 4; times += 1) {
    size.committed(20, false);
    sizes.push(size.recordsMax);
  }
  assert.deepEqual(sizes, [64, 256, 1_024, 2_000, 2_000]);
});

test("a slow run is not followed by a larger one", () => {
  const size = new Scheduler();
  size.committed(1_500, false);
  assert.equal(size.recordsMax, 64);
  size.committed(900, false);
  assert.equal(size.recordsMax, 256);
});

test("a transaction that took all batches is followed by a pause of its duration, at most 50 ms, if more have arrived", () => {
  const turns = new Scheduler();
  turns.next(OWNED, 0);
  assert.equal(turns.committed(20, true), 0);
  turns.hint([2]);
  assert.equal(turns.committed(20, true), 20);
  assert.equal(turns.committed(80, true), 50);
  assert.equal(turns.committed(20, false), 0);
  turns.next(OWNED, 0);
  assert.equal(turns.committed(20, true), 0);
});
