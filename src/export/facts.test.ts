import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { microsecondTimestamp } from "#contract/calendar.ts";
import { readRecord } from "#contract/read-record.ts";
import { factsText } from "../../test/contract/facts.ts";
import { type Item, itemsOf, type Shown, shownOf } from "../../test/contract/shown-facts.ts";
import { validRecords } from "../../test/support/valid-records.ts";
import { Batch, plainValue } from "./columns.ts";
import { FACT_TABLES, FactRows, factTableColumns } from "./facts.ts";

type TableName = keyof typeof FACT_TABLES;

/** The items of a record that a table has as rows. */
const ITEMS: Readonly<Record<TableName, (record: Item) => readonly Item[]>> = {
  room_type_inventory: (record) => [
    ...itemsOf(record, "roomTypeInventories"),
    ...itemsOf(record, "virtualRoomTypeInventories"),
  ],
  reservation: (record) => [record],
  room_stay: (record) => itemsOf(record, "roomStays"),
  rate: (record) => itemsOf(record, "roomStays").flatMap((stay) => itemsOf(stay, "rates")),
  daily_revenue: (record) => itemsOf((record["stayRevenue"] ?? {}) as Item, "daily"),
  group_block_master: (record) => [record],
  group_block_night: (record) => itemsOf(record, "groupBlocks"),
};

/** A fact as a row has it. */
function valueIn({ type, text }: Shown): unknown {
  if (text === null) return null;
  if (type === "integer") return Number(text);
  return type === "timestamptz" ? microsecondTimestamp(text) : text;
}

for (const [name, table] of Object.entries(FACT_TABLES))
  test(`every fact of a record is in the table ${name}`, () => {
    const columns = factTableColumns(table);
    const properties = new Map([[1, { clientCode: "ACME", propertyCode: "LIS01" }]]);
    fc.assert(
      fc.property(validRecords(table.resource), (record) => {
        const facts = factsText(
          readRecord(table.resource, Buffer.from(JSON.stringify(record))).content().facts,
        );
        const batch = new Batch(columns, () => assert.fail("A record has few rows."));
        new FactRows(table).add(properties, [1, "K", facts], batch);
        const items = ITEMS[name as TableName](record);
        assert.equal(batch.rows, items.length);
        for (const [row, item] of items.entries()) {
          const values = Object.fromEntries(
            columns.map((column, at) => [
              column.name,
              plainValue(column.type, batch.values[at]?.[row] ?? null),
            ]),
          );
          for (const shown of shownOf(table.object, item))
            assert.deepEqual(values[shown.name], valueIn(shown), shown.name);
        }
      }),
      { numRuns: 100 },
    );
  });
