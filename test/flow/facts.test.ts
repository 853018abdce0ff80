import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import { checkRecord } from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import { letterOf, RESOURCES, type Resource } from "#contract/resource.ts";
import { VERSION_TABLES } from "../../src/apply/state/record.ts";
import { factColumns, factsText, readFacts } from "../contract/facts.ts";
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
    const { factsType } = VERSION_TABLES[letterOf(resource)];
    const columns = [...factColumns(resource)].map(
      ([name, type]) => `(typed.facts).${name}::${type.endsWith("[]") ? "text[]" : "text"}`,
    );
    const { rows } = await database.pool.query<Record<string, unknown>>({
      text: `select ${columns.join(", ")} from unnest($1::text[]) with ordinality as sent (facts, at)
        cross join lateral (select sent.facts::${factsType} as facts offset 0) as typed order by sent.at`,
      values: [texts],
    });
    return rows.map((row) => ({ ...row }));
  }

  /** What was written, each value by itself through the type of its column. */
  async function expectedFacts(resource: Resource, texts: readonly string[]): Promise<unknown[]> {
    const columns = [...factColumns(resource)];
    const types = columns.map(([name, type]) => `${name} ${type.endsWith("[]") ? "text[]" : "text"}`);
    const values = columns.map(([name, type]) =>
      type.endsWith("[]")
        ? `(select array_agg(element::${type.slice(0, -2)}::text order by place)
            from unnest(${name}) with ordinality as one (element, place)) as ${name}`
        : `${name}::${type}::text`,
    );
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `select ${values.join(", ")} from rows from (json_to_recordset($1::json) as (${types.join(", ")}))
        with ordinality as sent order by ordinality`,
      [JSON.stringify(texts.map((text) => readFacts(resource, text)))],
    );
    return rows.map((row) => ({ ...row }));
  }

  for (const resource of RESOURCES) {
    test(`whatever the contract accepts of ${resource} is read again as what was written`, async () => {
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
