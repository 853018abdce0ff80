import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { runCommand } from "../../src/cli.ts";
import { csvRecords } from "../../src/partner/csv-records.ts";
import { checkOffline, openFile } from "../../src/partner/file-records.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let directory: string;
before(async () => {
  service = await startTestService();
  directory = await mkdtemp(join(tmpdir(), "bellhop-csv-"));
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

async function command(...args: readonly string[]) {
  const written = { out: "", err: "" };
  const code = await runCommand(
    args,
    {
      DATA_DIR: directory,
      XDG_CACHE_HOME: join(directory, "cache"),
      BELLHOP_URL: service.address,
      BELLHOP_CLIENT_ID: service.client.clientId,
      BELLHOP_CLIENT_SECRET: service.client.clientSecret,
    },
    {
      out: (text: string) => {
        written.out += `${text}\n`;
      },
      err: (text: string) => {
        written.err += text;
      },
    },
  );
  return { code, ...written };
}

async function file(name: string, text: string | Buffer): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, text);
  return path;
}

/** The records of a CSV text, or its error. */
async function read(text: string | Buffer, said?: Resource): Promise<unknown[]> {
  const { records } = await openFile(await file("read.csv", text), said);
  return (await Array.fromAsync(records)).map((record) => record.parse());
}

const RESERVATION = "clientCode,propertyCode,reservationId,lastModifiedDateTime,status";
const VALUES = "ACME,LIS01,R-1,2026-02-01T10:00:00Z,CONFIRMED";
const STAY = "roomStays.arrivalDate,roomStays.departureDate,roomStays.roomTypeCode";
const AUGUST = "2026-08-03,2026-08-05,DLX";

test("without columns of lists every row is a record, also of one key and source time", async () => {
  const rows = ["header", "A", "A"].map((name, at) =>
    at === 0 ? RESERVATION : `C,P,${name},2026-01-01T00:00:00Z,${at === 1 ? "CONFIRMED" : "CANCELLED"}`,
  );
  const records = (await read(`${rows.join("\n")}\n`)) as { status: string }[];
  assert.deepEqual(
    records.map(({ status }) => status),
    ["CONFIRMED", "CANCELLED"],
  );
});

test("the template of each resource is a valid file, whole or short, with any delimiter, a byte order mark, gzip and CRLF", async () => {
  for (const resource of RESOURCES) {
    for (const options of [[], ["--all"]]) {
      const { code, out } = await command("template", resource, ...options);
      assert.equal(code, 0);
      const path = await file(`${resource}.csv.gz`, gzipSync(out));
      const { resource: found, records } = await openFile(path, undefined);
      const all = await Array.fromAsync(records);
      const [record] = all;
      assert.deepEqual([found, all.length], [resource, resource === "reservations" ? 2 : 1]);
      for (const one of all) assert.deepEqual(checkOffline(resource, one).violations, []);
      const plain = record!.toString();
      for (const other of [
        `\uFEFF${out}`,
        out.replaceAll("\n", "\r\n"),
        out.replaceAll(",", ";"),
        out.replaceAll(",", "\t"),
      ])
        if (!out.includes('"')) assert.equal(JSON.stringify((await read(other))[0]), plain);
    }
  }
});

test("dotted names fill the stays, a repeated name the next item, a number that item; empty cells and items are omitted", async () => {
  const header = `${RESERVATION},${STAY},${STAY},roomStays.2.rates.2.rateValue,roomStays.2.rates.1.rateValue,stayRevenue.daily.occupancyDate,stayRevenue.daily.netRoomRevenue,primarySharer,sharers,sharers`;
  const row = `${VALUES},${AUGUST},2026-08-05,2026-08-06,STD,90.10,80,2026-08-03,"1,5",TRUE,R-2,`;
  assert.deepEqual(await read(`${header}\n${row}\n${VALUES.replace("R-1", "R-2")},,,,${AUGUST},,,,,,,\n`), [
    {
      ...{ clientCode: "ACME", propertyCode: "LIS01", reservationId: "R-1" },
      ...{ lastModifiedDateTime: "2026-02-01T10:00:00Z", status: "CONFIRMED" },
      roomStays: [
        { arrivalDate: "2026-08-03", departureDate: "2026-08-05", roomTypeCode: "DLX" },
        {
          ...{ arrivalDate: "2026-08-05", departureDate: "2026-08-06", roomTypeCode: "STD" },
          rates: [{ rateValue: "90.10" }, { rateValue: "80" }],
        },
      ],
      stayRevenue: { daily: [{ occupancyDate: "2026-08-03", netRoomRevenue: "1,5" }] },
      primarySharer: true,
      sharers: ["R-2"],
    },
    {
      ...{ clientCode: "ACME", propertyCode: "LIS01", reservationId: "R-2" },
      ...{ lastModifiedDateTime: "2026-02-01T10:00:00Z", status: "CONFIRMED" },
      roomStays: [{ arrivalDate: "2026-08-03", departureDate: "2026-08-05", roomTypeCode: "DLX" }],
    },
  ]);
});

