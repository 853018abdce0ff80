import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { QueryConfig } from "pg";
import { Batch } from "../../src/export/columns.ts";
import { addNights } from "../../src/export/nights.ts";
import { FORMATS } from "../../src/export/row-file.ts";
import { type ExportOptions, runExport } from "../../src/export/run-export.ts";
import { DEFAULT_TABLES, TABLE_NAMES, TABLES } from "../../src/export/tables.ts";
import { bucketOf, ID_LOWEST } from "../../src/ingest/log/part-name.ts";
import { bellhop } from "../support/command.ts";
import { createTestDatabase } from "../support/database.ts";
import { run } from "../support/erasure-fixture.ts";
import { insightItems } from "../support/insight-fixture.ts";
import {
  apply,
  group,
  inventory,
  readAll,
  reservation,
  resolveQuarantined,
} from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { SeededRandom } from "../workload/seeded-random.ts";
import { comparable, foldedRows, passesOf, readManifest, rowsOfCsv } from "./exported-rows.ts";

const GUEST = "Wilhelmina Quesada-Throckmorton";
const DAY_MS = 86_400_000;
const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const EXAMPLE = fileURLToPath(new URL("../../examples/export/read_export.py", import.meta.url));
const execute = promisify(execFile);
/** A Python with DuckDB and pandas. */
const PYTHON_PATH = process.env["EXPORT_PYTHON"] ?? "python3";
const PYTHON = await execute(PYTHON_PATH, ["-c", "import duckdb, pandas"]).then(
  () => ({}),
  () => ({ skip: "needs a Python with duckdb and pandas: EXPORT_PYTHON=PATH" }),
);
const random = new SeededRandom(25);
let service: TestService;
let directory: string;
let folders = 0;
/** Source times go on, so that what is sent later is current. */
let minutes = 0;

const inFolder = (name: string) => join(directory, name);
const newFolder = () => inFolder(`export-${++folders}`);
const date = (day: number) => new Date(Date.UTC(2026, 6, 1) + day * DAY_MS).toISOString().slice(0, 10);
const pick = <Item>(...items: readonly Item[]): Item => items[random.between(0, items.length - 1)] as Item;

const exportTo = (folder: string, options: Partial<ExportOptions> = {}) =>
  runExport({
    clientConfig: service.database.clientConfig,
    pool: service.pool,
    directory: folder,
    full: false,
    ...options,
  });

/** Only Lisbon's first hotel has amounts that no decimal of 18 digits holds. */
function stayAt(propertyCode: string) {
  const arrival = random.between(0, 20);
  const amount = pick(
    "101.10",
    "80",
    "0.3333",
    ...(propertyCode === "LIS01" ? ["99.999999", "123456789012345678.91"] : []),
  );
  return {
    arrivalDate: date(arrival),
    departureDate: date(arrival + random.between(0, 5)),
    roomTypeCode: pick("DLX", "STD", "S,\"W'"),
    marketSegmentCode: pick("LEISURE", "CORP"),
    currencyCode: pick("EUR", "USD"),
    numberOfAdults: random.between(1, 3),
    rates: [{ rateValue: amount, grossRateValue: pick("120", "99.01") }],
  };
}

const sent: object[] = [];

/** Some reservations: new and known ones, some older than what is current, some repeated with a newer source time. */
function batch(count: number): object[] {
  const made = Array.from({ length: count }, () => {
    minutes += 1;
    const modified = new Date(Date.UTC(2026, 0, 1) + (minutes - pick(0, 0, 0, 50)) * 60_000).toISOString();
    if (sent.length > 0 && pick(false, false, false, true))
      return { ...pick(...sent), lastModifiedDateTime: modified };
    const propertyCode = pick("LIS01", "LIS02", "OPO01");
    return {
      ...reservation(`R-${random.between(1, 40)}`, modified),
      propertyCode,
      status: pick("CONFIRMED", "CONFIRMED", "CANCELLED"),
      roomStays: Array.from({ length: random.between(1, 2) }, () => stayAt(propertyCode)),
      numberOfRooms: pick(1, 1, 2),
      profiles: [{ id: "P-1", name: GUEST, profileType: "GUEST" }],
      remark: 'in two lines\nand "quoted", too',
      ...pick({}, {}, { shareId: `S-${random.between(1, 3)}` }),
    };
  });
  sent.push(...made);
  return made;
}

