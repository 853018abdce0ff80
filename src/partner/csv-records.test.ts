import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "#contract/resource.ts";
import { columnsOf, csvHeader, csvRecords, examplesOf, hasHeader } from "./csv-records.ts";
import { checkOffline, warningsOffline } from "./file-records.ts";

/** The records of a CSV text, from chunks of a given size, or its error. */
async function read(text: string | Buffer, resource: Resource = "reservations", chunk = 65_536) {
  const bytes = Buffer.from(text);
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
  }
  const header = csvHeader("FILE.csv", bytes);
  assert.ok(header !== undefined && hasHeader(bytes));
  return await Array.fromAsync(csvRecords("FILE", resource, header, chunks()));
}

/** The message of the error that reading ends with. */
async function errorOf(...args: Parameters<typeof read>): Promise<string> {
  try {
    await read(...args);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("no error");
}

const RESERVATION = "clientCode,propertyCode,reservationId,lastModifiedDateTime,status";
const STAY = "roomStays.arrivalDate,roomStays.departureDate,roomStays.roomTypeCode";
const HEADER = `${RESERVATION},${STAY}`;
const stay = (id: string, { time = "T1", property = "P1" } = {}) =>
  `C,${property},${id},${time},CONFIRMED,2027-01-01,2027-01-02,DLX`;

test("rows of one record with other rows between stop the file, of each resource", async () => {
  const scattered = [HEADER, stay("C-3"), stay("C-4"), stay("C-3"), ""].join("\n");
  assert.equal(
    await errorOf(scattered),
    "FILE cannot be read: LINE 4: reservation C-3 also has rows at line 2, with other rows between. Sort the file by reservationId, or give the later version a newer lastModifiedDateTime.",
  );
  const nights =
    "clientCode,propertyCode,occupancyDate,createDateTime,roomTypeInventories.roomTypeCode,roomTypeInventories.roomsSold";
  const night = (date: string, type: string) => `C,P,${date},T1,${type},1`;
  const sorted = [nights, night("2027-01-01", "DLX"), night("2027-01-02", "DLX"), night("2027-01-01", "STD")];
  assert.match(
    await errorOf(sorted.join("\n"), "inventories"),
    /LINE 4: inventory 2027-01-01 also has rows at line 2, .* by occupancyDate, or give the later version a newer createDateTime\.$/,
  );
  const groups = columnsOf("groups", false);
  const block = (code: string, date: string) => {
    const cells: Record<string, string> = { groupCode: code, "groupBlocks.occupancyDate": date };
    return groups.map((name) => cells[name] ?? "1").join(",");
  };
  const blocks = [
    groups.join(","),
    block("G-1", "2027-01-01"),
    block("G-2", "2027-01-01"),
    block("G-1", "2027-01-02"),
  ];
  assert.match(await errorOf(blocks.join("\n"), "groups"), /LINE 4: group G-1 also has rows at line 2, /);
});

test("rows that alternate in a code or the source time are to be sorted by it too", async () => {
  const rows = [stay("R"), stay("R", { property: "P2" }), stay("R")];
  assert.match(
    await errorOf([HEADER, ...rows].join("\n")),
    /Sort the file by propertyCode, then by reservationId, or/,
  );
  const times = [stay("R"), stay("R", { time: "T2" }), stay("R")];
  assert.match(
    await errorOf([HEADER, ...times].join("\n")),
    /Sort the file by reservationId, then by lastModifiedDateTime, or/,
  );
});

test("another source time or property, missing keys and a file without lists are no rows of one record", async () => {
  const other = [
    stay("R"),
    stay("R", { time: "T2" }),
    stay("R", { property: "P2" }),
    stay(""),
    stay("S"),
    stay(""),
  ];
  assert.equal((await read([HEADER, ...other].join("\n"))).length, 6);
  const plain = ["A", "B", "A"].map((id) => `C,P,${id},T1,CONFIRMED`);
  assert.equal((await read([RESERVATION, ...plain].join("\n"))).length, 3);
});

test("a misspelt column is answered with the whole name that works", async () => {
  for (const [name, meant] of [
    ["roomStays.arivalDate", "roomStays.arrivalDate"],
    ["arrivalDate", "roomStays.arrivalDate"],
    ["RoomStays.ArrivalDate", "roomStays.arrivalDate"],
    ["roomStay.rateCode", "roomStays.rateCode"],
    ["roomStays.2.arivalDate", "roomStays.2.arrivalDate"],
    ["netRoomRevenu", "stayRevenue.daily.netRoomRevenue"],
    ["nationalty", "nationality"],
  ] as const) {
    assert.equal(
      await errorOf(`${RESERVATION},${name}\n`),
      `FILE cannot be read: LINE 1: column "${name}" names no field of reservations (did you mean ${meant}?).`,
    );
    await read(`${RESERVATION},${meant}\n`);
  }
  assert.match(await errorOf(`${RESERVATION},loyalty\n`), /names no field of reservations\.$/);
});

test("a text that is not UTF-8 is reported with the line of its first wrong byte, wherever the chunks end", async () => {
  const rows = ["ä1", "€2", "😀3"].map((id) => stay(id));
  const text = Buffer.from(`${[HEADER, ...rows].join("\n")}\n`);
  const wrong = Buffer.from(`${stay("Süd")}\n${stay("Süd2")}\n`, "latin1");
  for (const chunk of [1, 2, 3, 5, 64, 65_536]) {
    assert.equal((await read(text, "reservations", chunk)).length, 3);
    const message = await errorOf(Buffer.concat([text, wrong]), "reservations", chunk);
    assert.match(message, /LINE 5: the text from here on is not UTF-8\. Save the file as CSV UTF-8\.$/);
  }
  const cut = Buffer.concat([text, Buffer.from(stay("R")), Buffer.from("😀").subarray(0, 3)]);
  assert.match(await errorOf(cut), /LINE 5: the text from here on is not UTF-8/);
});

test("the line sep=; of Excel sets the delimiter, and is not the header", async () => {
  const lines = [`${HEADER},roomStays.rates.rateValue`, `${stay("R")},1`].join("\n").replaceAll(",", ";");
  for (const start of ["sep=;\n", "SEP=;\r\n", "\uFEFFsep=;\n"]) {
    const [record, ...more] = await read(
      `${start}${lines}\n`.replace(/\r?\n/g, start.includes("\r") ? "\r\n" : "\n"),
    );
    assert.ok(record !== undefined);
    assert.deepEqual([record.line, more], [3, []]);
    assert.equal((record.parse() as { reservationId: string }).reservationId, "R");
    assert.equal(hasHeader(Buffer.from(`${start}clientCode`)), false);
  }
});

test("dates and numbers as a German Excel writes them are answered with how to write them", async () => {
  const header = `${HEADER},roomStays.rates.rateValue,roomStays.numberOfAdults`;
  const row = "C;P;R;01.02.2027 10:00;CONFIRMED;01.02.2027;2027-02-30;DLX;1.129,00;2,0";
  const [record] = await read(`sep=;\n${header.replaceAll(",", ";")}\n${row}\n`);
  const { violations } = checkOffline("reservations", record!);
  const adviceOf = (field: string) =>
    violations.find(({ pointer }) => pointer.endsWith(`/${field}`))?.message.split(": write ")[1];
  assert.equal(adviceOf("arrivalDate"), "YYYY-MM-DD (in Excel: format the column as text)");
  assert.equal(
    adviceOf("lastModifiedDateTime"),
    "YYYY-MM-DDThh:mm:ssZ (in Excel: format the column as text)",
  );
  assert.equal(adviceOf("rateValue"), "129.00 with a point (in Excel: format the column as text)");
  assert.equal(adviceOf("numberOfAdults"), "129.00 with a point (in Excel: format the column as text)");
  assert.equal(adviceOf("departureDate"), undefined);
});

test("the template of reservations has a confirmed one, and a cancelled one with its time and reason", async () => {
  for (const isWhole of [false, true]) {
    const columns = columnsOf("reservations", isWhole);
    const rows = [columns, ...examplesOf("reservations", columns)].map((cells) => cells.join("\t"));
    const records = await read(rows.join("\n"));
    for (const record of records) {
      assert.deepEqual(checkOffline("reservations", record).violations, []);
      assert.deepEqual(warningsOffline("reservations", record), []);
    }
    const [first, second] = records.map((record) => record.parse() as Record<string, unknown>);
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(first["status"], "CONFIRMED");
    for (const name of ["cancellationDateTime", "cancellationReason", "shareId", "multiReservationId"])
      assert.equal(first[name], undefined);
    assert.ok(!JSON.stringify(first).includes("groupBlockCode"));
    assert.equal(second["status"], "CANCELLED");
    assert.ok(second["cancellationDateTime"] !== undefined && second["cancellationReason"] !== undefined);
  }
});
