import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, beforeEach, test } from "node:test";
import { pathToFileURL } from "node:url";
import pg from "pg";
import { RELATIONS_HASH, readMadeRelations } from "../../src/platform/db/analytics/make-relations.ts";
import { CODE_VERSION } from "../../src/platform/db/code-version.ts";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createEmptyDatabase, createTestDatabase } from "../support/database.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { until } from "../support/until.ts";

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

test("a migration that was edited after it ran is refused in one line that names it", async () => {
  await run();
  await writeFile(join(directory, "0001-create-thing.sql"), "create table public.thing (n bigint);");
  await assert.rejects(run(), /0001-create-thing\.sql was edited after it was applied/);
});

test("migrations are numbered without gaps and named verb-noun", async () => {
  await writeFile(join(directory, "0003-skip-number.sql"), "select 1;");
  await assert.rejects(run(), /0003-skip-number\.sql is not named/);
});

test("an older version starts where a newer one has only added", async () => {
  await run();
  const added = join(directory, "0002-widen-thing.sql");
  await writeFile(added, "alter table public.thing add column more text;");
  await run();
  await rm(added);
  await run();
  assert.deepEqual(await rowsOf("select n, more from public.thing"), [{ n: 1, more: null }]);
});

test("an older version is refused if a newer one has removed what it uses", async () => {
  const contracted = join(directory, "0002-narrow-thing.sql");
  await writeFile(contracted, "-- contract 99.0.0: a test\nalter table public.thing drop column n;");
  await run();
  await rm(contracted);
  await assert.rejects(run(), /0002-narrow-thing\.sql, .* start version 99\.0\.0 or newer/);
});

test("a mark without a reason is refused", async () => {
  const marked = join(directory, "0002-narrow-thing.sql");
  await writeFile(marked, "-- contract\nalter table public.thing drop column n;");
  await assert.rejects(run(), /does not begin with "-- contract 1\.2\.3: why"/);
  await writeFile(marked, "-- concurrently\ncreate index concurrently a on public.thing (n); select 1;");
  await assert.rejects(run(), /is not one "create index concurrently/);
});

test("a migration does not make others wait for a table that is in use, and gets it afterwards", async () => {
  const config = clientConfig({ connectionString: database.url });
  const pool = new pg.Pool({ ...config, max: 3 });
  // `end` does not wait for the server, which may still have a session when the database is dropped.
  pool.on("error", () => undefined);
  await run();
  const reader = await pool.connect();
  await reader.query("set idle_in_transaction_session_timeout = 0; begin; select * from public.thing");
  await writeFile(join(directory, "0002-widen-thing.sql"), "alter table public.thing add column more text;");
  const migrated = run();
  await until(async () => (await waitingForLock(pool, "%alter table public.thing%")) > 0, 60_000);
  // Behind the migration in the queue for the table, until that gives up its place.
  await pool.query("insert into public.thing values (2)");
  await reader.query("commit");
  reader.release();
  await migrated;
  assert.deepEqual(
    await rowsOf("select count(more)::integer as more, count(*)::integer as all from public.thing"),
    [{ more: 0, all: 2 }],
  );
  await pool.end();
});

test("an index is built during writes, and rebuilt after an interrupted attempt", async () => {
  await run();
  const index = "-- concurrently: a test\ncreate unique index concurrently thing_n on public.thing (n);";
  await writeFile(join(directory, "0002-index-thing.sql"), index);
  await rowsOf("insert into public.thing values (1)");
  await assert.rejects(run(), /could not create unique index/);
  await rowsOf("delete from public.thing where ctid = (select max(ctid) from public.thing)");
  const valid = "select indisvalid as valid from pg_index where indexrelid = 'public.thing_n'::regclass";
  assert.deepEqual(await rowsOf(valid), [{ valid: false }]);
  await Promise.all([run(), run(), run()]);
  assert.deepEqual(await rowsOf(valid), [{ valid: true }]);
});

test("relations of another version are made anew, with their grants and their columns in place; those of a newer one stay", async (t) => {
  const installed = await createTestDatabase();
  t.after(() => installed.drop());
  const { pool } = installed;
  const start = () => migrate(installed.clientConfig, log);
  const columnsOf = async (view = "group_block_master") => {
    const { rows } = await pool.query<{ columns: string[] }>(
      `select array_agg(attname::text order by attnum) as columns from pg_attribute
      where attrelid = $1::regclass and attnum > 0`,
      [`analytics.${view}`],
    );
    return rows[0]?.columns ?? [];
  };
  const whole = await columnsOf();
  const moved = await columnsOf("movement");
  const made = await readMadeRelations(pool);
  assert.deepEqual(made, { version: CODE_VERSION, hash: RELATIONS_HASH });
  await pool.query(`
    drop view analytics.group_block_master cascade;
    create view analytics.group_block_master as select name, property_code from analytics.stored_group_version, analytics.stored_property;
    grant select on analytics.group_block_master to public;
    create view public.mine as select name from analytics.group_block_master;
    drop function analytics.movement_as_of cascade;
    create function analytics.movement_as_of(instant timestamptz, clock analytics.clock default 'source', of_client_code text default null,
      of_property_code text default null, first_date date default null, last_date date default null)
      returns table (client_code text, property_code text) language sql as $$select 'a', 'b'$$;
    create view analytics.movement as select counted.* from analytics.stored_property
      cross join lateral analytics.movement_as_of('infinity') as counted;
    grant select on analytics.movement to public;
    create view public.moved as select client_code from analytics.movement;
    comment on schema analytics is 'Made by version 99.0.0 (00ff).'`);
  await start();
  assert.deepEqual(await columnsOf(), ["name", "property_code"]);

  await pool.query("comment on schema analytics is 'Made by version 0.9.0 (00ff).'");
  await start();
  const grown = await columnsOf();
  assert.deepEqual(grown.slice(0, 3), ["name", "property_code", "client_code"]);
  assert.deepEqual(grown.toSorted(), whole.toSorted());
  await pool.query("select name from analytics.group_block_master_as_of('infinity')");
  assert.deepEqual(await columnsOf("movement"), moved);
  const { rows } = await pool.query(
    `select has_table_privilege('public', 'analytics.group_block_master', 'select') as granted, (select count(*)::integer from public.mine),
      has_table_privilege('public', 'analytics.movement', 'select') as moves, (select count(*)::integer from public.moved) as moved`,
  );
  assert.deepEqual(rows, [{ granted: true, count: 0, moves: true, moved: 0 }]);
  assert.deepEqual(await readMadeRelations(pool), made);

  const definition = await pool.query<{ text: string }>(
    "select pg_get_viewdef('analytics.reservation'::regclass) as text",
  );
  const withMore = definition.rows[0]?.text.replace("\n   FROM", ", 1 as removed\n   FROM");
  await pool.query(`create or replace view analytics.reservation as ${withMore}`);
  await pool.query("comment on schema analytics is 'Made by version 0.9.0 (00ff).'");
  await assert.rejects(start(), /analytics\.reservation has the column removed/);
  await pool.query(`comment on schema analytics is 'Made by version ${CODE_VERSION} (00ff).'`);
  await start();
  await pool.query("select removed from analytics.reservation");
});