/** Two groups, one of which loses its blocks or gets them back. */
function groups(): object[] {
  minutes += 1;
  const modified = new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString();
  const blocks = [0, 1, 1].map((day) => ({
    ...{ occupancyDate: date(day), roomTypeCode: pick("DLX", "STD"), blocks: random.between(-1, 9) },
    ...pick({}, { pickup: 2, originalBlocks: 9, currencyCode: "EUR" }),
  }));
  return [
    group("G1", modified, { groupBlocks: blocks, masterGroupCode: "G2" }),
    group("G2", modified, { groupBlocks: pick([], blocks) }),
  ];
}

before(async () => {
  directory = await temporaryDirectory("export");
  service = await startTestService();
  // On several lines, as some partners send them.
  const lines = JSON.stringify([inventory("2026-07-14", "2026-01-01T00:00:00Z")], null, 2);
  await apply(service, "inventories", lines.replaceAll("\n", "\r\n"));
  await apply(service, "groups", [group("G1", "2026-01-01T00:00:00Z")]);
  await apply(service, "reservations", batch(60));
});
after(async () => {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
});

/** What a reader makes of the folder, by table. */
async function stateOf(folder: string): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const table of TABLE_NAMES) tables[table] = comparable(await foldedRows(folder, table));
  return tables;
}

