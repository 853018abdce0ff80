import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { spansOfFacts } from "#contract/parsed-spans.ts";
import { checkRecord } from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { groupNights } from "../../src/apply/ledger/content-nights.ts";
import { factColumns, factsText, parsedFacts, readFacts } from "../contract/facts.ts";
import { recordsOf } from "../contract/records.ts";
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
    const values = columns.map(({ name, type }) =>
      type.endsWith("[]")
        ? `(select array_agg(element::${type.slice(0, -2)}::text order by place)
            from unnest(${name}) with ordinality as one (element, place)) as ${name}`
        : `${type === "timestamptz" ? `(left(rtrim(${name}, 'Z'), 26) || 'Z')` : name}::${type}::text as ${name}`,
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
});
