import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { checkRecord } from "../../contract/src/check-record.ts";
import { readBatch } from "../../contract/src/read-batch.ts";
import { readRecord } from "../../contract/src/read-record.ts";
import { FAULT_NAMES, type FaultName } from "./faults.ts";
import type { SimulatedRecord } from "./records.ts";
import { SIMULATED_RESOURCES } from "./simulated-record.ts";
import { type SimulatedDay, type SimulationOptions, simulate } from "./simulation.ts";

const OPTIONS: SimulationOptions = {
  seed: 1,
  properties: 2,
  days: 4,
  start: "2025-03-01",
  clientCode: "DEMO",
  horizonDays: 30,
  faults: new Set(),
};
/** The digest of OPTIONS with all faults. Only changes to the simulator or its calibration change it. */
const SHA256 = "1a373f6dc842659f2a5f17a298c4704b8b98f708df174c6de8bd397d0a9d5d6b";

const all = new Set<FaultName>(FAULT_NAMES);
const daysOf = (options: Partial<SimulationOptions> = {}): SimulatedDay[] => [
  ...simulate({ ...OPTIONS, ...options }),
];
const recordsOf = (days: readonly SimulatedDay[]): SimulatedRecord[] =>
  days.flatMap(({ waves }) => waves.flat());
const textOf = (days: readonly SimulatedDay[]): string =>
  days
    .flatMap(({ waves, planted }) => [
      ...waves.flatMap((wave) => ["wave", ...wave.map(({ json }) => json.toString())]),
      ...planted.map((one) => JSON.stringify(one)),
    ])
    .join("\n");

describe("the same seed", () => {
  const plain = daysOf();
  const faulty = daysOf({ faults: all });

  test("makes the same records and faults, byte for byte, today and on every machine", () => {
    const text = textOf(faulty);
    assert.equal(textOf(daysOf({ faults: all })), text);
    assert.equal(createHash("sha256").update(text).digest("hex"), SHA256);
    assert.notEqual(textOf(daysOf({ faults: all, seed: 2 })), text);
  });

  test("makes the same days of a hotel whatever the number of hotels and days is", () => {
    const ofFirst = (days: readonly SimulatedDay[]) =>
      recordsOf(days)
        .filter(({ propertyCode }) => propertyCode === "CITY001")
        .map(({ json }) => json.toString());
    assert.deepEqual(ofFirst(daysOf({ properties: 1 })), ofFirst(plain));
    assert.deepEqual(ofFirst(daysOf({ days: 6 }).slice(0, plain.length)), ofFirst(plain));
  });

  test("a hotel's events are the same with faults: only what is sent differs", () => {
    const contentsOf = (days: readonly SimulatedDay[]) =>
      new Set(recordsOf(days).map(({ json }) => json.toString()));
    // Late, repeated and reordered records all arrive in the end.
    const sent = contentsOf(daysOf({ faults: new Set<FaultName>(["late", "duplicate", "out-of-order"]) }));
    assert.deepEqual(sent, contentsOf(plain));
  });
});

describe("the records of a simulation", () => {
  const days = daysOf({ properties: 5, days: 1 });

  test("are valid, and nothing in them is doubtful but overbooked nights", () => {
    const warned = new Set<string>();
    for (const resource of SIMULATED_RESOURCES) {
      const records = recordsOf(days).filter((record) => record.resource === resource);
      assert.ok(records.length > 10, resource);
      for (let from = 0; from < records.length; from += 1_000) {
        const some = records.slice(from, from + 1_000);
        const body = Buffer.from(`[${some.map(({ json }) => json).join(",")}]`);
        const batch = readBatch(body, { recordsMax: 1_000, depthMax: 16 });
        assert.ok(batch.ok);
        for (const record of batch.records) {
          assert.deepEqual(
            checkRecord(resource, record, 10).violations,
            [],
            some[record.index]?.json.toString(),
          );
          const { warnings } = readRecord(resource, body.subarray(record.start, record.end)).content();
          for (const { code } of warnings.list()) warned.add(code);
        }
      }
    }
    warned.delete("inventory.oversold");
    assert.deepEqual([...warned], []);
  });

  test("include groups, shares, day use, several rooms, links, and every final state", () => {
    const text = recordsOf(daysOf({ properties: 2, days: 20, horizonDays: 5 }))
      .map(({ json }) => json.toString())
      .join("\n");
    const wanted = {
      share: /"shareId":"SH/,
      group: /"groupBlockCode":"G/,
      "day use": /"arrivalDate":"([\d-]+)","departureDate":"\1"/,
      rooms: /"numberOfRooms":3/,
      linked: /"multiReservationId":"M/,
      cancelled: /"status":"CANCELLED"/,
      "no-show": /"status":"NO_SHOW"/,
      "in house": /"status":"IN_HOUSE"/,
      departed: /"status":"CHECKED_OUT"/,
      "given another room": /"roomTypeCode":"SUP","bookedRoomTypeCode":"STD"/,
      children: /"childAgeBuckets":\[\{/,
      "numeric text": /"numberOfAdults":"2"/,
      "not available": /"roomsNotAvailableMaintenance":[12]/,
      "group given up": /"groupStatusCode":"CANCELLED"/,
      "group lost": /"groupStatusCode":"LOST"/,
      "group asked": /"groupStatusCode":"TENTATIVE"/,
    };
    const missing = Object.entries(wanted).filter(([, pattern]) => !pattern.test(text));
    assert.deepEqual(missing, []);
  });
});
