import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { PropertyRegister } from "../../src/ingest/log/property-register.ts";
import { reservation, submissionOf } from "../support/apply-bench.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const recordsOf = (codes: readonly string[]) =>
  submissionOf(codes.map((code) => reservation("R", "2026-01-01T00:00:01Z", "x", code))).records;

describe("the register of properties, between clients", () => {
  let database: TestDatabase;
  before(async () => {
    database = await createTestDatabase();
    // The plan of a service with many properties, which looks up the new ones one by one, in the order they came.
    const client = new pg.Client(database.clientConfig);
    await client.connect();
    for (const setting of ["enable_hashjoin", "enable_mergejoin"])
      await client.query(`alter database ${database.name} set ${setting} = off`);
    await client.end();
  });
  after(() => database.drop());

  /** A session that has inserted one property and not committed: whoever wants the same one waits for it. */
  const holdBack = async (code: string) => {
    const client = new pg.Client(database.clientConfig);
    await client.connect();
    await client.query("begin");
    await client.query(
      "insert into bellhop.property (client_code, property_code, bucket, created_by) values ('ACME', $1, 0, 'x')",
      [code],
    );
    return {
      release: async () => {
        await client.query("rollback");
        await client.end();
      },
    };
  };

  const waiters = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ count: number }>(
      "select count(*)::integer as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows[0]?.count ?? 0;
  };

  test("accepts the same new properties from two clients at once, in any order", async () => {
    const first = new PropertyRegister(database.pool, 1_000);
    const second = new PropertyRegister(database.pool, 1_000);
    const middleOfFirst = await holdBack("M1");
    const middleOfSecond = await holdBack("M2");
    const one = first.register("client-1", recordsOf(["A", "M1", "B"]));
    const two = second.register("client-2", recordsOf(["B", "M2", "A"]));
    await until(async () => (await waiters()) === 2, 10_000);
    await middleOfFirst.release();
    await middleOfSecond.release();
    await Promise.all([one, two]);
    const { rows } = await database.pool.query("select property_code from bellhop.property order by 1");
    assert.deepEqual(
      rows.map((row: { property_code: string }) => row.property_code),
      ["A", "B", "M1", "M2"],
    );
  });
});
