import assert from "node:assert/strict";
import { test } from "node:test";
import { read, utils } from "@e965/xlsx";
import { excelColumnsOf, toExcel } from "./excel.ts";

/** Another reader than the writer. */
async function readBack(blob: Blob) {
  const file = read(new Uint8Array(await blob.arrayBuffer()), {
    cellDates: true,
    cellNF: true,
    cellStyles: true,
  });
  return { file, data: file.Sheets["Data"] ?? {}, about: file.Sheets["About"] ?? {} };
}

test("an Excel file read by another reader: types, formats, dates, umlauts, sums, no formula", async () => {
  const { file, data, about } = await readBack(
    await toExcel({
      columns: [
        { head: "Property", kind: "text" },
        { head: "Night", kind: "date" },
        { head: "Rooms", kind: "count" },
        { head: "Change", kind: "change" },
        { head: "Room revenue", kind: "money" },
        { head: "Occupancy", kind: "share" },
        { head: "As of", kind: "instant" },
      ],
      rows: [
        ["Zürich & Söhne <Süd>", "Total", 1_203, -4, "120305.50", "0.7511", null],
        ["0012", "2026-03-29", 1_200, -6, "120000.25", "0.7500", "2026-03-29T01:30:00Z"],
        ["=1+1", "2026-03-30", 3, 2, "305.25", null, "2026-03-30T23:59:59Z"],
        ["a\u0000b", "2026-12-31", null, null, null, null, null],
      ],
      totals: 1,
      about: [
        ["Property", "Zürich"],
        ["First night", "2026-03-29"],
      ],
    }),
  );
  assert.deepEqual(file.SheetNames, ["Data", "About"]);
  const rows = utils.sheet_to_json<unknown[]>(data, { header: 1, raw: true, defval: null, UTC: true });
  assert.deepEqual(rows[0], ["Property", "Night", "Rooms", "Change", "Room revenue", "Occupancy", "As of"]);
  assert.deepEqual(
    rows.map(([property]) => property),
    ["Property", "Zürich & Söhne <Süd>", "0012", "=1+1", "ab"],
  );
  assert.deepEqual(
    rows.slice(2).map((row) => (row[1] as Date).toISOString()),
    ["2026-03-29T00:00:00.000Z", "2026-03-30T00:00:00.000Z", "2026-12-31T00:00:00.000Z"],
  );
  assert.deepEqual(rows[3]?.[6], new Date("2026-03-30T23:59:59Z"));
  for (const [at, total] of [
    [2, 1_203],
    [3, -4],
    [4, 120_305.5],
  ] as const) {
    assert.equal(rows[1]?.[at], total);
    assert.equal(Number(rows[2]?.[at]) + Number(rows[3]?.[at]), total);
  }
  assert.deepEqual(rows[4]?.slice(2), [null, null, null, null, null]);
  const cell = (name: string) => data[name] as { t: string; z?: string; f?: string; w?: string };
  assert.deepEqual(
    ["A2", "B3", "C2", "D2", "E2", "F2", "G3"].map((name) => [cell(name).t, cell(name).z, cell(name).f]),
    [
      ["s", "General", undefined],
      ["d", "yyyy-mm-dd", undefined],
      ["n", "#,##0", undefined],
      ["n", "+#,##0;-#,##0;0", undefined],
      ["n", "#,##0.00", undefined],
      ["n", "0.0%", undefined],
      ["d", "yyyy-mm-dd hh:mm:ss", undefined],
    ],
  );
  assert.equal(cell("A4").t, "s");
  assert.deepEqual(utils.sheet_to_json(about, { header: 1 }), [
    ["Property", "Zürich"],
    ["First night", "2026-03-29"],
  ]);
});

test("the header of an Excel file is frozen, and yen have no decimals", async () => {
  const blob = await toExcel({
    columns: [{ head: "Room revenue", kind: "money" }],
    rows: [["12000"], [null]],
    about: [],
  });
  const { file, data } = await readBack(blob);
  assert.equal((data["A2"] as { z: string }).z, "#,##0");
  const bytes = new Uint8Array(await blob.arrayBuffer());
  const { files } = read(bytes, { bookFiles: true }) as unknown as {
    files: Readonly<Record<string, { content: Uint8Array }>>;
  };
  const sheet = new TextDecoder().decode(files["xl/worksheets/sheet1.xml"]?.content);
  assert.match(sheet, /<pane [^>]*ySplit="1"[^>]*state="frozen"/);
  assert.equal(file.SheetNames[0], "Data");
});

test("columns of an answer have the kinds of their names and values", () => {
  const columns = excelColumnsOf([
    ["stayDate", "rooms", "adr", "occupancy", "rateCode", "receivedAt", "roomRevenue"],
    ["2026-03-29", 3, "120.00", "0.75", "0012", "2026-03-29T01:30:00Z", null],
  ]);
  assert.deepEqual(
    columns.map(({ kind }) => kind),
    ["date", "count", "money", "share", "text", "instant", "text"],
  );
});
