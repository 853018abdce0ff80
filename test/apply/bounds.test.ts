import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { PropertyDirectory, readPart } from "../../src/apply/backlog.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import { insertRows } from "../../src/platform/db/copy.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { openStateClients, readNext } from "../support/state-clients.ts";
import { watchedPool } from "../support/watched-pool.ts";

const T1 = "2026-01-01T00:00:01Z";

/** A group with so many blocks, each of another room type. */
function group(groupCode: string, blocks: number) {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    lastModifiedDateTime: T1,
    groupCode,
    groupStatusCode: "a status that nobody has mapped",
    startDate: "2026-05-01",
    endDate: "2026-05-02",
    groupBlocks: Array.from({ length: blocks }, (_, n) => ({
      occupancyDate: "2026-05-01",
      roomTypeCode: `R${n}`,
      blocks: 1,
    })),
  };
}

describe("what one batch can make apply do", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
  });
  after(() => bench.close());

  test("batches that are small on the wire and large inflated are applied some at a time", async () => {
    // 6 MB each: two are past the 8 MiB of a transaction.
    const padding = "x".repeat(6_000_000);
    const ids: string[] = [];
    for (let n = 0; n < 6; n += 1) ids.push(await bench.accept([{ ...group(`L${n}`, 1), padding }], "g"));
    bench.startApplier();
    for (const id of ids) assert.equal(await bench.outcomesOf(id), "a");
    await bench.stopApplier();
    const [row] = await bench.rows<{ transactions: number }>(
      "select count(distinct xmin::text)::integer as transactions from bellhop.request_outcome",
    );
    assert.equal(row?.transactions, 3);
  });

  test("the rows that a batch makes are reported, and a record out of order as 100", async () => {
    bench.rowsEntered.length = 0;
    bench.startApplier();
    const versions = [4, 5, 1, 2].map((second) =>
      reservation("ROWS", `2026-01-01T00:00:0${second}Z`, `${second}`),
    );
    for (const version of versions) await bench.outcomesOf(await bench.accept([version]));
    await bench.outcomesOf(await bench.accept([group("ROWS", 7)], "g"));
    await bench.stopApplier();
    const [first, second, ...others] = bench.rowsEntered;
    const late = others.slice(0, 2);
    assert.deepEqual([first, second, others[2]], [1, 1, 7]);
    for (const rows of late) assert.ok(rows > 100 && rows < 110, String(rows));
  });

  test("records that arrive after later ones read the versions around them, not all of their key", async () => {
    const yielding = await AcceptLog.open(bench.database.clientConfig, 1, {}, new RequestIdStamp(), {
      yields: true,
    });
    const at = (day: number, second: number) => `2026-01-${day}T00:00:${second}.5Z`;
    bench.startApplier();
    await bench.acceptAndApply([reservation("LONG", "2026-06-01T00:00:00Z", "newest")]);
    await bench.stopApplier();
    await bench.rows(
      `insert into bellhop_state.reservation_version (bucket, property_id, key, source_time, content_hash, request_id, record_index,
        facts_source_time, status, from_date, to_date, outcome, facts)
      select bucket, property_id, key, made.at, decode(md5(made.at::text), 'hex'), request_id, record_index, made.at, status, from_date,
        to_date, 's', facts
      from bellhop_state.reservation_version
      cross join generate_series('2026-01-01Z'::timestamptz, '2026-01-20Z', interval '1 minute') as made (at)
      where key = 'LONG'`,
    );
    const days = [12, 13, 19];
    const late = await yielding.append(
      submissionOf(days.map((day) => reservation("LONG", at(day, 20), "late"))),
    );
    const others = Array.from({ length: 9 }, (_, n) => [19 - n, 21 + n]).flat();
    await bench.accept(
      days.flatMap((day) => others.map((second) => reservation("LONG", at(day, second), `${second}`))),
    );
    const fetched = async () => {
      const [row] = await bench.rows<{ sum: number }>(
        "select sum(idx_tup_fetch)::integer as sum from pg_stat_user_tables where relname like 'reservation_version%'",
      );
      return row?.sum ?? 0;
    };
    const before = await fetched();
    bench.startApplier();
    assert.equal(await bench.outcomesOf(late.requestId), "sss");
    await yielding.close();
    // A session that ends reports what it has read.
    await bench.stopApplier();
    const read = (await fetched()) - before;
    assert.ok(read < 3_000, `${read} rows were read`);
  });

  test("a session begins with a small transaction, and takes more after each commit", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1)
      ids.push(
        await bench.accept(Array.from({ length: 50 }, (_, at) => reservation(`S${n}-${at}`, T1, "x"))),
      );
    bench.startApplier();
    for (const id of ids) await bench.outcomesOf(id);
    await bench.stopApplier();
    const transactions = await bench.rows<{ records: number }>(
      `select sum(length(outcomes))::integer as records from bellhop.request_outcome where request_id = any ($1)
       group by xmin::text order by min(request_id::text)`,
      [ids],
    );
    const records = transactions.map((row) => row.records);
    assert.equal(records[0], 100, `of ${records}`);
    // A transaction that takes a second on a busy machine lets the next be as large as itself, and no smaller.
    for (const [at, count] of records.slice(1, -1).entries())
      assert.ok(count >= (records[at] as number), `of ${records}`);
    assert.ok(Math.max(...records) > 100, `of ${records}`);
  });

  test("the event loop stays responsive while a large batch is read", async () => {
    await bench.accept(
      Array.from({ length: 500 }, (_, n) => group(`S${n}`, 100)),
      "g",
    );
    const clients = await openStateClients(bench.database);
    try {
      const [part] = (await readNext(clients, 1_000))?.parts ?? [];
      assert.ok(part !== undefined);
      let turns = 0;
      let reading = true;
      const count = () => {
        turns += 1;
        if (reading) setImmediate(count);
      };
      setImmediate(count);
      const { records, inflatedBytes } = await readPart(part, new PropertyDirectory(bench.database.pool));
      reading = false;
      assert.equal(records.length, 500);
      assert.ok(inflatedBytes > 3_000_000);
      assert.ok(turns >= 20, `${turns} turns`);
    } finally {
      for (const client of clients) await client.end();
    }
  });

  test("a record's warnings are limited, including those from its context", async () => {
    bench.startApplier();
    await bench.acceptAndApply(
      [
        {
          clientCode: "ACME",
          propertyCode: "LON01",
          createDateTime: T1,
          occupancyDate: "2026-05-01",
          roomTypeInventories: [{ roomTypeCode: "SGL", roomTypeCapacity: 3, roomsSold: 1 }],
        },
      ],
      "i",
    );
    const requestId = await bench.accept([group("W", 300)], "g");
    assert.equal(await bench.outcomesOf(requestId), "a");
    const [row] = await bench.rows<{ warnings: { code: string; message: string }[] }>(
      "select details -> '0' -> 'warnings' as warnings from bellhop.request_outcome where request_id = $1",
      [requestId],
    );
    assert.equal(row?.warnings.length, 101);
    assert.deepEqual(
      [0, 1, 99, 100].map((at) => row?.warnings[at]?.code),
      ["status.unmapped", "room-type.unknown", "room-type.unknown", "warnings.more"],
    );
    assert.equal(row?.warnings[100]?.message, "201 more warnings are not listed");
    await bench.stopApplier();
  });

  test("a part's warnings are bounded: once 200 and ten a record are listed, a record has their number", async () => {
    bench.startApplier();
    const groups = Array.from({ length: 20 }, (_, n) => group(`M${n}`, 300));
    const requestId = await bench.accept(groups, "g");
    assert.equal(await bench.outcomesOf(requestId), "a".repeat(20));
    const [row] = await bench.rows<{ details: Record<string, { warnings: { message: string }[] }> }>(
      "select details from bellhop.request_outcome where request_id = $1",
      [requestId],
    );
    const listed = groups.map((_, at) => row?.details[at]?.warnings ?? []);
    // Of 400, three records take 101 each; the fourth has room for 97, and says how many more it has.
    assert.deepEqual(
      listed.map(({ length }) => length),
      [...Array(3).fill(101), 98, ...Array(16).fill(1)],
    );
    assert.equal(listed[3]?.at(-1)?.message, "204 more warnings are not listed");
    assert.equal(listed[4]?.[0]?.message, "301 more warnings are not listed");
    const [arrival] = await bench.rows<{ warned: number }>(
      "select warned from bellhop.feed_arrival where first_request_id = $1",
      [requestId],
    );
    assert.equal(arrival?.warned, 20);
    await bench.stopApplier();
  });

  test("rows of which a batch brings many are inserted some at a time", async () => {
    const sent: number[] = [];
    const pool = watchedPool(bench.database.pool, ({ values }) => {
      sent.push(JSON.parse(String(values?.[0])).length);
    });
    const columns = { bucket: "smallint", property_id: "integer", room_type_code: "text" } as const;
    const rows = Array.from({ length: 12_000 }, (_, n) => ({
      bucket: 1,
      property_id: 1_000_000,
      room_type_code: `R${n}`,
    }));
    await insertRows(pool, { table: "bellhop_state.known_room_type", columns }, rows);
    assert.deepEqual(sent, [5_000, 5_000, 2_000]);
    const [found] = await bench.rows<{ rows: number }>(
      "select count(*)::integer as rows from bellhop_state.known_room_type where property_id = 1000000",
    );
    assert.equal(found?.rows, rows.length);
  });
});
