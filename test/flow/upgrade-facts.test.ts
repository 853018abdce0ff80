import assert from "node:assert/strict";
import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { migrate } from "../../src/platform/db/migrate.ts";
import { createLogger } from "../../src/platform/telemetry/log.ts";
import { createEmptyDatabase } from "../support/database.ts";

const MIGRATIONS = new URL("../../sql/migrations/", import.meta.url);
const log = createLogger({ level: "silent", pretty: false });

/** Records as the version before wrote them: a column a fact, arrays with nulls, empty arrays, an unchanged version. */
const FORMER_ROWS = `
  set search_path = bellhop_state;
  insert into bellhop.property (client_code, property_code, bucket, created_by) values ('ACME', 'P', 7, 'test');
  insert into reservation_version (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
    facts_source_time, change_no, status, from_date, to_date, confirmation_number, booking_time, number_of_rooms, channel,
    arrival_date, departure_date, room_type_code, booked_room_type_code, rate_code, number_of_adults, rate_stay_index,
    rate_start_date, rate_end_date, rate_value, gross_rate_value, revenue_date, net_room_revenue, net_total_revenue)
  select 7, 1, 'R-é"\\,', at, '\\x0102', '019a0000-0000-7000-8000-000000000001', 0, outcome, '2026-01-01 00:00:00.000001Z', 1,
    'CONFIRMED', '2026-05-01', '2026-05-04', 'a "b" \\ c, d', '0001-01-01T00:00:00Z', -2, '', array['2026-05-01',
    '2026-05-02']::date[], array['2026-05-02', '2026-05-04']::date[], array['D"L,X', 'NULL'], array[null, null]::text[],
    array['', null], array[2, null]::integer[], array[0, 1], array[null, '2026-05-02']::date[],
    array[null, null]::date[], array['180.00', '12345678901234567890.123456789012345678']::numeric[], array[null,
    null]::numeric[], array['2026-05-01', '9999-12-31']::date[], array['-0.10', null]::numeric[], '{}'
  from (values ('2026-01-01 00:00:00.000001Z'::timestamptz, 'a'::"char")) as own (at, outcome);
  insert into reservation_version (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
    facts_source_time, status, from_date, to_date)
  values (7, 1, 'R-é"\\,', '2026-01-02Z', '\\x0102', '019a0000-0000-7000-8000-000000000002', 3, 'u',
    '2026-01-01 00:00:00.000001Z', 'CONFIRMED', '2026-05-01', '2026-05-04');
  insert into inventory_version (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
    facts_source_time, change_no, from_date, to_date, occupancy_date, room_type_code, is_virtual, room_type_capacity,
    rooms_sold, group_sold)
  values (7, 1, '2026-05-01', '2026-01-01Z', '\\x03', '019a0000-0000-7000-8000-000000000003', 0, 'a', '2026-01-01Z', 2,
    '2026-05-01', '2026-05-01', '2026-05-01', array['A', 'B b'], array[false, true], array[3, 4], array[-1, 2],
    array[null, null]::integer[]);
  insert into group_version (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
    facts_source_time, change_no, status, from_date, to_date, name, start_date, end_date, cutoff_days, occupancy_date,
    room_type_code, blocks, single_person_rate)
  values (7, 1, 'G', '2026-01-01Z', '\\x04', '019a0000-0000-7000-8000-000000000004', 0, 'a', '2026-01-01Z', 3, 'DEF',
    '2026-05-01', '2026-05-02', E'two\\nlines', '2026-05-01', '2026-05-02', 7, array['2026-05-01']::date[], array['A'],
    array[5], array[null]::numeric[]);
  insert into current_record (bucket, property_id, resource, key, source_time, request_id, record_index, content_hash,
    facts_source_time, status, from_date, to_date)
  select 7, 1, 'r', key, source_time, request_id, record_index, content_hash, facts_source_time, status, from_date, to_date
  from reservation_version where outcome = 'u'
  union all select 7, 1, 'i', key, source_time, request_id, record_index, content_hash, facts_source_time, status,
    from_date, to_date from inventory_version
  union all select 7, 1, 'g', key, source_time, request_id, record_index, content_hash, facts_source_time, status,
    from_date, to_date from group_version;
  -- The versions of a record that changed twice, and came unchanged in between.
  insert into inventory_version (bucket, property_id, key, source_time, content_hash, request_id, record_index, outcome,
    facts_source_time, change_no, from_date, to_date)
  values (7, 1, '2026-05-09', '2026-01-01Z', '\\x05', '019a0000-0000-7000-8000-000000000005', 0, 'a', '2026-01-01Z', 4, '2026-05-09', '2026-05-09'),
    (7, 1, '2026-05-09', '2026-01-02Z', '\\x05', '019a0000-0000-7000-8000-000000000005', 1, 'u', '2026-01-01Z', null, '2026-05-09', '2026-05-09'),
    (7, 1, '2026-05-09', '2026-01-03Z', '\\x06', '019a0000-0000-7000-8000-000000000005', 2, 'a', '2026-01-03Z', 5, '2026-05-09', '2026-05-09');
  -- As a replay of that version left it.
  alter index current_record_dates rename to current_record_bucket_property_id_resource_from_date_idx;
  create view public.mine as select count(*)::integer as stays from analytics.room_stay;
  grant select on analytics.stored_reservation_version to public`;

