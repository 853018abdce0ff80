import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readByteRows } from "../../src/platform/db/byte-rows.ts";
import { withTransaction } from "../../src/platform/db/transaction.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

test("dates stay text, bigints are numbers or refused, decimals stay text", async () => {
  const { rows } = await database.pool.query(
    `select date '2026-02-03' as day, array[date '2026-02-03', null] as days, 9007199254740991 as largest,
            array[1::bigint, null] as numbers, 0.10::numeric as amount`,
  );
  assert.deepEqual(rows, [
    {
      day: "2026-02-03",
      days: ["2026-02-03", null],
      largest: 9007199254740991,
      numbers: [1, null],
      amount: "0.10",
    },
  ]);
  await assert.rejects(database.pool.query("select 9007199254740993 as beyond"), /does not fit/);
});

test("rows are read as bytes, of any value and length, by a prepared statement", async () => {
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const large = Buffer.alloc(300_000, every);
  const statement = {
    name: "bytes",
    text: "select * from unnest($1::bytea[], $2::integer[]) as given (bytes, number)",
  };
  for (const values of [[every, Buffer.alloc(0), null], [large, every, large], []]) {
    const numbers = values.map((_, at) => at - 1);
    const read = await readByteRows(database.pool, statement, [values, numbers]);
    assert.deepEqual(
      read.rows.map(([bytes, number]) => [bytes, number?.readInt32BE()]),
      values.map((value, at) => [value, at - 1]),
    );
    read.free();
  }
});

test("an error of a statement that is read as bytes reaches its caller, and the connection is usable again", async () => {
  await withTransaction(database.pool, async (client) => {
    await client.query("savepoint before");
    const failing = { text: "select 1 / (3 - number) from generate_series(1, 5) as given (number)" };
    const queued = readByteRows(client, failing, []);
    const rolledBack = client.query("rollback to before");
    await assert.rejects(queued, { code: "22012" });
    await rolledBack;
    const { rows } = await readByteRows(client, { text: "select 7::smallint" }, []);
    assert.deepEqual(rows, [[Buffer.from([0, 7])]]);
    assert.deepEqual((await client.query("select 7::smallint as seven")).rows, [{ seven: 7 }]);
  });
  await assert.rejects(readByteRows(database.pool, { text: "select 1 / 0" }, []), { code: "22012" });
  assert.deepEqual((await readByteRows(database.pool, { text: "select null" }, [])).rows, [[null]]);
});

test("a session's synchronous_commit is on and its time zone UTC, whatever the role's defaults are", async () => {
  const { rows } = await database.pool.query(
    "select current_setting('synchronous_commit') as level, current_setting('timezone') as zone",
  );
  assert.deepEqual(rows, [{ level: "on", zone: "UTC" }]);
});

test("a transaction is rolled back when its work throws, and its connection is usable again", async () => {
  await database.pool.query("create table kept (n integer)");
  await assert.rejects(
    withTransaction(database.pool, async (client) => {
      await client.query("insert into kept values (1)");
      throw new Error("second thoughts");
    }),
    /second thoughts/,
  );
  await withTransaction(database.pool, (client) => client.query("insert into kept values (2)"));
  const { rows } = await database.pool.query("select n from kept");
  assert.deepEqual(rows, [{ n: 2 }]);
});

test("a connection that is lost in a transaction fails the transaction and not the process", async () => {
  const lost = withTransaction(database.pool, async (client) => {
    const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const ended = new Promise((resolve) => client.once("end", resolve));
    await database.pool.query("select pg_terminate_backend($1::integer)", [rows[0]?.pid]);
    await ended;
    await client.query("select 1");
  });
  await assert.rejects(lost, /not queryable|terminat/);
  assert.equal((await database.pool.query("select 1")).rowCount, 1);
});

test("a transaction whose work swallowed an error does not count as committed", async () => {
  const swallowed = withTransaction(database.pool, async (client) => {
    await client.query("select 1 / 0").catch(() => undefined);
  });
  await assert.rejects(swallowed, /rolled back at commit/);
});