const filesBelow = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe("an export", () => {
  for (const format of FORMATS)
    test(`as ${format}: runs of what changed add up to one of everything`, async () => {
      const folder = newFolder();
      // Tables of fields differ from the others by their columns alone, so one format has them.
      const tables = format === "parquet" ? TABLE_NAMES : DEFAULT_TABLES;
      const first = await exportTo(folder, { format, tables });
      assert.equal(first.full, "the folder had no export");
      for (let round = 0; round < 3; round += 1) {
        await apply(service, "reservations", batch(8));
        await apply(service, "groups", groups());
        await apply(service, "groups", [group(`G${round}`, `2026-01-02T00:0${round}:00Z`)]);
        const next = await exportTo(folder);
        assert.equal(next.full, null);
        const written = next.written.flatMap(({ files }) => files).find(({ table }) => table === "records");
        assert.ok((written?.rows ?? 0) > 0 && (written?.rows ?? 0) <= 9, `${written?.rows} records`);
      }
      const whole = newFolder();
      await exportTo(whole, { format, tables });
      assert.deepEqual(await stateOf(folder), await stateOf(whole));
      const manifest = await readManifest(folder);
      for (const table of tables) {
        const [row] = await foldedRows(folder, table);
        // No reservation here has revenue by day.
        if (table !== "daily_revenue")
          assert.deepEqual(
            Object.keys(row ?? {}),
            manifest.tables[table]?.columns.map(({ name }) => name),
          );
      }
    });

  test("has every current record, every version verbatim and the outcomes", async () => {
    const folder = newFolder();
    await exportTo(folder, { format: "ndjson" });
    for (const propertyCode of ["LIS01", "LIS02", "OPO01"]) {
      const records = (await foldedRows(folder, "records")).filter(
        (row) => row["property_code"] === propertyCode && row["resource"] === "reservations",
      );
      const versions = await foldedRows(folder, "versions");
      const contents = records.map(({ key, source_time, content_hash }) => {
        const own = versions.filter((row) => row["property_code"] === propertyCode && row["key"] === key);
        return own.find(
          (row) => row["source_time"] === source_time && row["content_hash"] === content_hash,
        )?.["content"];
      });
      const read = await readAll(service, `reservations?clientCode=ACME&propertyCode=${propertyCode}`);
      // A record repeated with a newer source time is the same but for that.
      const withoutTime = (rows: readonly unknown[]) =>
        comparable(rows.map((row) => ({ ...(row as Record<string, unknown>), lastModifiedDateTime: null })));
      assert.deepEqual(withoutTime(contents), withoutTime(read));
    }
    const outcomes = await foldedRows(folder, "outcomes");
    const versions = await foldedRows(folder, "versions");
    for (const outcome of ["applied", "unchanged", "stale"]) {
      const counted = outcomes.reduce((sum, row) => sum + Number(row[outcome]), 0);
      assert.equal(versions.filter((row) => row["outcome"] === outcome).length, counted, outcome);
    }
    for (const outcome of ["unchanged", "stale"])
      assert.ok(
        versions.some((row) => row["outcome"] === outcome),
        outcome,
      );
  });

  for (const format of FORMATS)
    test(
      `as ${format}: the example in Python agrees with on-the-books to the last digit`,
      PYTHON,
      async () => {
        const folder = newFolder();
        await exportTo(folder, { format });
        await apply(service, "reservations", batch(10));
        // The smallest id of a share has no room of its own.
        const sharers = [0, 1].map((numberOfRooms) => ({
          ...reservation(`A-${numberOfRooms}`, "2026-01-01T00:00:00Z"),
          propertyCode: "LIS02",
          roomStays: [
            {
              arrivalDate: date(30),
              departureDate: date(31),
              roomTypeCode: `T${numberOfRooms}`,
              numberOfAdults: 1,
            },
          ],
          numberOfRooms,
          shareId: "A",
        }));
        await apply(service, "reservations", sharers);
        await exportTo(folder);
        for (const propertyCode of ["LIS02", "OPO01"]) {
          const { stdout } = await execute(PYTHON_PATH, [EXAMPLE, folder, "ACME", propertyCode, "CONFIRMED"]);
          const question = { clientCode: "ACME", propertyCode, from: date(0), to: date(40), by: "roomType" };
          const cells = (await insightItems(service, "on-the-books", question)).map((item) => ({
            stay_date: item["stayDate"],
            room_type_code: item["roomType"],
            currency_code: item["currency"],
            rooms: Number(item["rooms"]),
            adults: Number(item["adults"]),
            children: Number(item["children"]),
            room_revenue: Number(item["roomRevenue"]).toFixed(4),
            gross_room_revenue: Number(item["grossRoomRevenue"]).toFixed(4),
          }));
          const read = rowsOfCsv(stdout).map((row) => ({
            ...row,
            stay_date: String(row["stay_date"]).slice(0, 10),
            rooms: Number(row["rooms"]),
            adults: Number(row["adults"]),
            children: Number(row["children"]),
            room_revenue: Number(row["room_revenue"]).toFixed(4),
            gross_room_revenue: Number(row["gross_room_revenue"]).toFixed(4),
          }));
          // Nights of nothing are in an export, and dates of day use only among the items.
          const hasGuests = ({ rooms, adults }: { rooms: number; adults: number }) => rooms + adults > 0;
          const counted = cells.filter(hasGuests);
          assert.ok(counted.length > 10, `${counted.length} cells`);
          assert.deepEqual(comparable(read.filter(hasGuests)), comparable(counted));
        }
      },
    );

  test(
    "the example in Python reads every table, also one that has no rows yet, and so no files",
    PYTHON,
    async () => {
      const folder = newFolder();
      await exportTo(folder, { tables: TABLE_NAMES });
      const counting = `import json, sys; from read_export import open_export
export = open_export(sys.argv[1])
print(json.dumps({name: export.sql(f"select count(*) from {name}").fetchall()[0][0] for name in sys.argv[2:]}))`;
      const counted = await execute(PYTHON_PATH, ["-B", "-c", counting, folder, ...TABLE_NAMES], {
        cwd: dirname(EXAMPLE),
      });
      for (const [table, count] of Object.entries(JSON.parse(counted.stdout) as object))
        assert.equal(count, (await foldedRows(folder, table)).length, table);
      const manifest = await readManifest(folder);
      await writeFile(join(folder, "manifest.json"), JSON.stringify({ ...manifest, passes: [] }));
      const { stdout } = await execute(PYTHON_PATH, [EXAMPLE, folder, "ACME", "LIS02", "CONFIRMED"]);
      assert.match(stdout, /^stay_date,room_type_code,.*\n$/);
    },
  );

  test("keeps amounts that no decimal of 18 digits holds as texts", async () => {
    const folder = newFolder();
    await exportTo(folder, { format: "csv" });
    const texts = new Set((await foldedRows(folder, "nights")).map((row) => row["long_room_revenue"]));
    assert.ok(texts.has("123456789012345678.91") && texts.has("99.999999"), [...texts].join(" "));
  });

  test("names in its manifest what retention no longer keeps, with the resource as in its tables", async () => {
    await service.pool.query(
      `insert into bellhop.retention_horizon (client_code, resource, kind, known_from)
      values ('GONE', 'r', 'versions', '2020-01-01T00:00:00Z')`,
    );
    const folder = newFolder();
    await exportTo(folder, { tables: ["records"] });
    const gone = {
      clientCode: "GONE",
      resource: "reservations",
      kind: "versions",
      knownFrom: "2020-01-01T00:00:00.000Z",
    };
    assert.deepEqual((await readManifest(folder)).retention, [gone]);
  });

  test("a run with nothing to write writes no file", async () => {
    const folder = newFolder();
    await exportTo(folder, { tables: ["nights"] });
    const before = await filesBelow(folder);
    const again = await exportTo(folder);
    assert.deepEqual(again.written, []);
    assert.deepEqual(await filesBelow(folder), before);
    assert.deepEqual((await readManifest(folder)).basis.tables, ["records", "nights"]);
  });

  test("has the files that its manifest names, however the folder is written", async () => {
    const folder = newFolder();
    for (const name of [`${folder}/`, relative("", folder), `./${relative("", folder)}//`]) {
      await exportTo(name, { full: true });
      assert.ok((await foldedRows(folder, "records")).length > 0, name);
    }
  });

  test("a killed run leaves the previous files, and the next one reuses its finished files", async () => {
    const folder = newFolder();
    await assert.rejects(
      exportTo(folder, {
        progress: (table, bucket) => {
          if (table === "versions" && bucket === 20) throw new Error("killed");
        },
      }),
      /killed/,
    );
    await assert.rejects(readManifest(folder));
    const kept = join(folder, "records/pass=1/1.parquet");
    const { ino } = await stat(kept);
    await apply(service, "reservations", batch(5));
    await exportTo(folder);
    assert.equal((await stat(kept)).ino, ino);
    const whole = newFolder();
    await exportTo(whole);
    assert.deepEqual(await stateOf(folder), await stateOf(whole));
    assert.ok(!(await filesBelow(folder)).some((path) => path.endsWith(".partial")));
    assert.ok(!(await filesBelow(folder)).includes(join(folder, "unfinished.json")));
  });

  test("has a record released from quarantine since, with its outcome", async () => {
    const folder = newFolder();
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
    const requestId = await apply(service, "reservations", [reservation("LATER", tomorrow)]);
    await exportTo(folder, { format: "ndjson" });
    const own = async (table: string) =>
      (await foldedRows(folder, table)).filter((row) => row["request_id"] === requestId);
    assert.deepEqual([(await own("versions")).length, (await own("outcomes"))[0]?.["quarantined"]], [0, 1]);
    await resolveQuarantined(service, "release", requestId, 0, bucketOf("ACME", "LIS01"));
    await exportTo(folder);
    assert.deepEqual(
      (await own("versions")).map((row) => row["key"]),
      ["LATER"],
    );
    const [outcome] = await own("outcomes");
    assert.deepEqual([outcome?.["quarantined"], outcome?.["applied"]], [0, 1]);
    const records = await foldedRows(folder, "records");
    assert.equal(records.filter(({ key }) => key === "LATER").length, 1);
  });

  test("resumes at the same position while a bucket is unsettled, as it may have unapplied parts", async () => {
    let asked = 0;
    // The first bucket of each reading of all 64.
    const isOfFirst = (statement: unknown) =>
      (statement as { name?: string }).name === "look-at-promise" && asked++ % 64 === 0;
    const pool = new Proxy(service.pool, {
      get: (target, name) =>
        name === "query"
          ? async (statement: QueryConfig) => (isOfFirst(statement) ? { rows: [] } : target.query(statement))
          : Reflect.get(target, name, target),
    });
    const folder = newFolder();
    const { manifest } = await exportTo(folder, { pool });
    assert.equal(manifest.position.receivedBefore, "1970-01-01T00:00:00.000Z");
    const settled = await exportTo(folder);
    const { receivedBefore } = settled.manifest.position;
    assert.ok(receivedBefore > "2020");
    assert.equal((await exportTo(folder, { pool })).manifest.position.receivedBefore, receivedBefore);
  });

  test("starts over with the database of another installation, and has nothing of the former one", async () => {
    const folder = newFolder();
    await exportTo(folder);
    const { clientConfig, pool, drop } = await createTestDatabase();
    // Databases of tests are copies of one.
    await pool.query("update bellhop.instance set value = reverse(value) where name = 'privacy.list'");
    const next = await exportTo(folder, { clientConfig, pool });
    assert.equal(next.full, "the folder had an export of another installation");
    assert.deepEqual((await stateOf(folder))["records"], []);
    await drop();
  });

  test("starts over after an erasure, and the guest is in no file", async () => {
    const folder = newFolder();
    await exportTo(folder, { format: "csv" });
    const mentioning = async () => {
      const found: string[] = [];
      for (const path of await filesBelow(folder))
        if ((await readFile(path, "utf8")).includes(GUEST)) found.push(path);
      return found;
    };
    assert.ok((await mentioning()).length > 0);
    await run(service.database, "run", "--profile-id", "P-1", "--client", "ACME", "--reason", "test");
    const next = await exportTo(folder);
    assert.equal(next.full, "personal data was erased, or a property deleted");
    assert.deepEqual(await mentioning(), []);
    assert.equal((await passesOf(folder, "records")).size, 1);
  });
});

