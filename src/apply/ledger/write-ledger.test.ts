import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Dimensions } from "./write-ledger.ts";

const code = fc.constantFrom(null, "", "A", "null");
const codes = fc.record({
  status: code,
  roomTypeCode: code,
  bookedRoomTypeCode: code,
  marketSegmentCode: code,
  groupBlockCode: code,
  rateCode: code,
  channel: code,
  currencyCode: code,
  cause: fc.constantFrom(null, null, "posted" as const, "dayUse" as const),
});

test("a dimension's number depends on its eight codes and its cause, whatever is cached", () => {
  const dimensions = new Dimensions();
  fc.assert(
    fc.property(codes, fc.nat(2), (of, propertyId) => {
      const { high, low } = dimensions.of({ bucket: 1, propertyId, resource: "r", key: "K" }, of);
      const number = Buffer.alloc(8);
      number.writeInt32BE(high, 0);
      number.writeInt32BE(low, 4);
      const list: (string | null)[] = [
        of.status,
        of.roomTypeCode,
        of.bookedRoomTypeCode,
        of.marketSegmentCode,
      ];
      list.push(of.groupBlockCode, of.rateCode, of.channel, of.currencyCode);
      if (of.cause !== null) list.push(of.cause);
      const expected = hash("sha256", JSON.stringify(list), "buffer").subarray(0, 8);
      assert.deepEqual(number, expected);
    }),
    { numRuns: 10_000 },
  );
});
