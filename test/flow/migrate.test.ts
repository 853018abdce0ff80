import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { clientConfig } from "../../src/db/connection.ts";
import { migrate } from "../../src/db/migrate.ts";
import { createLogger } from "../../src/observe/log.ts";
import { createEmptyDatabase } from "../support/database.ts";

const log = createLogger({ level: "silent", pretty: false });
const directory = await mkdtemp(join(tmpdir(), "bellhop-migrations-"));
const migrations = pathToFileURL(`${directory}/`);
after(() => rm(directory, { recursive: true }));

let database: { url: string; drop(): Promise<void> };
beforeEach(async () => {
  database = await createEmptyDatabase();
  await rm(directory, { recursive: true });
  await mkdir(directory);
  await writeFile(
    join(directory, "0001-create-thing.sql"),
    "create table public.thing (n integer); insert into public.thing values (1);",
  );
});
afterEach(() => database.drop());

const run = () => migrate(clientConfig({ connectionString: database.url }), log, { directory: migrations });

async function rowsOf(sql: string): Promise<unknown[]> {
  const client = new pg.Client(clientConfig({ connectionString: database.url }));
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

test("each migration runs once, however often and from however many nodes at once the service starts", async () => {
  await Promise.all([run(), run(), run(), run()]);
  await run();
  assert.deepEqual(await rowsOf("select n from public.thing"), [{ n: 1 }]);
});

test("a migration that fails leaves nothing of itself, and runs whole at the next start", async () => {
  const second = join(directory, "0002-add-thing.sql");
  await writeFile(second, "insert into public.thing values (2); select 1 / 0;");
  await assert.rejects(run(), /division by zero/);
  assert.deepEqual(await rowsOf("select n from public.thing"), [{ n: 1 }]);
  await writeFile(second, "insert into public.thing values (2);");
  await run();
  assert.deepEqual(await rowsOf("select n from public.thing order by n"), [{ n: 1 }, { n: 2 }]);
});

test("a database that a newer version has migrated is refused in one line that names the migration", async () => {
  await writeFile(join(directory, "0002-add-thing.sql"), "select 1;");
  await run();
  await rm(join(directory, "0002-add-thing.sql"));
  await assert.rejects(run(), /0002-add-thing\.sql, which this version of Bellhop does not know/);
});

test("a migration that was edited after it ran is refused in one line that names it", async () => {
  await run();
  await writeFile(join(directory, "0001-create-thing.sql"), "create table public.thing (n bigint);");
  await assert.rejects(run(), /0001-create-thing\.sql was edited after the database had it/);
});

test("migrations are numbered without gaps and named verb-noun", async () => {
  await writeFile(join(directory, "0003-skip-number.sql"), "select 1;");
  await assert.rejects(run(), /0003-skip-number\.sql is not named/);
});
