import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import { isoOfStored, openStateSession } from "../../src/apply/state/look-up.ts";
import { CopyRows, copyIn, copyItems } from "../../src/platform/db/copy.ts";
import { isDataError } from "../../src/platform/db/database-errors.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const DAY_MS = 86_400_000;

/** Every day of the years 0001 to 9999 by its number from the first. */
const dates = fc.integer({ min: 0, max: 3_652_058 }).map((day) => {
  const date = new Date(0);
  date.setUTCFullYear(1, 0, 1 + day);
  return date.toISOString().slice(0, 10);
});
const timestamps = fc
  .tuple(dates, fc.integer({ min: 0, max: DAY_MS - 1 }), fc.integer({ min: 0, max: 999 }))
  .map(
    ([date, ms, us]) => `${date}${new Date(ms).toISOString().slice(10, 23)}${String(us).padStart(3, "0")}Z`,
  );
interface Row {
  readonly s: number;
  readonly i: number;
  readonly b: number;
  readonly c: string;
  readonly u: string;
  readonly h: string;
  readonly d: string;
  readonly z: string;
  readonly t: string | null;
}

const rowsToCopy: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    s: fc.integer({ min: -32_768, max: 32_767 }),
    i: fc.integer(),
    b: fc.maxSafeInteger(),
    c: fc.constantFrom("a", "u", "s"),
    u: fc.uuid(),
    h: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("hex")),
    d: dates,
    z: timestamps,
    t: fc.option(fc.string({ unit: "grapheme", maxLength: 20 })),
  }),
  { maxLength: 30 },
);

