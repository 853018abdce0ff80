import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { UnreadableRecord, UnstorableFact } from "#contract/parsed-spans.ts";
import { readRecord } from "#contract/read-record.ts";
import { applyIsolatingBadRecords } from "../../src/apply/apply-parts.ts";
import { ApplyMemory } from "../../src/apply/apply-records.ts";
import { ContextWarnings } from "../../src/apply/context-warnings.ts";
import { openStateSession, planByKeys } from "../../src/apply/state/look-up.ts";
import type { ApplicableRecord } from "../../src/apply/state/record.ts";
import { writeCurrent } from "../../src/apply/state/write-versions.ts";
import { reservation } from "../support/apply-bench.ts";
import { currentOf } from "../support/current-record.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const REQUEST = "019a0000-0000-7000-8000-000000000001";

function applicable(key: string, index: number, marker = "x", sourceTime = "2026-01-01T00:00:01.000000Z") {
  const reading = readRecord(
    "reservations",
    Buffer.from(JSON.stringify(reservation(key, sourceTime, marker))),
  );
  const { contentHash, clientCode, content } = reading;
  const of = { bucket: 7, propertyId: 1, resource: "r", key } as const;
  return {
    clientCode,
    of,
    sourceTime,
    contentHash,
    requestId: REQUEST,
    index,
    content,
  } satisfies ApplicableRecord;
}

