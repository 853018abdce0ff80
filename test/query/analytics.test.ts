import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { KNOWN_STATUSES, knownStatus } from "#contract/statuses.ts";
import { withColumns } from "../../scripts/analytics-document.ts";
import { replay } from "../../src/apply/replay.ts";
import { businessDayOf, endOfBusinessDay } from "../../src/settings/business-day.ts";
import { setSetting } from "../../src/settings/change-setting.ts";
import { settingsOf } from "../../src/settings/property-settings.ts";
import { mapStatus } from "../../src/settings/status-mapping.ts";
import { isOnCitus } from "../support/database.ts";
import { apply, group, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
/** On Citus workers check the rights of roles on the tables themselves, and let no role in that is not committed: citus.test.ts has them. */
const hasRoles = !(await isOnCitus());
const OLD = "2026-01-01T00:00:00Z";

async function rowsOf(sql: string, ...values: unknown[]): Promise<unknown[][]> {
  const { rows } = await service.pool.query({ text: sql, values, rowMode: "array" });
  return rows as unknown[][];
}

/** The role sees the view's rows only, even with a function that the planner would rather call before the view's filter. */
async function assertConfined(client: pg.Client, role: string, view: string): Promise<void> {
  const seen: (string | undefined)[] = [];
  client.on("notice", ({ message }) => seen.push(message));
  await client.query(`
    set local role ${role};
    set local enable_nestloop = off;
    set local enable_mergejoin = off;
    create function pg_temp.peek(of text) returns boolean language plpgsql cost 0.0001 as
      $$begin raise notice '%', of; return true; end$$`);
  const { rows } = await client.query<{ id: string }>(
    `select reservation_id as id from ${view} where pg_temp.peek(reservation_id)`,
  );
  assert.ok(rows.length > 0);
  assert.deepEqual(seen.sort(), rows.map(({ id }) => id).sort());
  await client.query("reset role; reset enable_nestloop; reset enable_mergejoin");
}

const RELATIONS = [
  "room_type_inventory",
  "reservation",
  "room_stay",
  "stay_night",
  "revenue_without_night",
  "daily_revenue",
  "group_block_master",
  "group_block_night",
  "night_on_the_books",
  "movement",
];
/** Of which there is only the present. */
const PRESENT = ["property", "status_meaning", "default_status"];

/**
 * A session on the service's database for what its own role may not do: make roles. As superuser of the test server; on a given server
 * the given role must be able to itself.
 */
async function openAsSuperuser(): Promise<pg.Client> {
  const database = service.database.url;
  const url = new URL(process.env["TEST_SUPERUSER_URL"] ?? database);
  url.pathname = new URL(database).pathname;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

const PARIS = { propertyCode: "PARIS01" };

before(async () => {
  service = await startTestService();
  await apply(service, "reservations", [
    {
      ...reservation("R1", OLD),
      ...PARIS,
      numberOfRooms: "2",
      bookingDateTime: "2026-01-01T01:02:03.0000049Z",
      roomStays: [
        {
          arrivalDate: "2026-07-14",
          departureDate: "2026-07-17",
          roomTypeCode: "DLX",
          marketSegmentCode: "LEISURE",
          numberOfAdults: 2,
          rates: [
            { startDate: "2026-07-14", endDate: "2026-07-15", rateValue: "180.10" },
            {
              startDate: "2026-07-15",
              endDate: "2026-07-15",
              rateValue: "999999999999999999.99",
              grossRateValue: 1,
            },
          ],
        },
        {
          arrivalDate: "2026-07-16",
          departureDate: "2026-07-18",
          roomTypeCode: "STD",
          rates: [{ rateValue: "50" }],
        },
        { arrivalDate: "2026-07-20", departureDate: "2026-07-20", roomTypeCode: "DAY" },
      ],
      stayRevenue: {
        daily: [
          { occupancyDate: "2026-07-14", netRoomRevenue: "0.1", netTotalRevenue: "0.1" },
          { occupancyDate: "2026-07-16", netRoomRevenue: "0.2", netTotalRevenue: "0.2" },
          { occupancyDate: "2026-07-16", netRoomRevenue: "0.7", netTotalRevenue: "0.7" },
          { occupancyDate: "2026-07-20", netRoomRevenue: "100", netTotalRevenue: "100" },
        ],
      },
    },
  ]);
  await apply(service, "inventories", [
    {
      ...inventory("2026-07-14", OLD),
      ...PARIS,
      roomTypeInventories: [
        { roomTypeCode: "DLX", roomTypeCapacity: "40", roomsSold: 31, roomsNotAvailableOther: 1 },
      ],
      virtualRoomTypeInventories: [{ roomTypeCode: "VIRT", roomTypeCapacity: 5, roomsSold: 0 }],
    },
  ]);
  await apply(service, "groups", [
    {
      ...group("G1", OLD, { name: "Autumn conference", cutoffDate: null, cutoffDays: 30 }),
      ...PARIS,
      groupBlocks: [
        {
          occupancyDate: "2026-09-10",
          roomTypeCode: "DLX",
          blocks: 20,
          pickup: 8,
          originalBlocks: 25,
          singlePersonRate: 140.5,
        },
        { occupancyDate: "2026-09-11", roomTypeCode: "DLX", blocks: 10 },
      ],
    },
  ]);
});
after(() => service.stop());

describe("the views of current state", () => {
  test("give each night of each stay one row, with the rate that covers it and its revenue exactly once", async () => {
    const rows = await rowsOf(
      `select stay_number, occupancy_date, room_type_code, number_of_rooms, rate_value, net_room_revenue, rooms, adults, room_revenue
      from analytics.stay_night where property_code = 'PARIS01' order by stay_number, occupancy_date`,
    );
    assert.deepEqual(rows, [
      [1, "2026-07-14", "DLX", 2, "180.10", "0.1", 2, 4, "0.1"],
      [1, "2026-07-15", "DLX", 2, "999999999999999999.99", null, 2, 4, "1999999999999999999.98"],
      [1, "2026-07-16", "DLX", 2, null, null, 1, 2, null],
      [2, "2026-07-16", "STD", 2, "50", "0.9", 1, 0, "0.9"],
      [2, "2026-07-17", "STD", 2, "50", null, 2, 0, "100"],
    ]);
    assert.deepEqual(
      await rowsOf(
        "select stay_number, occupancy_date, cause, room_type_code, rooms, net_room_revenue, room_revenue from analytics.revenue_without_night",
      ),
      [[3, "2026-07-20", "dayUse", "DAY", 2, "100", "100"]],
    );
    assert.deepEqual(
      await rowsOf("select sum(net_room_revenue), count(*)::integer from analytics.daily_revenue"),
      [["101.0", 4]],
    );
    assert.deepEqual(
      await rowsOf(
        "select stay_number, nights, room_type_code, number_of_adults from analytics.room_stay order by stay_number",
      ),
      [
        [1, 3, "DLX", 2],
        [2, 2, "STD", null],
        [3, 0, "DAY", null],
      ],
    );
  });

  test("are typed, and tell the source time and the receipt to the microsecond", async () => {
    const [row] = await rowsOf(
      `select client_code, reservation_id, arrival_date, departure_date, status, number_of_rooms, booking_time::text, source_time::text,
        pg_typeof(number_of_rooms)::text, received_at::text from analytics.reservation`,
    );
    const received = row?.pop();
    assert.deepEqual(row, [
      "ACME",
      "R1",
      "2026-07-14",
      "2026-07-20",
      "CONFIRMED",
      2,
      "2026-01-01 01:02:03.000004+00",
      "2026-01-01 00:00:00+00",
      "integer",
    ]);
    const logged = await rowsOf(
      "select received_at::text from bellhop.accept_log where resource = 'r' order by request_id limit 1",
    );
    assert.equal(received, logged[0]?.[0]);
    assert.deepEqual(
      await rowsOf(
        "select occupancy_date, room_type_code, is_virtual, room_type_capacity, rooms_sold, transient_sold from analytics.room_type_inventory order by 2",
      ),
      [
        ["2026-07-14", "DLX", false, 40, 31, null],
        ["2026-07-14", "VIRT", true, 5, 0, null],
      ],
    );
    assert.deepEqual(
      await rowsOf(
        "select group_code, name, start_date, cutoff_days, cutoff_date from analytics.group_block_master",
      ),
      [["G1", "Autumn conference", "2026-09-10", 30, null]],
    );
    assert.deepEqual(
      await rowsOf(
        "select occupancy_date, blocks, pickup, original_blocks, single_person_rate from analytics.group_block_night order by 1",
      ),
      [
        ["2026-09-10", 20, 8, 25, "140.5"],
        ["2026-09-11", 10, null, null, null],
      ],
    );
  });

  test("show an unchanged record under its newest source time, with the facts of the version before it", async () => {
    const of = (modified: string) => ({
      ...reservation("U", modified, { channel: "WEB" }),
      propertyCode: "UNC",
    });
    await apply(service, "reservations", [of("2026-01-01T00:00:00Z")]);
    await apply(service, "reservations", [of("2026-02-01T00:00:00Z")]);
    const sql = (from: string) =>
      `select channel, source_time::text from ${from} where property_code = 'UNC'`;
    assert.deepEqual(await rowsOf(sql("analytics.reservation")), [["WEB", "2026-02-01 00:00:00+00"]]);
    assert.deepEqual(await rowsOf(sql("analytics.reservation_as_of('2026-01-15Z')")), [
      ["WEB", "2026-01-01 00:00:00+00"],
    ]);
    assert.deepEqual(await rowsOf(sql("analytics.reservation_as_of(now())")), [
      ["WEB", "2026-02-01 00:00:00+00"],
    ]);
  });
});

describe("the views as of an instant", () => {
  test("go by the source's clock or by receipt, and agree with current state at the end of time", async () => {
    const of = (modified: string, channel: string) => ({
      ...reservation("A", modified, { channel }),
      propertyCode: "CLK",
    });
    await apply(service, "reservations", [of("2026-01-03T00:00:00Z", "third")]);
    await apply(service, "reservations", [of("2026-01-01T00:00:00Z", "first")]);
    const receipts = await rowsOf(
      "select received_at::text from bellhop.accept_log where kind = 'b' order by request_id desc limit 2",
    );
    const [late, early] = receipts.map(([time]) => String(time));
    const at = (instant: unknown, clock: string) =>
      rowsOf(
        "select channel from analytics.reservation_as_of($1::timestamptz, $2) where property_code = 'CLK'",
        instant,
        clock,
      );
    assert.deepEqual(await at("2026-01-02Z", "source"), [["first"]]);
    assert.deepEqual(await at("2026-01-03T00:00:00Z", "source"), [["third"]]);
    assert.deepEqual(await at("2025-12-31Z", "source"), []);
    assert.deepEqual(await at(early, "receipt"), [["third"]]);
    assert.deepEqual(await at(late, "receipt"), [["third"]]);
    assert.deepEqual(
      await rowsOf(
        "select * from analytics.reservation_as_of($1::timestamptz - interval '1 microsecond', 'receipt') where property_code = 'CLK'",
        early,
      ),
      [],
    );
    await assert.rejects(at(early, "wrong"), /invalid input value for enum/);
    const ofArguments =
      "select * from analytics.reservation_as_of('infinity', 'source', $1, $2) order by 1, 2, 3";
    for (const [client, property] of [
      ["ACME", "CLK"],
      ["ACME", null],
      ["ACME", "NONE"],
      [null, "CLK"],
    ])
      assert.deepEqual(
        await rowsOf(ofArguments, client, property),
        await rowsOf(
          `select * from analytics.reservation_as_of('infinity')
          where client_code = coalesce($1, client_code) and property_code = coalesce($2, property_code) order by 1, 2, 3`,
          client,
          property,
        ),
      );
    for (const relation of RELATIONS) {
      for (const clock of ["source", "receipt"]) {
        const [difference] = await rowsOf(
          `select (select count(*)::integer from (table analytics.${relation} except select * from analytics.${relation}_as_of('infinity', '${clock}')) x),
            (select count(*)::integer from (select * from analytics.${relation}_as_of('infinity', '${clock}') except table analytics.${relation}) y),
            (select count(*)::integer > 0 from analytics.${relation})`,
        );
        assert.deepEqual(difference, [0, 0, true], `${relation} ${clock}`);
      }
    }
  });

  test("named a property, ask its bucket alone", async (t) => {
    if (!(await isOnCitus())) return t.skip("There is one server.");
    const client = await service.pool.connect();
    let asked = 0;
    const count = ({ message = "" }: { message?: string | undefined }) => {
      if (/^issuing SELECT (?!assign_)/.test(message)) asked += 1;
    };
    const counted = ["night_on_the_books", "movement"];
    const ofRecords = RELATIONS.filter((relation) => !counted.includes(relation));
    const tasksOf = async (named: string, relations = ofRecords) => {
      asked = 0;
      for (const relation of relations)
        await client.query(`select from analytics.${relation}_as_of(now(), 'receipt'${named})`);
      return asked;
    };
    try {
      client.on("notice", count);
      await client.query("set client_min_messages = log; set citus.log_remote_commands = on");
      assert.equal(await tasksOf(", 'ACME', 'CLK'"), ofRecords.length);
      assert.ok((await tasksOf("")) > 2 * ofRecords.length);
      // Their parts are materialized, each by a task of its own.
      assert.ok((await tasksOf(", 'ACME', 'CLK'", counted)) <= 8 * counted.length);
    } finally {
      client.off("notice", count);
      client.release(true);
    }
  });
});

describe("what the schema knows of declarations", () => {
  test("are the default statuses, for every spelling with any other character in it", async () => {
    const declared = Object.entries(KNOWN_STATUSES).flatMap(([resource, statuses]) =>
      statuses.flatMap(({ canonical, deducts, spellings }) =>
        spellings.map((spelling) => [resource, spelling.replaceAll(" ", ""), canonical, deducts]),
      ),
    );
    const inOrder = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort();
    assert.deepEqual(inOrder(await rowsOf("table analytics.default_status")), inOrder(declared));
    const characters = Array.from({ length: 0xffff }, (_, at) => String.fromCharCode(at + 1)).filter((one) =>
      one.isWellFormed(),
    );
    const statuses = characters.flatMap((one) => [
      `IN${one}HOUSE`,
      ...["CONFIRMED", "GUARANTEED", "WAITLISTED", "NOSHOW", "CXLD"].flatMap((known) => {
        const upper = one.toUpperCase();
        return known.includes(upper) ? [known.replace(upper, one)] : [];
      }),
    ]);
    statuses.push(`CXL${" ".repeat(37)}`, `CXL${" ".repeat(38)}`);
    const differing = await rowsOf(
      `select asked.status, known.meaning from unnest($1::text[], $2::text[]) as asked (status, meaning)
      left join analytics.default_status as known
        on known.resource = 'reservations' and known.spelling = analytics.folded_status(asked.status)
      where known.meaning is distinct from asked.meaning`,
      statuses,
      statuses.map((status) => knownStatus("reservations", status)?.canonical ?? null),
    );
    assert.deepEqual(differing, []);
  });

  test("are the settings of a property with their defaults, and its business days", async () => {
    const of = { clientCode: "ACME", propertyCode: "PARIS01" };
    const shown = `select time_zone, business_day_end, currency_code, occupancy_base, name, city from analytics.property
      where property_code = 'PARIS01'`;
    const requireSettings = async () => {
      const { timeZone, businessDayEnd, currency, occupancyBase, name, city } = await settingsOf(
        service.pool,
        of.clientCode,
        of.propertyCode,
      );
      assert.deepEqual(await rowsOf(shown), [
        [timeZone, businessDayEnd, currency, occupancyBase, name, city],
      ]);
    };
    await requireSettings();
    await setSetting(service.pool, { ...of, propertyCode: null, name: "timeZone" }, "Asia/Tokyo");
    await setSetting(service.pool, { ...of, propertyCode: null, name: "occupancyBase" }, "available");
    await setSetting(service.pool, { ...of, name: "timeZone" }, "Europe/Paris");
    await setSetting(service.pool, { ...of, name: "businessDayEnd" }, "03:00");
    await requireSettings();
    for (const timeZone of ["Europe/Paris", "Asia/Kathmandu", "Pacific/Honolulu", "America/New_York"])
      for (const businessDayEnd of ["00:00", "03:00", "02:30", "22:00"]) {
        const instants = ["2026-03-29", "2026-10-25", "2026-11-01", "2026-06-01"].flatMap((day) =>
          Array.from({ length: 72 }, (_, at) => new Date(Date.parse(day) - 36e5 * 8 + at * 24e5)),
        );
        const rows = await rowsOf(
          `select business_day::text, analytics.end_of_business_day(business_day, $2, $3)
          from unnest($1::timestamptz[]) with ordinality as asked (instant, place)
          cross join lateral (select analytics.business_day_of(instant, $2, $3) as business_day) as day order by place`,
          instants,
          timeZone,
          businessDayEnd,
        );
        const expected = instants.map((instant) => {
          const day = businessDayOf(instant, { timeZone, businessDayEnd });
          return [day, endOfBusinessDay(day, { timeZone, businessDayEnd })];
        });
        assert.deepEqual(rows, expected, `${timeZone} ${businessDayEnd}`);
      }
  });

  test("is, in functions, what they run: no marks for another database, and the bucket only where there are several servers", async () => {
    const functions = await rowsOf(
      "select proname, prosrc from pg_proc where pronamespace = 'analytics'::regnamespace and proretset",
    );
    assert.equal(functions.length, RELATIONS.length);
    for (const [name, body] of functions) {
      assert.doesNotMatch(String(body), /\/\*/, String(name));
      assert.equal(String(body).includes(".bucket = home"), !hasRoles, String(name));
    }
    const migration = await readFile(
      new URL("../../sql/migrations/0001-create-schema.sql", import.meta.url),
      "utf8",
    );
    assert.doesNotMatch(migration, /night_on_the_books|nights_and_counts/);
  });

  test("are the client code's own status mappings, in counted nights and movements too", async () => {
    const of = (id: string, status: string) => ({
      ...reservation(id, OLD, { status }),
      propertyCode: "MAPS",
    });
    await apply(service, "reservations", [of("1", "WALK IN"), of("2", "In-House"), of("3", "no_show")]);
    const meanings = () =>
      rowsOf(
        `select status, meaning, on_the_books from analytics.status_meaning
        where property_code = 'MAPS' and resource = 'reservations' order by status collate "C"`,
      );
    const counts = () =>
      rowsOf(
        `select (select sum(rooms)::integer from analytics.night_on_the_books where property_code = 'MAPS'),
          sum(arrivals)::integer, sum(cancelled_rooms)::integer, sum(no_show_rooms)::integer
        from analytics.movement where property_code = 'MAPS'`,
      );
    assert.deepEqual(await meanings(), [
      ["In-House", "IN_HOUSE", true],
      ["WALK IN", null, null],
      ["no_show", "NO_SHOW", false],
    ]);
    assert.deepEqual(await counts(), [[3, 1, 0, 3]]);
    const map = (status: string, deducts: boolean) =>
      mapStatus(service.pool, { clientCode: "ACME", resource: "reservations", status }, deducts);
    await map("WALK IN", true);
    await map("In-House", false);
    assert.deepEqual(await counts(), [[3, 1, 3, 3]]);
    await map("no_show", true);
    assert.deepEqual(
      await counts(),
      [[6, 2, 3, null]].map((row) => row.map((count) => count ?? 0)),
    );
  });
});

const documentation = () => readFile(new URL("../../docs/analytics.md", import.meta.url), "utf8");

async function exampleThat(has: string): Promise<string> {
  const examples = [...(await documentation()).matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql = ""]) => sql);
  return examples.find((sql) => sql.includes(has)) ?? assert.fail(has);
}