test("rows with one key and source time are one record, also sent: inventory by a row for each room type", async () => {
  const header =
    "clientCode,propertyCode,occupancyDate,createDateTime,roomTypeInventories.roomTypeCode,roomTypeInventories.roomTypeCapacity,roomTypeInventories.roomsSold";
  const row = (date: string, type: string, sold: number) =>
    `ACME,LIS01,${date},2026-02-01T10:00:00Z,${type},40,${sold}`;
  const rows = [row("2026-08-03", "DLX", 7), row("2026-08-03", "STD", 9), row("2026-08-04", "DLX", 8)];
  const { code, out } = await command("send", await file("nights.csv", [header, ...rows, ""].join("\n")));
  assert.equal(code, 0, out);
  assert.match(out, /nights\.csv: 2 inventories, 2 accepted in 1 batch, 0 rejected/);
  const listed = await service.get("/api/public/v1/inventories?clientCode=ACME&propertyCode=LIS01");
  const items = listed.json()["items"] as { roomTypeInventories: unknown[] }[];
  assert.deepEqual(
    items.map(({ roomTypeInventories }) => roomTypeInventories.length),
    [2, 1],
    listed.text,
  );
});

test("errors of records name line and column in send, its rejected file and validate", async () => {
  const text = [
    `${RESERVATION},${STAY},roomStays.numberOfAdults`,
    `${VALUES},${AUGUST},2`,
    `${VALUES.replace("R-1", "R-2")},2026-08-03,05/08/2026,DLX,"2,5"`,
    `${VALUES.replace("R-1", '"R\n3"')},2026-08-03,2026-08-05,,2`,
    "",
  ].join("\n");
  const path = await file("wrong.csv", text);
  const { code, out } = await command("send", path);
  assert.equal(code, 3);
  assert.match(out, /LINE 3, column roomStays\.departureDate: departureDate must be a calendar date/);
  assert.match(out, /LINE 4: roomTypeCode is required/);
  const lenient = await command("send", path, "--lenient");
  assert.match(lenient.out, /LINE 3, column roomStays\.departureDate: /);
  const checked = await command("validate", path);
  assert.match(
    checked.out,
    /^line 3, column roomStays\.departureDate {2}\/1\/roomStays\/0\/departureDate {2}format\.date/m,
  );
  assert.match(checked.out, /^line 3, column roomStays\.numberOfAdults {2}/m);
});

test("errors of the file name line and column", async () => {
  const whole = `${RESERVATION},${STAY}`;
  for (const [text, expected] of [
    [
      `${whole},roomStay.rateCode\n`,
      /LINE 1: column "roomStay\.rateCode" names no field of reservations \(did you mean roomStays\.rateCode\?\)/,
    ],
    [
      `${whole},stayRevenue.summary\n`,
      /LINE 1: column "stayRevenue\.summary" is an object: name one of its fields/,
    ],
    [`${whole},status\n`, /LINE 1: column "status" occurs twice/],
    [`${whole.replace(",status", "")}\n`, /LINE 1: there is no column "status", which reservations require/],
    [
      `${whole}\n${VALUES},${AUGUST}\n${VALUES},2026-08-03\n`,
      /LINE 3: 6 cells, but the header has 8\. Quote a cell that contains the delimiter ","/,
    ],
    [`${whole}\n${VALUES},"${AUGUST}\n`, /LINE \d: .*Quote/],
    [
      `${whole}\n${VALUES},${AUGUST}\n${VALUES.replace("CONFIRMED", "NEW")},${AUGUST}\n`,
      /LINE 3: column "status" differs from line 2 of the same record/,
    ],
    [
      Buffer.from(`${whole}\n${VALUES},${AUGUST.replace("DLX", "Süd")}\n`, "latin1"),
      /LINE 2: the text from here on is not UTF-8/,
    ],
    ["a,b\n1,2\n", /LINE 1: no column is named reservationId, occupancyDate or groupCode/],
    [`${whole}\n`, /has no records/],
  ] as const)
    await assert.rejects(read(text), expected);
});

test("a file of any size is read with bounded memory", async () => {
  const rows = 200_000;
  const row = (at: number) => `${VALUES.replace("R-1", `R-${at}`)},${AUGUST}\n`;
  const header = `${RESERVATION},${STAY}`;
  async function* bytes() {
    yield Buffer.from(`${header}\n`);
    for (let from = 0; from < rows; from += 1_000)
      yield Buffer.from(Array.from({ length: 1_000 }, (_, at) => row(from + at)).join(""));
  }
  let most = 0;
  let count = 0;
  const before = process.memoryUsage.rss();
  for await (const _ of csvRecords(
    "big.csv",
    "reservations",
    { names: header, delimiter: "," },
    Readable.from(bytes()),
  )) {
    count += 1;
    if (count % 10_000 === 0) most = Math.max(most, process.memoryUsage.rss());
  }
  assert.equal(count, rows);
  assert.ok(most - before < 150 * 1_048_576, `${(most - before) / 1_048_576} MiB`);
});
