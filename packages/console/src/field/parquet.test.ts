import assert from "node:assert/strict";
import { test } from "node:test";
import { parquetMetadata, parquetReadObjects } from "hyparquet";
import { toParquet } from "./parquet.ts";

test("rows as Parquet: dates, instants and amounts have types, codes that look like numbers are text", async () => {
  const file = toParquet([
    ["stayDate", "receivedAt", "roomRevenue", "occupancy", "rooms", "rate", "propertyCode", "note"],
    ["2026-03-14", "2026-03-14T09:30:00.123456Z", "-1234.5", "0.75", 3, 1.5, "0012", null],
    ["2026-03-15", "2026-03-14T09:30:00Z", "99999999999999.9999", null, -1, 2, "0013", null],
    [null, null, "0", "1", null, null, "=A1", null],
  ]);
  const types = parquetMetadata(file).schema.slice(1);
  assert.deepEqual(
    types.map(({ name, type, converted_type }) => `${name} ${converted_type ?? type}`),
    [
      "stayDate DATE",
      "receivedAt TIMESTAMP_MICROS",
      "roomRevenue DECIMAL",
      "occupancy DECIMAL",
      "rooms INT32",
      "rate DOUBLE",
      "propertyCode UTF8",
      "note UTF8",
    ],
  );
  const rows = await parquetReadObjects({ file });
  assert.deepEqual(rows.at(0), {
    stayDate: new Date("2026-03-14T00:00:00Z"),
    receivedAt: new Date("2026-03-14T09:30:00.123Z"),
    roomRevenue: -1234.5,
    occupancy: 0.75,
    rooms: 3,
    rate: 1.5,
    propertyCode: "0012",
    note: null,
  });
  assert.deepEqual(
    rows.map(({ propertyCode }) => propertyCode),
    ["0012", "0013", "=A1"],
  );
  assert.equal(rows.at(2)?.["stayDate"], null);
});

test("an amount below one keeps its sign", async () => {
  const file = toParquet([["adr"], ["-0.25"], ["0.25"]]);
  assert.deepEqual(await parquetReadObjects({ file }), [{ adr: -0.25 }, { adr: 0.25 }]);
});

test("a column of mixed values, or without any, is text", async () => {
  const file = toParquet([
    ["a", "b"],
    ["2026-03-14", null],
    [7, null],
  ]);
  assert.deepEqual(await parquetReadObjects({ file }), [
    { a: "2026-03-14", b: null },
    { a: "7", b: null },
  ]);
});
