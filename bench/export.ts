/**
 * `node bench/export.ts [--millions 10] [--python PATH]`: measures the time and memory of exporting this many million
 * nights, the output of a second run, and whether DuckDB's sums equal on-the-books.
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { knownStatus } from "#contract/statuses.ts";
import { readOptions } from "../scripts/read-options.ts";
import { hotelCode } from "./batches.ts";
import { type BenchCase, made } from "./cases.ts";
import { Closers } from "./closers.ts";
import { measureContestant } from "./contestant.ts";
import { fill } from "./growth-fill.ts";
import { LoadProcess } from "./load-process.ts";
import { machineLine, machineOf } from "./machine.ts";
import { CLIENT_CODE } from "./record-templates.ts";
import { type StartedService, startService } from "./started-service.ts";

const USAGE = `node bench/export.ts [--millions 10] [--python PATH]

  --millions N     nights
  --python PATH    a Python with duckdb and pandas, which adds nights up as on-the-books does`;

const values = readOptions(USAGE, {
  millions: { type: "string", default: "10" },
  python: { type: "string" },
});

const TEMPLATES = 800_000;
const COPIES = 810_000;
const HOTELS = 8;
const RESERVATIONS = 2_000;
const COMPARED_HOTELS = 5;
const EXAMPLE = fileURLToPath(new URL("../examples/export/read_export.py", import.meta.url));
const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const execute = promisify(execFile);
/** For the CSV of one hotel's nights. */
const OUTPUT_BYTES_MAX = 268_435_456;

const exportCase = (name: string, reservations: number, hotels: number, firstHotel: number): BenchCase =>
  made(name, { recordsPerRound: reservations * hotels, hotels, firstHotel, connections: 8 });

interface Exported {
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly bytes: number }[];
}

/** Runs `bellhop export` of nights as a process; GNU time reports its peak memory. */
async function runExport(
  dataDir: string,
  folder: string,
): Promise<Exported & { seconds: number; megabytes: number }> {
  const startedAt = performance.now();
  const { stdout, stderr } = await execute(
    "/usr/bin/time",
    ["--format=%M", process.execPath, MAIN, "export", folder, "--table", "nights", "--json"],
    { env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: "" } },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const megabytes = Number(stderr.trim().split("\n").at(-1)) / 1024;
  return { ...(JSON.parse(stdout) as Exported), seconds, megabytes };
}

function lineOf(what: string, { tables, seconds, megabytes }: Awaited<ReturnType<typeof runExport>>): string {
  const written = tables.map(
    ({ table, rows, bytes }) => `${rows.toLocaleString("en-US")} ${table} (${(bytes / 1e6).toFixed(0)} MB)`,
  );
  return `${what}: ${seconds.toFixed(1)} s, ${megabytes.toFixed(0)} MB of memory, ${written.join(", ")}`;
}

/** on-the-books of one hotel by night, room type and currency. */
async function askOnTheBooks(
  { service }: StartedService,
  propertyCode: string,
): Promise<Map<string, string>> {
  const cells = new Map<string, string>();
  let cursor: string | null = null;
  do {
    const query: URLSearchParams = new URLSearchParams({
      clientCode: CLIENT_CODE,
      propertyCode,
      from: "2015-07-01",
      to: "2018-06-30",
      by: "roomType",
      limit: "10000",
      ...(cursor === null ? {} : { cursor }),
    });
    const response = await fetch(`http://127.0.0.1:${service.port}/api/insight/v1/on-the-books?${query}`, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    const page = (await response.json()) as { items: Record<string, unknown>[]; nextCursor: string | null };
    if (response.status !== 200) throw new Error(JSON.stringify(page));
    for (const item of page.items)
      if (Number(item["rooms"]) !== 0)
        cells.set(
          [item["stayDate"], item["roomType"], item["currency"]].join(),
          [Number(item["rooms"]), Number(item["roomRevenue"]).toFixed(4)].join(),
        );
    cursor = page.nextCursor;
  } while (cursor !== null);
  return cells;
}

/** The same from DuckDB. */
async function askDuckDb(python: string, folder: string, propertyCode: string, statuses: readonly string[]) {
  const { stdout } = await execute(python, [EXAMPLE, folder, CLIENT_CODE, propertyCode, ...statuses], {
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  const lines = stdout.trim().split("\n").slice(1);
  return new Map(
    lines.map((line) => {
      const [date = "", roomType, currency, rooms, , , revenue] = line.split(",");
      return [
        [date.slice(0, 10), roomType, currency].join(),
        [Number(rooms), Number(revenue).toFixed(4)].join(),
      ];
    }),
  );
}

async function compare(filled: StartedService, python: string, folder: string): Promise<void> {
  const { rows } = await filled.client.query<{ status: string }>(
    "select distinct status from bellhop_state.night_dimension where status is not null",
  );
  const statuses = rows
    .map(({ status }) => status)
    .filter((status) => knownStatus("reservations", status)?.deducts);
  for (let at = 0; at < COMPARED_HOTELS; at += 1) {
    const code = hotelCode(COPIES + at);
    const [books, added] = [
      await askOnTheBooks(filled, code),
      await askDuckDb(python, folder, code, statuses),
    ];
    const other = [...books].filter(([cell, value]) => added.get(cell) !== value);
    console.log(
      `${code}: ${books.size} cells of on-the-books, ${added.size} of DuckDB, ${other.length} differ`,
    );
    for (const [cell, value] of other.slice(0, 3))
      console.log(`  ${cell}: ${value}, DuckDB ${added.get(cell)}`);
  }
}

const closers = new Closers();
try {
  const folder = await mkdtemp(join(tmpdir(), "bellhop-bench-export-"));
  closers.add(() => rm(folder, { recursive: true, force: true }));
  const load = closers.kept(new LoadProcess());
  const filled = closers.kept(await startService("export"));
  const push = async (benchCase: BenchCase, round: number) =>
    measureContestant(filled.contestant, load, benchCase, await load.prepare({ benchCase, round }));
  await push(exportCase("reservations-1000-new", RESERVATIONS, HOTELS, TEMPLATES), 0);
  const template = await runExport(filled.service.dataDir, join(folder, "template"));
  const nights = template.tables.find(({ table }) => table === "nights")?.rows ?? 1;
  const found = await filled.client.query<{ property_id: number }>(
    "select property_id from bellhop.property",
  );
  const copies = (Number(values.millions) * 1e6) / nights;
  await fill(filled.client, {
    templates: found.rows.map(({ property_id }) => property_id),
    firstHotel: COPIES,
    versions: copies * RESERVATIONS * HOTELS,
  });
  console.log(machineLine(machineOf()));
  console.log(lineOf("before it was filled", template));
  const nightsFolder = join(folder, "nights");
  console.log(lineOf("first run", await runExport(filled.service.dataDir, nightsFolder)));
  await push(exportCase("reservations-100-changed", 100, HOTELS, COPIES), 1);
  console.log(lineOf("second run", await runExport(filled.service.dataDir, nightsFolder)));
  console.log(lineOf("third run", await runExport(filled.service.dataDir, nightsFolder)));
  if (values.python !== undefined) await compare(filled, values.python, nightsFolder);
} finally {
  await closers.close();
}
