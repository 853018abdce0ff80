import assert from "node:assert/strict";
import { test } from "node:test";
import { Semaphore, SemaphoreFull } from "./semaphore.ts";

test("a semaphore limits concurrency, queues in order, and refuses work beyond its queue", async () => {
  const gate = new Semaphore(2, 1);
  const order: string[] = [];
  const doors = ["a", "b", "c"].map((name) => {
    const door = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const done = gate.run(async () => {
      order.push(name);
      begun.resolve();
      await door.promise;
    });
    return { door, done, begun };
  });
  await assert.rejects(
    gate.run(async () => undefined),
    SemaphoreFull,
  );
  assert.deepEqual(order, ["a", "b"]);
  doors[0]?.door.resolve();
  await doors[0]?.done;
  await doors[2]?.begun.promise;
  assert.deepEqual(order, ["a", "b", "c"]);
  for (const { door } of doors) door.resolve();
  await Promise.all(doors.map(({ done }) => done));
  assert.equal(await gate.run(async () => "free again"), "free again");
});

test("failing work releases its slot", async () => {
  const gate = new Semaphore(1, 0);
  await assert.rejects(
    gate.run(async () => {
      throw new Error("failed");
    }),
    /failed/,
  );
  assert.equal(await gate.run(async () => 1), 1);
});

test("one group cannot fill the queue, groups take turns, and a new one takes the last place of the longest", async () => {
  const gate = new Semaphore(1, 4, 3);
  const order: string[] = [];
  const door = Promise.withResolvers<void>();
  const first = gate.run(() => door.promise, "a");
  const enter = (name: string) =>
    gate.run(async () => {
      order.push(name);
    }, name.charAt(0));
  const outcomes = ["a1", "a2", "a3", "a4", "b1", "c1"].map((name) =>
    enter(name).then(
      () => "done",
      (error: unknown) => error instanceof SemaphoreFull,
    ),
  );
  door.resolve();
  await first;
  assert.deepEqual(await Promise.all(outcomes), ["done", "done", true, true, "done", "done"]);
  assert.deepEqual(order, ["a1", "b1", "c1", "a2"]);
  assert.equal(await gate.run(async () => "free again", "a"), "free again");
});

test("a queue full of groups with one place each is open to another", async () => {
  const gate = new Semaphore(1, 2);
  const door = Promise.withResolvers<void>();
  const first = gate.run(() => door.promise, "first");
  const entered = await Promise.all([
    ...["a", "b", "c"].map((name) =>
      gate.run(async () => name, name).catch((error: unknown) => error instanceof SemaphoreFull),
    ),
    Promise.resolve().then(() => door.resolve()),
  ]);
  await first;
  assert.equal(entered[2], "c");
  assert.equal(entered.filter((one) => one === true).length, 1);
  assert.equal(await gate.run(async () => "free again"), "free again");
});

test("cancelled waiting work releases its place in the queue", async () => {
  const gate = new Semaphore(1, 2);
  const door = Promise.withResolvers<void>();
  const first = gate.run(() => door.promise);
  const leaving = new AbortController();
  const never = gate.run(async () => assert.fail("It was given up."), "a", leaving.signal);
  const next = gate.run(async () => "next", "b");
  leaving.abort(new Error("left"));
  await assert.rejects(never, /left/);
  const last = gate.run(async () => "last", "a", new AbortController().signal);
  door.resolve();
  assert.deepEqual(await Promise.all([first, next, last]), [undefined, "next", "last"]);
  await assert.rejects(
    gate.run(async () => assert.fail("It came too late."), "a", leaving.signal),
    /left/,
  );
  assert.equal(await gate.run(async () => "free again"), "free again");
});

test("work that has been admitted is not cancelled, nor is the work behind it", async () => {
  const gate = new Semaphore(1, 2);
  const leaving = new AbortController();
  const first = gate.run(async () => undefined).then(() => leaving.abort(new Error("left")));
  const second = gate.run(async () => leaving.signal.aborted, "", leaving.signal);
  const third = gate.run(async () => "third");
  assert.deepEqual(await Promise.all([first, second, third]), [undefined, true, "third"]);
});
