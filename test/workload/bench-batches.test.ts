import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import { Batches, hotelCode } from "../../bench/batches.ts";
import { type BenchCase, CASES } from "../../bench/cases.ts";

type Sent = Record<string, unknown>;
const TIMES = ["createDateTime", "lastModifiedDateTime"];

function shortened(name: string, batches: number): BenchCase {
  const found = CASES.find((benchCase) => benchCase.name === name) as BenchCase;
  return { ...found, recordsPerRound: batches * found.recordsPerBatch, hotels: 2 };
}

function recordsOf(bodies: readonly Buffer[]): Sent[] {
  return bodies.flatMap((body) => JSON.parse(body.toString("utf8")) as Sent[]);
}

function keyOf(record: Sent): string {
  const key = record["reservationId"] ?? record["groupCode"] ?? record["occupancyDate"];
  return `${record["propertyCode"]} ${key}`;
}

function contentOf(record: Sent): string {
  return JSON.stringify({
    ...record,
    correlationId: "",
    ...Object.fromEntries(TIMES.map((name) => [name, ""])),
  });
}

/** The records of two rounds that follow each other, by key. */
function twoRounds(benchCase: BenchCase): [Map<string, Sent>, Map<string, Sent>] {
  const batches = new Batches(benchCase);
  batches.bodiesOf(0);
  const [one, two] = [1, 2].map((round) => recordsOf(batches.bodiesOf(round)));
  const byKey = (records: Sent[] | undefined) =>
    new Map((records ?? []).map((record) => [keyOf(record), record]));
  return [byKey(one), byKey(two)];
}

function changedShare([before, after]: readonly [Map<string, Sent>, Map<string, Sent>]): number {
  const changed = [...after].filter(
    ([key, record]) => contentOf(record) !== contentOf(before.get(key) ?? {}),
  );
  return changed.length / after.size;
}

describe("the bodies that the bench sends", () => {
  for (const { name } of CASES) {
    test(`${name}: all are valid, of one round each key once, at the case's hotels`, () => {
      const benchCase = shortened(name, 4);
      const batches = new Batches(benchCase);
      for (let round = 0; round < 3; round += 1) {
        const bodies = batches.bodiesOf(round);
        for (const body of bodies) {
          const reading = readBatch(body, { recordsMax: 10_000, depthMax: 16 });
          assert.ok(reading.ok);
          for (const record of reading.records)
            assert.deepEqual(checkRecord(benchCase.resource, record, 9).violations, []);
        }
        const records = recordsOf(bodies);
        assert.equal(new Set(records.map(keyOf)).size, benchCase.recordsPerRound);
        const hotels = [0, 1].map((at) => hotelCode(benchCase.firstHotel + at));
        assert.deepEqual([...new Set(records.map((record) => record["propertyCode"]))].sort(), hotels);
      }
    });
  }

  test("new records have keys that no round before had", () => {
    const [before, after] = twoRounds(shortened("inventories-730-new", 4));
    assert.deepEqual(
      [...after.keys()].filter((key) => before.has(key)),
      [],
    );
  });

  test("changed records have the keys of the round before, a newer time and other content", () => {
    const [before, after] = twoRounds(shortened("reservations-100-changed", 4));
    assert.deepEqual([...after.keys()], [...before.keys()]);
    assert.equal(changedShare([before, after]), 1);
    const timeOf = (records: Map<string, Sent>) => String([...records.values()][0]?.["lastModifiedDateTime"]);
    assert.ok(timeOf(after) > timeOf(before));
  });

  for (const name of ["reservations-100-unchanged90", "inventories-730-unchanged90"]) {
    test(`${name}: one record in ten has other content than the round before, all a newer time`, () => {
      const rounds = twoRounds(shortened(name, 4));
      assert.ok(Math.abs(changedShare(rounds) - 0.1) < 0.01);
    });
  }
});