describe("docs/analytics.md", () => {
  test("lists the columns of each view, with their types", async () => {
    const text = await documentation();
    for (const relation of [...RELATIONS, ...PRESENT]) {
      const [, table = ""] =
        new RegExp(`<!-- checked: columns of ${relation} -->([\\s\\S]*?)<!-- end -->`).exec(text) ?? [];
      const documented = [...table.matchAll(/^\| (`.*?) \| (\w+) \|/gm)].flatMap(([, names = "", type]) =>
        [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, type]),
      );
      const columns = await rowsOf(
        `select attname, replace(format_type(atttypid, atttypmod), 'timestamp with time zone', 'timestamptz')
        from pg_attribute where attrelid = $1::regclass and attnum > 0
        and attname not in ('client_code', 'property_code', 'source_time', 'received_at') order by attnum`,
        `analytics.${relation}`,
      );
      assert.deepEqual(documented, columns, relation);
    }
    assert.equal(text, withColumns(text), "not up to date: run npm run generate -- docs");
  });

  test("has examples that count shares once, add no currencies, and leave cancelled reservations out", async () => {
    const stay = (currencyCode: string) => ({
      arrivalDate: "2026-07-20",
      departureDate: "2026-07-21",
      roomTypeCode: "DLX",
      marketSegmentCode: "LEISURE",
      currencyCode,
      rates: [{ rateValue: "100" }],
    });
    const stayRevenue = { daily: [{ occupancyDate: "2026-07-20", netRoomRevenue: 60, netTotalRevenue: 70 }] };
    const of = (id: string, currencyCode: string, fields: Record<string, unknown> = {}) => ({
      ...reservation(id, OLD),
      propertyCode: "SUMS",
      numberOfRooms: 1,
      roomStays: [stay(currencyCode)],
      stayRevenue,
      ...fields,
    });
    await apply(service, "reservations", [
      of("1", "EUR", { shareId: "S" }),
      of("2", "EUR", { shareId: "S" }),
      of("3", "EUR", { numberOfRooms: 3, roomStays: [{ ...stay("EUR"), rates: [{ rateValue: "200" }] }] }),
      of("4", "USD"),
      of("5", "EUR", { status: "CANCELLED" }),
    ]);
    const answerOf = async (has: string) =>
      rowsOf((await exampleThat(has)).replaceAll("'PARIS01'", "'SUMS'"));
    assert.deepEqual(await answerOf("room_type_code, currency_code, sum(rooms) as rooms"), [
      ["2026-07-20", "DLX", "EUR", 4, "180"],
      ["2026-07-20", "DLX", "USD", 1, "60"],
    ]);
    const pickups = (await answerOf("as pickup_1")).map(([date, currency, ...of]) => [
      date,
      currency,
      ...of.map(Number),
    ]);
    assert.deepEqual(pickups, [
      ["2026-07-20", "EUR", 4, 180, 0, 0, 0, 0, 0, 0, 0, 0],
      ["2026-07-20", "USD", 1, 60, 0, 0, 0, 0, 0, 0, 0, 0],
    ]);
    assert.deepEqual(await answerOf("average_rate"), [
      ["LEISURE", "EUR", 5, "160.00"],
      ["LEISURE", "USD", 1, "100.00"],
    ]);
    assert.deepEqual(await answerOf("from analytics.daily_revenue"), [
      ["2026-07-20", "EUR", "210", null],
      ["2026-07-20", "USD", "70", null],
    ]);
  });

  test("has examples that run, and names every view and function there is", async () => {
    const text = await readFile(new URL("../../docs/analytics.md", import.meta.url), "utf8");
    const examples = [...text.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, sql]) => sql as string);
    assert.ok(examples.length >= 8);
    const client = await openAsSuperuser();
    try {
      await client.query("begin");
      for (const sql of examples) {
        // Those of Citus are tried in citus.test.ts.
        if (sql.startsWith("-- On Citus") || (!hasRoles && /^(create role|-- As a superuser)/.test(sql)))
          continue;
        const result = await client.query(sql);
        if (/^(select|with)/.test(sql)) assert.ok((result.rowCount ?? 0) > 0, sql);
      }
      const mayLock = await client.query(
        `select distinct has_function_privilege(nspowner, pg_proc.oid, 'execute') as own,
          has_function_privilege('public', pg_proc.oid, 'execute') as others
        from pg_proc, pg_namespace where proname ~ 'advisory' and nspname = 'bellhop'`,
      );
      if (hasRoles) assert.deepEqual(mayLock.rows, [{ own: true, others: false }]);
      if (hasRoles) await assertConfined(client, "acme_analyst", "acme.reservation");
      // One of the examples made a role: it sees the views and functions of analytics and nothing behind them.
      if (hasRoles) await client.query("set local role bellhop_analyst");
      for (const relation of RELATIONS) {
        await client.query(`select * from analytics.${relation}`);
        await client.query(`select * from analytics.${relation}_as_of(now(), 'receipt')`);
      }
      for (const relation of PRESENT) await client.query(`select * from analytics.${relation}`);
      if (hasRoles)
        await assert.rejects(client.query("select from bellhop_state.current_record"), /permission denied/);
      await client.query("rollback");
    } finally {
      await client.end();
    }
    const names = await rowsOf(
      `select relname from pg_class where relnamespace = 'analytics'::regnamespace and relkind = 'v' and relname not like 'stored%'
      union select proname from pg_proc where pronamespace = 'analytics'::regnamespace and proname like '%as_of'`,
    );
    assert.equal(names.length, 2 * RELATIONS.length + PRESENT.length);
    for (const [name] of names) assert.ok(text.includes(`\`${name}\``), String(name));
  });
});

describe("a replay that swaps the state", () => {
  test("leaves every view and function on the new tables, with its grants, and names those it may not touch", async (t) => {
    const [analyst, stranger] = ["analyst", "stranger"].map((name) => `${service.database.name}_${name}`);
    await service.pool.query(`
      create schema mine;
      create view mine.direct with (security_barrier) as
        select key, status from bellhop_state.current_record where resource = 'r';
      create view mine.over as select reservation_id from analytics.reservation`);
    const superuser = await openAsSuperuser();
    t.after(() => superuser.end());
    // On a server of another kind the service's role may be a superuser, which may touch every view.
    const [[isSuperuser] = []] = await rowsOf("select rolsuper from pg_roles where rolname = current_user");
    const roles = `
      create role ${analyst};
      grant usage on schema analytics to ${analyst};
      grant select on all tables in schema analytics to ${analyst};
      create role ${stranger};
      create schema theirs authorization ${stranger};
      grant usage on schema bellhop_state to ${stranger};
      grant select on bellhop_state.current_record to ${stranger};
      set role ${stranger};
      create view theirs.direct as select key from bellhop_state.current_record;
      reset role`;
    if (hasRoles) await superuser.query(roles);
    const before = await rowsOf("select count(*)::integer from analytics.stay_night");
    const { clientConfig } = service.database;
    const report = await replay({ clientConfig, pool: service.pool, swap: true });
    assert.ok(report.equal);
    assert.deepEqual(report.unboundViews, hasRoles && !isSuperuser ? ["theirs.direct"] : []);
    // The former tables are emptied: whoever still reads them shows nothing.
    await service.pool.query(
      `truncate ${["current_record", "reservation_version"].map((table) => `${report.formerSchema}.${table}`).join(", ")}`,
    );
    assert.deepEqual(await rowsOf("select count(*)::integer from analytics.stay_night"), before);
    assert.deepEqual(
      await rowsOf("select count(*)::integer from analytics.stay_night_as_of('infinity', 'receipt')"),
      before,
    );
    await apply(service, "reservations", [{ ...reservation("NEW", OLD), propertyCode: "SWAP" }]);
    assert.deepEqual(
      await rowsOf("select reservation_id from analytics.reservation where property_code = 'SWAP'"),
      [["NEW"]],
    );
    assert.deepEqual(await rowsOf("select key from mine.direct where key = 'NEW'"), [["NEW"]]);
    assert.deepEqual(await rowsOf("select reservation_id from mine.over where reservation_id = 'NEW'"), [
      ["NEW"],
    ]);
    assert.deepEqual(
      await rowsOf("select reloptions::text from pg_class where oid = 'mine.direct'::regclass"),
      [["{security_barrier=true}"]],
    );
    if (hasRoles)
      assert.deepEqual(
        await rowsOf("select has_table_privilege($1, 'analytics.reservation', 'select')", analyst),
        [[true]],
      );
    await service.pool.query(`drop schema ${report.formerSchema} cascade`);
    for (const relation of RELATIONS) await service.pool.query(`table analytics.${relation}`);
    if (hasRoles)
      await superuser.query(`drop owned by ${analyst}, ${stranger}; drop role ${analyst}, ${stranger}`);
  });
});