const RELATIONS = [
  ["room_type_inventory", 2],
  ["reservation", 1],
  ["room_stay", 2],
  ["stay_night", 3],
  ["daily_revenue", 2],
  ["group_block_master", 1],
  ["group_block_night", 1],
] as const;

describe("a database whose facts are columns", () => {
  let database: { url: string; drop(): Promise<void> };
  let client: pg.Client;
  let directory: string;
  before(async () => {
    database = await createEmptyDatabase();
    directory = await mkdtemp(join(tmpdir(), "bellhop-former-"));
    for (const name of (await readdir(MIGRATIONS)).filter((name) => name < "0005"))
      await cp(fileURLToPath(new URL(name, MIGRATIONS)), join(directory, name));
    const config = clientConfig({ connectionString: database.url });
    await migrate(config, log, { directory: pathToFileURL(`${directory}/`) });
    client = new pg.Client(config);
    await client.connect();
    await client.query(FORMER_ROWS);
    // A server may be set up to write dates otherwise.
    const { rows } = await client.query<{ name: string }>("select current_database() as name");
    await client.query(`alter database ${rows[0]?.name} set datestyle = 'SQL, DMY'`);
  });
  after(async () => {
    await client.end();
    await database.drop();
    await rm(directory, { recursive: true });
  });

  const shown = async () => {
    const answers: unknown[] = [];
    for (const [name] of RELATIONS) {
      const ats = ["", "_as_of('2026-01-01 12:00Z')", "_as_of('infinity', 'receipt')"];
      for (const at of ats)
        answers.push((await client.query(`select * from analytics.${name}${at} order by 1, 2, 3, 4`)).rows);
    }
    return answers;
  };

  test("is upgraded to facts as text, and every view and function shows what it showed", async () => {
    const before = await shown();
    assert.deepEqual(
      before.filter((_, at) => at % 3 === 0).map((rows) => (rows as unknown[]).length),
      RELATIONS.map(([, count]) => count),
    );
    await migrate(clientConfig({ connectionString: database.url }), log);
    assert.deepEqual(await shown(), before);
    const { rows } = await client.query("select stays from public.mine");
    assert.deepEqual(rows, [{ stays: 2 }]);
    const { rows: stored } = await client.query<{ facts: string | null }>(
      "select facts from bellhop_state.reservation_version order by source_time",
    );
    assert.equal(stored[1]?.facts, null);
    assert.match(stored[0]?.facts ?? "", /0001-01-01 00:00:00\+00.*"\{2026-05-01,2026-05-02\}"/);
    const { rows: indexes } = await client.query(
      "select indexname from pg_indexes where schemaname = 'bellhop_state' and tablename = 'current_record' order by 1",
    );
    assert.deepEqual(indexes, [{ indexname: "current_record_dates" }, { indexname: "current_record_pkey" }]);
    const { rows: granted } = await client.query(
      "select has_table_privilege('public', 'analytics.stored_reservation_version', 'select') as may",
    );
    assert.deepEqual(granted, [{ may: true }]);
    const { rows: changes } = await client.query(
      "select change_no::integer as number, coalesce(is_update, false) as update from bellhop_state.inventory_version where change_no is not null order by 1",
    );
    assert.deepEqual(changes, [
      { number: 2, update: false },
      { number: 4, update: false },
      { number: 5, update: true },
    ]);
  });
});