describe("what apply writes", () => {
  let database: TestDatabase;
  let client: pg.Client;
  let memory: ApplyMemory;
  before(async () => {
    database = await createTestDatabase();
    client = new pg.Client(database.clientConfig);
    await client.connect();
    await openStateSession(client, "bellhop_state");
    await planByKeys(client, true);
    memory = new ApplyMemory(database.pool, client);
  });
  after(async () => {
    await client.end();
    await database.drop();
  });
  const apply = async (records: readonly ApplicableRecord[]): Promise<string> => {
    await client.query("begin");
    const applied = await applyIsolatingBadRecords(client, records, () => 1, memory);
    await client.query("commit");
    return applied.map(({ outcome }) => outcome).join("");
  };

  test("omits only a record whose facts no view could read", async () => {
    const good = applicable("BAD", 2);
    const refuse = () => {
      throw new UnstorableFact("planted");
    };
    const facts = { ...good.content().facts, bytesMax: refuse, write: refuse };
    const bad = { ...good, content: () => ({ ...good.content(), facts }) };
    assert.equal(await apply([applicable("A", 0), applicable("B", 1), bad, applicable("C", 3)]), "aaqa");
    const { rows } = await client.query(
      "select key, channel from analytics.stored_reservation_version order by key",
    );
    assert.deepEqual(
      rows,
      ["A", "B", "C"].map((key) => ({ key, channel: "x" })),
    );
  });

  test("is nothing of a record that cannot be read any more, which is quarantined for that reason", async () => {
    const content = () => {
      throw new UnreadableRecord("planted");
    };
    const damaged = { ...applicable("DAMAGED", 1), content };
    await client.query("begin");
    const records = [applicable("E", 0), damaged];
    const applied = await applyIsolatingBadRecords(client, records, () => 1, memory);
    await client.query("commit");
    assert.deepEqual(
      applied.map((record) => ("code" in record ? record.code : record.outcome)),
      ["a", "record.unreadable"],
    );
  });

  test("is found without parsing if the content is current and cannot have warnings", async () => {
    const of = { bucket: 7, propertyId: 2, resource: "r" } as const;
    const sent = (key: string, second: number, more: object) => {
      const sourceTime = `2026-01-01T00:00:0${second}.000000Z`;
      const record = { ...reservation(key, sourceTime, "x"), ...more };
      const { contentHash, content } = readRecord("reservations", Buffer.from(JSON.stringify(record)));
      let parsed = false;
      const watched = () => {
        parsed = true;
        return content();
      };
      const receipt = { requestId: REQUEST, index: second };
      return {
        record: {
          clientCode: "ACME",
          of: { ...of, key },
          sourceTime,
          contentHash,
          ...receipt,
          content: watched,
        },
        isParsed: () => parsed,
      };
    };
    const stay = { arrivalDate: "2026-01-01", departureDate: "2026-01-02", roomTypeCode: "STD" };
    const apply = async (key: string, second: number, more = {}) => {
      const { record, isParsed } = sent(key, second, more);
      await client.query("begin");
      const [reported] = await applyIsolatingBadRecords(client, [record], () => 1, memory);
      await client.query("commit");
      assert.ok(reported !== undefined && reported.outcome !== "q");
      return [reported.outcome, isParsed(), ...reported.warnings.list().map(({ code }) => code)].join(" ");
    };
    // No inventory has named a room type yet: what it names may still turn out to be unknown, but is not so far.
    assert.equal(await apply("Q1", 1), "a true");
    assert.equal(await apply("Q1", 2), "u false");
    assert.equal(await apply("Q4", 1, { roomStays: [stay] }), "a true");
    assert.equal(await apply("Q4", 2, { roomStays: [stay] }), "u false");
    await client.query("insert into known_room_type values (7, 2, 'DLX')");
    memory.forget();
    assert.equal(await apply("Q4", 3, { roomStays: [stay] }), "u true room-type.unknown");
    assert.equal(await apply("Q1", 3), "u true");
    assert.equal(await apply("Q1", 4), "u false");
    assert.equal(await apply("Q1", 4), "d false");
    assert.equal(await apply("Q2", 1, { roomStays: [stay] }), "a true room-type.unknown");
    assert.equal(await apply("Q2", 2, { roomStays: [stay] }), "u true room-type.unknown");
    assert.equal(await apply("Q3", 1, { status: "OF OUR OWN" }), "a true status.unmapped");
    assert.equal(await apply("Q3", 2, { status: "OF OUR OWN" }), "u true status.unmapped");
    // What it becomes next is reported like anything new, and only what is current counts.
    assert.equal(await apply("Q1", 5, { status: "OF OUR OWN" }), "a true status.unmapped");
    assert.equal(await apply("Q1", 6, { status: "OF OUR OWN" }), "u true status.unmapped");
    assert.equal(await apply("Q1", 7), "a true");
    assert.equal(await apply("Q1", 8), "u false");
    const { rows } = await client.query(
      `select status, from_date::text, to_date::text, facts is null as narrow, outcome from reservation_version
      where property_id = 2 and key = 'Q1' and source_time = '2026-01-01T00:00:08Z'`,
    );
    const { status, fromDate, toDate } = sent("Q1", 8, {}).record.content();
    assert.deepEqual(rows, [{ status, from_date: fromDate, to_date: toDate, narrow: true, outcome: "u" }]);
  });

  test("reports a room type that inventory of the same transaction leaves unnamed", async () => {
    const of = { bucket: 7, propertyId: 3 } as const;
    const booked = (second: number): ApplicableRecord => {
      const record = applicable("T1", second, "x", `2026-01-01T00:00:0${second}.000000Z`);
      return { ...record, of: { ...of, resource: "r", key: "T1" } };
    };
    const sourceTime = "2026-01-01T00:00:01.000000Z";
    const inventory = {
      clientCode: "ACME",
      propertyCode: "LON01",
      createDateTime: sourceTime,
      occupancyDate: "2026-05-01",
      roomTypeInventories: [{ roomTypeCode: "STD", roomTypeCapacity: 3, roomsSold: 1 }],
    };
    const { contentHash, content } = readRecord("inventories", Buffer.from(JSON.stringify(inventory)));
    const named: ApplicableRecord = {
      clientCode: "ACME",
      of: { ...of, resource: "i", key: "2026-05-01" },
      sourceTime,
      contentHash,
      requestId: REQUEST,
      index: 9,
      content,
    };
    const codes = async (records: readonly ApplicableRecord[]) => {
      await client.query("begin");
      const applied = await applyIsolatingBadRecords(client, records, () => 1, memory);
      await client.query("commit");
      return applied.map((record) =>
        record.outcome === "q"
          ? "q"
          : [record.outcome, ...record.warnings.list().map(({ code }) => code)].join(" "),
      );
    };
    assert.deepEqual(await codes([booked(1)]), ["a"]);
    assert.deepEqual(await codes([named, booked(2)]), ["a", "u room-type.unknown"]);
    assert.deepEqual(await codes([booked(3)]), ["u room-type.unknown"]);
  });

  test("omits a record of which something is refused that is written beside it, and keeps what the others bring", async () => {
    await client.query(`create function refuse_rate() returns trigger language plpgsql as $$
      begin if new.rate_code = 'REFUSED' then raise exception 'planted' using errcode = '22008'; end if; return new; end $$`);
    await client.query(
      "create trigger refuse_rate before insert on night_dimension for each row execute function refuse_rate()",
    );
    const rated = (key: string, rateCode: string): ApplicableRecord => {
      const known = applicable(key, 0);
      const roomStays = [{ arrivalDate: "2026-05-01", departureDate: "2026-05-02", rateCode }];
      const sent = { ...reservation(key, known.sourceTime, "x"), roomStays };
      const { contentHash, content } = readRecord("reservations", Buffer.from(JSON.stringify(sent)));
      return { ...known, contentHash, content };
    };
    const keys = ["rate 1", "rate 2", "rate 3", "rate 4"];
    assert.equal(await apply(keys.map((key, at) => rated(key, at === 2 ? "REFUSED" : `KEPT${at}`))), "aaqa");
    const { rows } = await client.query(
      "select rate_code from night_dimension where rate_code like 'KEPT%' order by rate_code",
    );
    assert.deepEqual(rows, [{ rate_code: "KEPT0" }, { rate_code: "KEPT1" }, { rate_code: "KEPT3" }]);
    await client.query("drop function refuse_rate cascade");
  });

  test("is one statement's work for more rows than one COPY carries, new, changed, unchanged and repeated", async () => {
    const keys = Array.from({ length: 4_000 }, (_, n) => `many ${n}, "quoted" \\ é`);
    const large = "c".repeat(400);
    assert.equal(await apply(keys.map((key, at) => applicable(key, at, large))), "a".repeat(keys.length));
    const later = "2026-01-01T00:00:02.000000Z";
    const second = keys.map((key, at) => applicable(key, at, at % 2 === 0 ? large : "other", later));
    assert.equal(await apply(second), "ua".repeat(keys.length / 2));
    assert.equal(await apply(second), "d".repeat(keys.length));
    const { rows } = await client.query(
      `select facts.channel = 'other' as changed, count(*)::integer as count, min(record.source_time)::text as least
      from bellhop_state.current_record as record join analytics.stored_reservation_version as facts
        on facts.key = record.key and facts.source_time = record.facts_source_time
        and facts.content_hash = record.content_hash
      where record.key like 'many%' group by 1 order by 1`,
    );
    assert.deepEqual(rows, [
      { changed: false, count: 2_000, least: "2026-01-01 00:00:02+00" },
      { changed: true, count: 2_000, least: "2026-01-01 00:00:02+00" },
    ]);
  });

  test("does not overwrite rows that were changed after they were read", async () => {
    const { of, content: filters, ...version } = applicable("A", 0);
    const before = await currentOf(client, of);
    await database.pool.query("update bellhop_state.current_record set record_index = 9 where key = 'A'");
    const current = { ...version, factsSourceTime: version.sourceTime, filters };
    await assert.rejects(
      writeCurrent(client, [{ of, current, before, warningFree: "no", compactNights: null }]),
      {
        code: "40001",
      },
    );
    await assert.rejects(
      writeCurrent(client, [{ of, current, before: null, warningFree: "no", compactNights: null }]),
      {
        code: "23505",
      },
    );
    const after = await currentOf(client, of);
    assert.equal(after?.version.index, 9);
  });

  test("checks no room types of a property that has 300 or more, and reads no more of them", async () => {
    await client.query(
      "insert into known_room_type select 7, 3, 'R' || n from generate_series(1, 400) as n union all select 7, 4, 'R1'",
    );
    const of = (propertyId: number) => ({ bucket: 7, propertyId, resource: "r", key: "Q" }) as const;
    const record = (propertyId: number) => {
      const { content } = applicable("Q", 0);
      return {
        ...applicable("Q", 0),
        of: of(propertyId),
        content: () => ({ ...content(), roomTypeCodes: ["X"] }),
      };
    };
    const context = new ContextWarnings(database.pool, client);
    assert.deepEqual(await context.unnamedProperties([record(3), record(4)]), new Set());
    const warned = (propertyId: number) => context.of(record(propertyId));
    assert.deepEqual([warned(3).warnings.count, warned(3).warningFree], [0, "always"]);
    assert.deepEqual([warned(4).warnings.count, warned(4).warningFree], [1, "no"]);
  });
});