describe("rows by COPY", () => {
  let database: TestDatabase;
  let client: pg.Client;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client({ ...database.clientConfig, query_timeout: 30_000 });
    await client.connect();
    await openStateSession(client, "bellhop_state");
    await client.query(`create temp table copied (n serial, s smallint, i integer, b bigint, c "char", u uuid, h bytea, d date,
      z timestamptz, t text)`);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });
  const COPY = "copy copied (s, i, b, c, u, h, d, z, t) from stdin (format binary)";

  function copyOf(rows: readonly Row[]): Buffer {
    const copied = new CopyRows(9);
    for (const row of rows) {
      copied.row();
      copied.smallint(row.s);
      copied.integer(row.i);
      copied.bigint(row.b);
      copied.letter(row.c);
      copied.uuid(row.u);
      copied.hex(row.h);
      copied.date(row.d);
      copied.timestamp(row.z);
      if (row.t === null) copied.null();
      else copied.text(row.t);
    }
    return copied.finish();
  }

  test("are read back exactly, up to the limits of each type", async () => {
    await fc.assert(
      fc.asyncProperty(rowsToCopy, async (rows) => {
        await client.query("truncate copied");
        await copyIn(client, COPY, copyOf(rows));
        const { rows: stored } = await client.query<Row>(
          `select s, i, b::text::float8 as b, c, u, encode(h, 'hex') as h, d::text as d, z::text as z, t
          from copied order by n`,
        );
        assert.deepEqual(
          stored.map((row) => ({ ...row, z: isoOfStored(row.z) })),
          rows.map((row) => ({ ...row })),
        );
      }),
      { numRuns: 200 },
    );
  });

  test("have exact numerics, from text or ten-thousandths, and days and instants from numbers", async () => {
    const digits = (min: number, max: number) =>
      fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: min, maxLength: max });
    const decimals = fc
      .tuple(fc.constantFrom("", "-"), digits(1, 22), digits(0, 16))
      .map(([sign, whole, fraction]) => `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`);
    const numbers = fc.record({
      text: decimals,
      units: fc.oneof(fc.maxSafeInteger(), fc.integer({ min: -20_000, max: 20_000 })),
      day: fc.integer({ min: -719_162, max: 2_932_896 }),
      at: fc.integer({ min: 0, max: 4_000_000_000_000_000 }),
      wide: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    });
    await client.query(
      "create temp table counted (n serial, text numeric, units numeric, day date, at timestamptz, wide bigint)",
    );
    await fc.assert(
      fc.asyncProperty(fc.array(numbers, { maxLength: 20 }), async (rows) => {
        const copied = new CopyRows(5);
        for (const { text, units, day, at, wide } of rows) {
          copied.row();
          copied.numeric(text);
          copied.numeric(units);
          copied.day(day);
          copied.microseconds(at);
          copied.wide(Number(BigInt.asIntN(32, wide >> 32n)), Number(BigInt.asIntN(32, wide)));
        }
        await client.query("truncate counted");
        await copyIn(
          client,
          "copy counted (text, units, day, at, wide) from stdin (format binary)",
          copied.finish(),
        );
        const { rows: stored } = await client.query<{ text: string; is: boolean[] }>(
          `select counted.text::text as text, array[counted.units * 10000 = sent.units::numeric, counted.text = sent.text::numeric,
            counted.units::text = trim_scale(counted.units)::text, counted.day = date '1970-01-01' + sent.day,
            counted.at = timestamptz '1970-01-01 00:00:00Z' + sent.at * interval '1 microsecond',
            counted.wide = sent.wide] as is
          from counted join unnest($1::text[], $2::text[], $3::integer[], $4::bigint[], $5::bigint[]) with ordinality
            as sent (text, units, day, at, wide, place) on place = n - (select min(n) from counted) + 1
          order by n`,
          [
            rows.map(({ text }) => text),
            rows.map(({ units }) => String(units)),
            rows.map(({ day }) => day),
            rows.map(({ at }) => at),
            rows.map(({ wide }) => String(wide)),
          ],
        );
        assert.equal(stored.length, rows.length);
        for (const { is } of stored) assert.deepEqual(is, [true, true, true, true, true, true]);
      }),
      { numRuns: 100 },
    );
  });

  test("may be many and large, and the connection stays usable", async () => {
    await client.query("truncate copied");
    const large = "é".repeat(300_000);
    const row = {
      s: 1,
      i: 1,
      b: 1,
      c: "a",
      u: "0190a000-0000-7000-8000-000000000001",
      h: "",
      d: "2026-01-01",
    };
    const rows = Array.from({ length: 5 }, () => ({ ...row, z: "2026-01-01T00:00:00.000000Z", t: large }));
    await copyIn(client, COPY, copyOf(rows));
    const { rows: counted } = await client.query(
      "select count(*)::integer as count, sum(octet_length(t))::integer as bytes from copied",
    );
    assert.deepEqual(counted, [{ count: 5, bytes: 3_000_000 }]);
  });

  test("that are invalid for their types are a data error, and the transaction continues from its savepoint", async () => {
    await client.query("truncate copied; begin; savepoint before");
    const row = {
      s: 1,
      i: 1,
      b: 1,
      c: "a",
      u: "0190a000-0000-7000-8000-000000000001",
      h: "",
      d: "2026-01-01",
    };
    const z = "2026-01-01T00:00:00.000000Z";
    const many = Array.from({ length: 20_000 }, () => ({ ...row, z, t: "before" }));
    const bad = [{ ...row, z, t: "a\0b" }, ...many];
    await assert.rejects(copyIn(client, COPY, copyOf(bad)), (error) => isDataError(error));
    await client.query("rollback to savepoint before");
    await copyIn(client, COPY, copyOf([{ ...row, z, t: "good" }]));
    await client.query("commit");
    assert.deepEqual((await client.query("select t from copied")).rows, [{ t: "good" }]);
    await assert.rejects(copyIn(client, "copy nowhere from stdin", Buffer.alloc(0)), /does not exist/);
  });

  test("of several sessions share no memory, also if a statement fails, or times out and is answered late", async (t) => {
    await client.query("create table bellhop_state.beside (session integer, n integer, t text)");
    await client.query("create table bellhop_state.late (session integer, n integer, t text)");
    const open = async (more: pg.ClientConfig = {}) => {
      const session = new pg.Client({ ...database.clientConfig, ...more });
      await session.connect();
      t.after(() => session.end());
      return session;
    };
    // Three statements each.
    const numbers = Array.from({ length: 2_500 }, (_, n) => n);
    const filler = "f".repeat(1_000);
    const copyInto = (on: pg.Client, table: string, session: number, badAt?: number) =>
      copyItems(on, { table, columns: ["session", "n", "t"] }, numbers, (rows, n) => {
        rows.row();
        rows.integer(session);
        rows.integer(n);
        rows.text(n === badAt ? "\0" : `${session} ${n} ${filler}`);
      });
    const intactOf = async (table: string) =>
      (
        await client.query(
          `select session, count(distinct n)::integer as rows from ${table} where t = session || ' ' || n || ' ' || $1 group by session order by session`,
          [filler],
        )
      ).rows;
    const [one, two, failing, impatient] = [
      await open(),
      await open(),
      await open(),
      await open({ query_timeout: 200 }),
    ] as const;
    for (let round = 0; round < 3; round += 1)
      await Promise.all([
        copyInto(one, "bellhop_state.beside", 10 + round),
        assert.rejects(copyInto(failing, "bellhop_state.beside", 20 + round, 500), (error) =>
          isDataError(error),
        ),
        copyInto(two, "bellhop_state.beside", 30 + round),
      ]);
    await client.query("begin; lock table bellhop_state.late in exclusive mode");
    await assert.rejects(copyInto(impatient, "bellhop_state.late", 0), /Query read timeout/);
    await copyInto(one, "bellhop_state.beside", 40);
    await client.query("commit");
    await copyInto(two, "bellhop_state.beside", 50);
    assert.deepEqual(
      await intactOf("bellhop_state.beside"),
      [10, 11, 12, 30, 31, 32, 40, 50].map((session) => ({ session, rows: numbers.length })),
    );
    // Its first statement, whose rows were sent after it had been given up.
    await impatient.query({ text: "select", query_timeout: 30_000 } as pg.QueryConfig);
    const [sentLate] = (await client.query("select count(*)::integer as rows from bellhop_state.late")).rows;
    assert.ok(sentLate.rows > 1_000 && sentLate.rows < numbers.length);
    assert.deepEqual(await intactOf("bellhop_state.late"), [{ session: 0, rows: sentLate.rows }]);
  });
});
