import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { FAULT_NAMES } from "./faults.ts";
import { makeApart, type PackedDay, type Packing, packDay } from "./packed-day.ts";
import { quarterOf } from "./simulated-record.ts";
import { type SimulatedDay, type SimulationOptions, simulate } from "./simulation.ts";

const OPTIONS: SimulationOptions = {
  seed: 3,
  properties: 2,
  days: 5,
  start: "2025-03-01",
  clientCode: "DEMO",
  horizonDays: 60,
  faults: new Set(FAULT_NAMES),
};
const AT_ONCE: Packing = { batchRecords: 40, isPaced: false };

/** The records of each wave by resource, in order, as text. */
const recordsOf = ({ waves }: SimulatedDay) =>
  waves.map((wave) =>
    Object.fromEntries(
      [...Map.groupBy(wave, ({ resource }) => resource)].map(([resource, records]) => [
        resource,
        `[${records.map(({ json }) => json).join(",")}]`,
      ]),
    ),
  );

/** The same from packed days, with their bodies concatenated. */
const packedRecordsOf = ({ waves }: PackedDay) =>
  waves.map((parts) => {
    const batches = parts.flatMap((part) => part.batches);
    return Object.fromEntries(
      [...Map.groupBy(batches, ({ resource }) => resource)].map(([resource, own]) => [
        resource,
        `[${own.map(({ body }) => Buffer.from(body).toString().slice(1, -1)).join(",")}]`,
      ]),
    );
  });

describe("a packed day", () => {
  const days = [...simulate(OPTIONS)];

  test("has every record byte for byte, in bodies within the size limit", () => {
    for (const day of days) {
      const packed = packDay(day, AT_ONCE);
      assert.deepEqual(packedRecordsOf(packed), recordsOf(day));
      const batches = packed.waves.flat().flatMap((part) => part.batches);
      for (const { body, records } of batches) {
        assert.equal((JSON.parse(Buffer.from(body).toString()) as unknown[]).length, records);
        assert.ok(records <= 40);
        assert.equal(body.buffer.byteLength, body.byteLength, "its memory is its own");
      }
      assert.equal(
        packed.bytes,
        batches.reduce((sum, { body }) => sum + body.length, 0),
      );
      const { inventories, groups, reservations } = packed.records;
      assert.equal(inventories + groups + reservations, day.waves.flat().length);
      assert.deepEqual(packed.planted, day.planted);
    }
  });

  test("if paced, has waves by quarters of an hour with the records created in each", () => {
    const day = days[1] as SimulatedDay;
    const { waves } = packDay(day, { ...AT_ONCE, isPaced: true });
    for (const [at, parts] of waves.entries()) {
      const made: Map<number, unknown[]> = Map.groupBy(day.waves[at] ?? [], quarterOf);
      const quarters = [...made.keys()].sort((one, other) => one - other);
      assert.deepEqual(
        parts.map(({ quarter, batches }) => [
          quarter,
          batches.reduce((sum, { records }) => sum + records, 0),
        ]),
        quarters.map((quarter) => [quarter, made.get(quarter)?.length]),
      );
    }
    assert.ok((waves[0]?.length ?? 0) > 10);
  });
});

describe("days that are made on a thread of their own", () => {
  test("equal those packed on this thread, however far ahead they are prepared", async () => {
    const here = [...simulate(OPTIONS)].map((day) => packDay(day, AT_ONCE));
    for (const aheadBytes of [0, 300_000, Number.MAX_SAFE_INTEGER]) {
      const apart = await Array.fromAsync(makeApart(OPTIONS, { ...AT_ONCE, aheadBytes }));
      assert.deepEqual(apart.map(packedRecordsOf), here.map(packedRecordsOf));
      assert.deepEqual(
        apart.map(({ date, planted, records }) => ({ date, planted, records })),
        here.map(({ date, planted, records }) => ({ date, planted, records })),
      );
    }
  });

  test("of a paced simulation begin with a cold start that is sent at once", async () => {
    const days = makeApart(OPTIONS, { ...AT_ONCE, isPaced: true, aheadBytes: 0 });
    const counts: number[] = [];
    for await (const { waves } of days) counts.push(Math.max(...waves.map((parts) => parts.length)));
    assert.equal(counts[0], 1);
    assert.ok(
      counts.slice(1).every((parts) => parts > 5),
      `${counts}`,
    );
  });

  test("stop with their consumer, and pass on errors", async () => {
    const days = makeApart({ ...OPTIONS, days: 3_000 }, { ...AT_ONCE, aheadBytes: 0 });
    assert.equal((await days.next()).done, false);
    await days.return();
    assert.equal((await days.next()).done, true);
    const failing = makeApart({ ...OPTIONS, start: "no date" }, { ...AT_ONCE, aheadBytes: 0 });
    await assert.rejects(failing.next());
  });
});