test("room types are read a hundred properties at a time, and forgotten once there are very many", async () => {
  const read: number[] = [];
  const answering = {
    query: async ({ name, values }: { name?: string; values?: [number[], number[]] }) => {
      if (name !== "known-room-types" || values === undefined) return { rows: [], rowCount: 0 };
      read.push(values[1].length);
      const rows = values[1].flatMap((property_id) =>
        Array.from({ length: 299 }, (_, n) => ({ property_id, room_type_code: `R${n}`.padEnd(128) })),
      );
      return { rows, rowCount: rows.length };
    },
  } as unknown as pg.Client;
  const context = new ContextWarnings(answering as unknown as pg.Pool, answering);
  const one = applicable("Q", 0);
  const ask = (from: number, count: number) =>
    context.unnamedProperties(
      Array.from({ length: count }, (_, n) => ({ ...one, of: { ...one.of, propertyId: from + n } })),
    );
  await ask(0, 250);
  assert.deepEqual(read.splice(0), [100, 100, 50]);
  await ask(0, 250);
  assert.deepEqual(read.splice(0), []);
  await ask(250, 600);
  read.length = 0;
  // 850 properties with 299 long codes each are more than are kept.
  await ask(1_000, 1);
  await ask(0, 1);
  assert.deepEqual(read, [1, 1]);
});