describe("bellhop export", () => {
  const environment = () => ({ DATABASE_URL: service.database.url });

  test("reports the written files", async () => {
    const folder = newFolder();
    const first = await bellhop(["export", folder, "--table", "nights", "--json"], environment());
    assert.equal(first.code, 0, first.err);
    const { tables, full } = JSON.parse(first.out) as {
      tables: { table: string; rows: number }[];
      full: string;
    };
    assert.equal(full, "the folder had no export");
    assert.deepEqual(
      tables.map(({ table }) => table),
      ["records", "nights"],
    );
    assert.ok(tables.every(({ rows }) => rows > 0));
    const again = await bellhop(["export", folder], environment());
    assert.match(again.out, /written +what has changed\n +records +0 rows\n +nights +0 rows/);
  });

  test("keeps the previous export if the disk has room for only a part of the manifest", async () => {
    const folder = newFolder();
    await exportTo(folder);
    const former = await filesBelow(folder);
    const manifest = await readManifest(folder);
    // Files of 4 KiB at most: what is written beyond is cut off without an error at first, as by a disk that fills up.
    const limited = ["-c", 'ulimit -f 4; exec "$@"', "bash", process.execPath, MAIN, "export", folder];
    const failed = await execute("bash", limited, { env: environment() }).then(
      () => undefined,
      (error: { stderr: string }) => error.stderr,
    );
    assert.match(failed ?? "", /EFBIG/);
    assert.deepEqual(await readManifest(folder), manifest);
    for (const path of former) assert.ok((await filesBelow(folder)).includes(path), path);
  });

  test("reports in one line which folder cannot be created", { timeout: 60_000 }, async () => {
    for (const folder of [import.meta.filename, "/proc/bellhop/export"]) {
      const refused = await bellhop(["export", folder], environment());
      assert.equal(refused.code, 1);
      assert.match(refused.err, /^bellhop: \/\S+ cannot be used: [^\n]*$/);
    }
  });

  test("writes and deletes nothing through a link in the place of a table's folder", async () => {
    const [folder, elsewhere] = [newFolder(), newFolder()];
    await exportTo(folder, { format: "csv" });
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, "kept.txt"), "kept");
    await rm(join(folder, "records"), { recursive: true });
    await symlink(elsewhere, join(folder, "records"));
    await assert.rejects(exportTo(folder, { full: true }), /records is a link: remove it/);
    await rm(join(folder, "records"));
    await mkdir(join(folder, "records"));
    await symlink(elsewhere, join(folder, "records", "pass=2"));
    await assert.rejects(exportTo(folder, { full: true }), /pass=2 is a link: remove it/);
    assert.deepEqual(await readdir(elsewhere), ["kept.txt"]);
  });

  test("holds few rows of long texts, as JSON writes six characters for one", () => {
    const codes = { clientCode: "ACME", propertyCode: "LIS01" };
    const source = { properties: new Map([[1, codes]]), dimensions: new Map() };
    const flushed: number[] = [];
    const columns = TABLES.nights.columns;
    const batch = new Batch(columns, ({ rows, values }) => {
      flushed.push(rows);
      assert.ok(values.flat().reduce<number>((sum, value) => sum + String(value ?? "").length, 0) < 3e7);
    });
    const facts = `{NULL,NULL,NULL,NULL,NULL,2027-01-01,2027-12-31,${"\u0001".repeat(128)}}`;
    for (let at = 0; at < 270; at += 1)
      addNights(source, [1, `${"\u0001".repeat(120)}${at}`, "CONFIRMED", null, facts], batch);
    assert.ok(flushed.length > 0);
  });

  test("a page has no long facts, which are read one record at a time", async () => {
    minutes += 1;
    const modified = new Date(Date.UTC(2026, 0, 1) + minutes * 60_000).toISOString();
    const items = Array.from({ length: 1_000 }, (_, at) => at);
    const [propertyCode, facts] = ["FAO01", "x".repeat(100)];
    const roomStays = items.map((at) => {
      return { arrivalDate: date(0), departureDate: date(1), roomTypeCode: `${facts}${at}` };
    });
    const groupBlocks = items.map((at) => {
      return { occupancyDate: date(0), roomTypeCode: `${facts}${at}`, blocks: 1 };
    });
    const long = reservation("LONG", modified);
    await apply(service, "reservations", [{ ...long, propertyCode, roomStays, numberOfRooms: 1_000 }]);
    await apply(service, "groups", [{ ...group("LONG", modified, { groupBlocks }), propertyCode }]);
    const stretch = { bucket: bucketOf("ACME", propertyCode), changes: undefined, firstRequest: ID_LOWEST };
    for (const name of TABLE_NAMES) {
      const { text, values } = TABLES[name].statement(stretch);
      const { rows } = await service.pool.query({ text, values: [...values], rowMode: "array" });
      assert.ok(rows.length > 0 || name === "room_type_inventory", name);
      for (const row of rows) assert.ok(JSON.stringify(row).length < 20_000, name);
    }
    const folder = newFolder();
    await exportTo(folder, { tables: ["nights", "blocks", "room_stay", "group_block_night"] });
    for (const table of ["nights", "blocks", "room_stay", "group_block_night"]) {
      const rows = (await foldedRows(folder, table)).filter((row) => row["property_code"] === propertyCode);
      assert.equal(new Set(rows.map((row) => row["room_type_code"])).size, 1_000, table);
    }
  });

  test("leaves a folder alone that has something else", async () => {
    const folder = await temporaryDirectory("foreign");
    await writeFile(join(folder, "letter.txt"), "mine");
    const refused = await bellhop(["export", folder], environment());
    assert.equal(refused.code, 1);
    assert.match(refused.err, /is not empty and has no manifest\.json/);
    assert.deepEqual(await readdir(folder), ["letter.txt"]);
    await rm(folder, { recursive: true });
  });
});
