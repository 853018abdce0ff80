import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { checkRecord } from "#contract/check-record.ts";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import { readRecord } from "#contract/read-record.ts";
import { letterOf, RESOURCES, type Resource } from "#contract/resource.ts";
import { groupNights } from "../../src/apply/ledger/content-nights.ts";
import { VERSION_TABLES } from "../../src/apply/state/record.ts";
import { factColumns, factsText, parsedFacts, readFacts } from "../contract/facts.ts";
import { recordsOf } from "../contract/records.ts";
import { type Item, itemsOf, type Shown, shownOf } from "../contract/shown-facts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { validRecords } from "../support/valid-records.ts";

const RUNS = 60;
const RECORDS_A_RUN = 25;

describe("facts as text", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
  });
  after(() => database.drop());

  /** The facts of a text as PostgreSQL reads them: every value, or element of an array, cast to text by itself. */
  async function castFacts(resource: Resource, texts: readonly string[]): Promise<unknown[]> {
    const columns = factColumns(resource).map(
      ({ name, type, expression }) =>
        `(${expression})::${type.endsWith("[]") ? "text[]" : "text"} as ${name}`,
    );
    const { rows } = await database.pool.query<Record<string, unknown>>({
      text: `select ${columns.join(", ")} from unnest($1::text[]) with ordinality as sent (facts, at)
        cross join lateral (select bellhop.facts_of(sent.facts) as fact offset 0) as given order by sent.at`,
      values: [texts],
    });
    return rows.map((row) => ({ ...row }));
  }

  /** What was written, each value by itself through the type of its column. */
  async function expectedFacts(resource: Resource, texts: readonly string[]): Promise<unknown[]> {
    const columns = factColumns(resource);
    const types = columns.map(({ name, type }) => `${name} ${type.endsWith("[]") ? "text[]" : "text"}`);
    const cast = (text: string, type: string) =>
      `${type === "timestamptz" ? `(left(rtrim(${text}, 'Z'), 26) || 'Z')` : text}::${type}::text`;
    const values = columns.map(({ name, type }) =>
      type.endsWith("[]")
        ? `(select array_agg(${cast("element", type.slice(0, -2))} order by place)
            from unnest(${name}) with ordinality as one (element, place)) as ${name}`
        : `${cast(name, type)} as ${name}`,
    );
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select ${values.join(", ")} from rows from (json_to_recordset($1::json) as (${types.join(", ")}))
        with ordinality as sent order by ordinality`,
      [JSON.stringify(texts.map((text) => readFacts(resource, text)))],
    );
    return rows.map((row) => ({ ...row }));
  }

  test("a release with a new fact reads earlier versions, and the previous release reads the new ones", async () => {
    const groupBlocks = [{ occupancyDate: "2026-07-14", roomTypeCode: "DLX", blocks: 3 }];
    const before = parsedFacts("groups", { name: "Wedding", groupBlocks });
    const given = before.slice(1, -1).split(",");
    const places = factColumns("groups").length;
    assert.ok(given.length < places, "nothing is written beyond the last fact that is given");
    const after = `{${[...given, ...new Array(places - given.length).fill("NULL"), "Ann"].join(",")}}`;
    await database.pool.query(
      `insert into bellhop_state.group_version (source_time, facts_source_time, property_id, record_index, from_date, to_date,
        bucket, outcome, request_id, content_hash, key, facts)
      select now(), now(), 1, 0, '2026-07-14', '2026-07-14', 0, 'a', gen_random_uuid(), '\\x00', key, facts
      from unnest($1::text[], $2::text[]) as stored (key, facts)`,
      [
        ["before", "after"],
        [before, after],
      ],
    );
    const { rows } = await database.pool.query<{ text: string }>(
      "select pg_get_viewdef('analytics.stored_group_version'::regclass) as text",
    );
    const grown = (rows[0]?.text ?? "").replace("\n   FROM", `, fact[${places + 1}] as salesperson\n   FROM`);
    await database.pool.query(`create or replace view analytics.stored_group_version as ${grown}`);
    const stored = await database.pool.query(
      `select key, name, blocks, currency_code, salesperson from analytics.stored_group_version order by key desc`,
    );
    const reported = { name: "Wedding", blocks: [3], currency_code: null };
    assert.deepEqual(stored.rows, [
      { key: "before", ...reported, salesperson: null },
      { key: "after", ...reported, salesperson: "Ann" },
    ]);
    const nightsOf = (facts: string) => groupNights(spansOfFacts("groups", facts), "DEFINITE", "G1");
    assert.equal(nightsOf(before)[0]?.blocks, 3);
    assert.deepEqual(nightsOf(after), nightsOf(before));
  });

  for (const resource of RESOURCES) {
    test(`any valid record of ${resource} is read back as written`, async () => {
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(validRecords(resource), { minLength: 1, maxLength: RECORDS_A_RUN }),
          async (records) => {
            const batch = Buffer.from(JSON.stringify(records));
            const texts = recordsOf(batch)
              .filter((record) => checkRecord(resource, record, 1).total === 0)
              .map(({ start, end }) =>
                factsText(readRecord(resource, batch.subarray(start, end)).content().facts),
              );
            accepted += texts.length;
            assert.deepEqual(await castFacts(resource, texts), await expectedFacts(resource, texts));
          },
        ),
        { numRuns: RUNS },
      );
      assert.ok(accepted > RUNS, `only ${accepted} records were accepted`);
    });
  }

  /** Stores records as versions that count, each of a property of its own, and returns the names of the properties. */
  async function storeRecords(resource: Resource, records: readonly object[]): Promise<string[]> {
    const codes = records.map(() => randomUUID());
    const texts = records.map((record) =>
      factsText(readRecord(resource, Buffer.from(JSON.stringify(record))).content().facts),
    );
    const version = `property_id, '2026-07-14'::date, '2026-07-14'::date, bucket, '2026-03-01Z'::timestamptz,
      '2026-03-01Z'::timestamptz, gen_random_uuid(), 0, '\\x00'::bytea, 'K'`;
    const columns =
      "property_id, from_date, to_date, bucket, source_time, facts_source_time, request_id, record_index, content_hash, key";
    await database.pool.query(
      `with stored as (
        insert into bellhop.property (client_code, property_code, bucket, created_by)
        select 'ACME', code, 0, 'test' from unnest($1::text[]) as code returning property_id, property_code, bucket
      ), current as (
        insert into bellhop_state.current_record (${columns}, resource) select ${version}, '${letterOf(resource)}' from stored
      )
      insert into bellhop_state.${VERSION_TABLES[letterOf(resource)]} (${columns}, outcome, facts)
      select ${version}, 'a', given.facts from stored join unnest($1::text[], $2::text[]) as given (code, facts) on code = property_code`,
      [codes, texts],
    );
    return codes;
  }

  /** The rows that a relation and its function have of the facts of some records are those expected, in any order. */
  async function checkRows(
    relation: string,
    expected: readonly { readonly code: string; readonly shown: readonly Shown[] }[],
  ): Promise<void> {
    const [first] = expected;
    if (first === undefined) return;
    const columns = first.shown.map(({ name, type }) => ({ name, type }));
    const asText = (of: (name: string) => string) =>
      columns.map(({ name, type }) => {
        const sent = type === "timestamptz" ? `(left(rtrim(${name}, 'Z'), 26) || 'Z')` : name;
        return `${of(sent)}::${type}::text as ${name}`;
      });
    const sent = expected.map(({ code, shown }) => ({
      property_code: code,
      ...Object.fromEntries(shown.map(({ name, text }) => [name, text])),
    }));
    const typed = await database.pool.query<object>(
      `select property_code, ${asText((name) => name).join(", ")}
      from json_to_recordset($1::json) as (property_code text, ${columns.map(({ name }) => `${name} text`).join(", ")})`,
      [JSON.stringify(sent)],
    );
    const codes = [...new Set(expected.map(({ code }) => code))];
    const rowsOf = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).toSorted();
    for (const from of [relation, `${relation}_as_of('infinity', 'source', 'ACME')`]) {
      const { rows } = await database.pool.query<object>(
        `select property_code, ${columns.map(({ name }) => `${name}::text as ${name}`).join(", ")}
        from analytics.${from} where property_code = any ($1)`,
        [codes],
      );
      assert.deepEqual(rowsOf(rows), rowsOf(typed.rows), from);
    }
  }

  const renamed = (shown: readonly Shown[], from: string, to: string) =>
    shown.map((one) => (one.name === from ? { ...one, name: to } : one));
  const WITHOUT_VALUE = (shown: readonly Shown[]) => shown.map((one) => ({ ...one, text: null }));

  /** The reservation with one stay of two nights (or none), one rate without bounds, and revenue on the day of arrival. */
  function plain(record: Item, departureDate: string): Item {
    const [stay = {}] = itemsOf(record, "roomStays");
    const [day = {}] = itemsOf((record["stayRevenue"] ?? {}) as Item, "daily");
    const [{ startDate: _, endDate: __, ...rate } = {}] = itemsOf(stay, "rates");
    return {
      ...record,
      roomStays: [{ ...stay, arrivalDate: "2026-07-14", departureDate, rates: [rate] }],
      stayRevenue: { daily: [{ ...day, netRoomRevenue: "1", occupancyDate: "2026-07-14" }] },
    };
  }

  /** The facts of each relation's rows, by the record. */
  const ROWS: Readonly<
    Record<Resource, Readonly<Record<string, (record: Item) => readonly (readonly Shown[])[]>>>
  > = {
    inventories: {
      room_type_inventory: (record) =>
        ["roomTypeInventories", "virtualRoomTypeInventories"].flatMap((list) =>
          itemsOf(record, list).map((room) => [
            ...shownOf("inventory", record),
            ...shownOf("room", room),
            { name: "is_virtual", type: "boolean" as const, text: String(list.startsWith("virtual")) },
          ]),
        ),
    },
    reservations: {
      reservation: (record) => [shownOf("reservation", record)],
      room_stay: (record) => itemsOf(record, "roomStays").map((stay) => shownOf("stay", stay)),
      daily_revenue: (record) =>
        itemsOf((record["stayRevenue"] ?? {}) as Item, "daily").map((day) =>
          renamed(shownOf("day", day), "revenue_date", "occupancy_date"),
        ),
    },
    groups: {
      group_block_master: (record) => [shownOf("group", record)],
      group_block_night: (record) => itemsOf(record, "groupBlocks").map((block) => shownOf("block", block)),
    },
  };

  for (const resource of RESOURCES) {
    test(`every fact of a record of ${resource} is read back through every relation`, async () => {
      let rows = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(validRecords(resource), { minLength: 1, maxLength: RECORDS_A_RUN }),
          async (records) => {
            const codes = await storeRecords(resource, records);
            for (const [relation, rowsOf] of Object.entries(ROWS[resource])) {
              const expected = records.flatMap((record, at) =>
                rowsOf(record).map((shown) => ({ code: codes[at] ?? "", shown })),
              );
              rows += expected.length;
              await checkRows(relation, expected);
            }
          },
        ),
        { numRuns: RUNS / 3 },
      );
      assert.ok(rows > RUNS, `only ${rows} rows`);
    });
  }

  test("every fact of a reservation is read back of its nights", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(validRecords("reservations"), { minLength: 1, maxLength: RECORDS_A_RUN }),
        async (sent) => {
          const records = sent.map((record) => plain(record, "2026-07-16"));
          const codes = await storeRecords("reservations", records);
          const nights = records.flatMap((record, at) => {
            const [stay = {}] = itemsOf(record, "roomStays");
            const [rate = {}] = itemsOf(stay, "rates");
            const [day = {}] = itemsOf(record["stayRevenue"] as Item, "daily");
            const ofDay = shownOf("day", day).filter(({ name }) => name !== "revenue_date");
            const ofNight = [
              ...shownOf("stay", stay),
              ...shownOf("rate", rate).filter(({ name }) => !/^rate_(start|end)_date$/.test(name)),
            ];
            return [ofDay, WITHOUT_VALUE(ofDay)].map((revenue) => ({
              code: codes[at] ?? "",
              shown: [...ofNight, ...revenue],
            }));
          });
          await checkRows("stay_night", nights);

          const dayUse = sent.map((record) => plain(record, "2026-07-14"));
          const others = await storeRecords("reservations", dayUse);
          await checkRows(
            "revenue_without_night",
            dayUse.map((record, at) => ({
              code: others[at] ?? "",
              shown: shownOf("stay", itemsOf(record, "roomStays")[0] ?? {}).filter(
                ({ type }) => type === "text",
              ),
            })),
          );
        },
      ),
      { numRuns: RUNS / 3 },
    );
  });
});
