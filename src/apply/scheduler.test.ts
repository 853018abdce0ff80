import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import { logPart as part } from "../../test/support/log-part.ts";
import { packBody } from "../ingest/log/body-layout.ts";
import type { LogPart } from "./backlog.ts";
import { isLarge, Scheduler } from "./scheduler.ts";

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

/** Large ones have a capital for a name. */
const isCapital = ({ requestId }: LogPart) => requestId < "a";
const namesOf = (parts: readonly LogPart[]) => parts.map(({ requestId }) => requestId).join("");

describe("small parts", () => {
  it("precede large ones of other buckets, which then alternate with them", () => {
    const turns = new Scheduler(isCapital);
    assert.equal(
      namesOf(turns.choose([part(1, "A"), part(2, "b"), part(3, "C"), part(3, "d"), part(4, "e")])),
      "be",
    );
    assert.equal(namesOf(turns.choose([part(1, "A"), part(3, "C"), part(3, "d"), part(5, "f")])), "A");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(5, "f")])), "f");
    assert.equal(namesOf(turns.choose([part(3, "C"), part(3, "d"), part(6, "g")])), "C");
    assert.equal(namesOf(turns.choose([part(3, "d"), part(6, "g")])), "dg");
  });

  it("that precede a large one in their bucket are applied before it, whenever its turn comes", () => {
    const turns = new Scheduler(isCapital);
    assert.equal(namesOf(turns.choose([part(1, "a"), part(1, "B"), part(1, "c"), part(2, "d")])), "ad");
    assert.equal(namesOf(turns.choose([part(2, "e"), part(1, "f"), part(1, "B"), part(1, "c")])), "fB");
  });

  it("of another log writer precede a large one of their bucket", () => {
    const turns = new Scheduler(isCapital);
    const other = { ...part(1, "b"), logWriterId: "2" };
    assert.equal(namesOf(turns.choose([part(1, "A"), other, part(1, "c")])), "b");
    assert.equal(namesOf(turns.choose([part(1, "A"), { ...other, requestId: "d" }, part(1, "c")])), "A");
  });

  it("without waiting batches, large ones are taken together without delay", () => {
    const turns = new Scheduler(isCapital);
    for (let times = 0; times < 2; times += 1)
      assert.equal(namesOf(turns.choose([part(1, "A"), part(2, "B"), part(2, "c")])), "ABc");
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
      { layout: null, progress: { untilRecord: 0, warningsListed: 0 } },
      { layout: null, yields: true },
    ].map((more) => isLarge({ ...part(1, "a"), ...more })),
    [false, true, false, false, false, true, true],
  );
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
