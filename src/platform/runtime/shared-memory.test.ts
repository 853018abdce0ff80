import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { once } from "node:events";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";
import { SharedLock, SharedTable } from "./shared-memory.ts";

const THREADS = 3;
const STEPS = 20_000;
const SHAPE = { rows: 32, numbers: 1 };

/** What each thread runs: it adds one to a number under a lock, and to the row of each of three keys. */
const ADDING = `
  const { workerData } = await import("node:worker_threads");
  const { SharedLock } = await import(workerData.modules + "shared-memory.ts");
  const { SharedTable } = await import(workerData.modules + "shared-memory.ts");
  const lock = new SharedLock(new Int32Array(workerData.sum, 0, 1), 0);
  const sum = new Float64Array(workerData.sum, 8, 1);
  const table = new SharedTable(workerData.table, workerData.shape);
  for (let step = 0; step < workerData.steps; step += 1) {
    lock.run(() => { sum[0] += 1; });
    table.use("key " + (step % 3), step, (row) => row.set(0, row.get(0) + 1));
  }
`;

describe("memory that threads share", () => {
  it("loses no step of any thread", async () => {
    const sum = new SharedArrayBuffer(16);
    const table = SharedTable.allocate(SHAPE);
    const modules = new URL("./", import.meta.url).href;
    const workerData = { modules, sum, table, shape: SHAPE, steps: STEPS };
    const source = new URL(`data:text/javascript,${encodeURIComponent(ADDING)}`);
    const workers = Array.from({ length: THREADS }, () => new Worker(source, { workerData }));
    await Promise.all(workers.map((worker) => once(worker, "exit")));
    assert.equal(new Float64Array(sum, 8, 1)[0], THREADS * STEPS);
    const keys = new SharedTable(table, SHAPE);
    const counted = [0, 1, 2].map((key) => keys.use(`key ${key}`, 0, (row) => row.get(0)) ?? 0);
    assert.equal(
      counted.reduce((all, one) => all + one),
      THREADS * STEPS,
    );
  });

  it("gives a lock back when the work under it throws", () => {
    const lock = new SharedLock(new Int32Array(1), 0, 1);
    assert.throws(() =>
      lock.run(() => {
        throw new Error("within");
      }),
    );
    assert.equal(
      lock.run(() => 1),
      1,
    );
  });
});

describe("a table in shared memory", () => {
  const one = { rows: 16, numbers: 2 };

  it("keeps the numbers of each key, and begins with zeros", () => {
    const table = new SharedTable(SharedTable.allocate(one), one);
    table.use("a", 1, (row) => {
      assert.deepEqual([row.isNew, row.get(0), row.get(1)], [true, 0, 0]);
      row.set(0, 1);
      row.set(1, 2);
    });
    table.use("b", 2, (row) => assert.equal(row.get(0), 0));
    table.use("a", 3, (row) => assert.deepEqual([row.isNew, row.get(0), row.get(1)], [false, 1, 2]));
  });

  it("evicts the least recently used evictable entry", () => {
    const table = new SharedTable(SharedTable.allocate(one), one);
    const held = 3;
    for (let key = 0; key < 16; key += 1) table.use(`key ${key}`, key, (row) => row.set(0, key));
    table.use("key 0", 20, () => undefined);
    table.use(
      "another",
      21,
      () => undefined,
      (row) => row.get(0) >= held,
    );
    const isNew = (key: number) =>
      table.use(
        `key ${key}`,
        30,
        (row) => row.isNew,
        () => false,
      );
    assert.deepEqual([0, 1, 2, 3, 4].map(isNew), [false, false, false, undefined, false]);
  });

  it("does not let the choice of keys fill another key's set", () => {
    const shape = { rows: 64 * 16, numbers: 1 };
    const table = new SharedTable(SharedTable.allocate(shape), shape);
    const setOf = (key: string) => hash("sha256", key, "buffer").readUInt32LE(16) % 64;
    const chosen: string[] = [];
    for (let key = 0; chosen.length < 16; key += 1)
      if (setOf(`source ${key}`) === setOf("victim")) chosen.push(`source ${key}`);
    const stays = () => false;
    for (const key of chosen) table.use(key, 1, () => undefined, stays);
    assert.equal(
      table.use("victim", 2, (row) => row.isNew, stays),
      true,
    );
  });

  it("reads a known row without creating one", () => {
    const table = new SharedTable(SharedTable.allocate(one), one);
    assert.equal(
      table.useKnown("a", () => 1),
      undefined,
    );
    table.use("a", 1, (row) => row.set(1, 7));
    assert.equal(
      table.useKnown("a", (row) => row.get(1)),
      7,
    );
    assert.equal(
      table.use("b", 2, (row) => row.isNew),
      true,
    );
  });
});
