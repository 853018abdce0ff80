import { readFileSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";

/**
 * Makes `data/hotel-bookings.csv.gz` of the whole data set (see README.md beside this file for its source and licence):
 * `node test/workload/extract-bookings.ts <hotel-bookings.csv.gz> [rows]`. Every k-th row, so nothing is left to chance.
 */
const ROWS = 8_000;
const COLUMNS = [
  "hotel",
  "is_canceled",
  "lead_time",
  "adults",
  "children",
  "babies",
  "meal",
  "country",
  "market_segment",
  "distribution_channel",
  "reserved_room_type",
  "assigned_room_type",
  "booking_changes",
  "agent",
  "company",
  "customer_type",
  "adr",
] as const;

const [source, rows] = process.argv.slice(2);
if (source === undefined) throw new Error("Name the file of the whole data set.");
const wanted = rows === undefined ? ROWS : Number(rows);
const [header = "", ...lines] = gunzipSync(readFileSync(source)).toString("utf8").trim().split(/\r?\n/);
const names = header.split(",");
const pickedColumns = COLUMNS.map((name) => names.indexOf(name));
const cell = (cells: readonly string[], name: string): string => cells[names.indexOf(name)] ?? "";

const picked = Array.from({ length: wanted }, (_, at) => {
  const cells = (lines[Math.floor((at * lines.length) / wanted)] ?? "").split(",");
  const arrival = new Date(
    `${cell(cells, "arrival_date_day_of_month")} ${cell(cells, "arrival_date_month")} ${cell(cells, "arrival_date_year")} UTC`,
  );
  const nights = Number(cell(cells, "stays_in_weekend_nights")) + Number(cell(cells, "stays_in_week_nights"));
  return [arrival.toISOString().slice(0, 10), nights, ...pickedColumns.map((at) => cells[at] ?? "")].join(
    ",",
  );
});
const text = [["arrival_date", "nights", ...COLUMNS].join(","), ...picked, ""].join("\n");
writeFileSync(new URL("./data/hotel-bookings.csv.gz", import.meta.url), gzipSync(text, { level: 9 }));
console.log(`${picked.length} bookings written.`);
