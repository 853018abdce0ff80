import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until, untilFound } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const T2 = "2026-01-01T00:00:02Z";
const T3 = "2026-01-01T00:00:03Z";

interface CurrentRow {
  channel: string;
  source_time: string;
}

describe("apply", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
    bench.startApplier();
  });
  after(() => bench.close());

  const currentOf = async (id: string): Promise<CurrentRow | undefined> =>
    (
      await bench.rows<CurrentRow>(
        `select facts.channel, to_char(c.source_time at time zone 'UTC', 'SS') as source_time
        from bellhop_state.current_record c join analytics.stored_reservation_version facts
          on facts.bucket = c.bucket and facts.property_id = c.property_id and facts.key = c.key
          and facts.source_time = c.facts_source_time and facts.content_hash = c.content_hash
        where c.key = $1`,
        [id],
      )
    )[0];

  test("gives each record of a batch the outcome it would have alone", async () => {
    const outcomes = await bench.acceptAndApply([
      reservation("A", T2, "x"),
      reservation("A", T2, "x"),
      reservation("A", T3, "x"),
      reservation("A", T1, "y"),
      reservation("A", T3, "z"),
      reservation("B", T1, "x"),
    ]);
    assert.equal(outcomes, "adusaa");
    assert.deepEqual(await currentOf("A"), { channel: "z", source_time: "03" });
  });

  test("gives the same outcomes to records in batches of their own", async () => {
    const outcomes: string[] = [];
    for (const record of [
      reservation("C", T2, "x"),
      reservation("C", T2, "x"),
      reservation("C", T3, "x"),
      reservation("C", T1, "y"),
      reservation("C", T3, "z"),
    ]) {
      outcomes.push(await bench.acceptAndApply([record]));
    }
    assert.equal(outcomes.join(""), "adusa");
  });

  test("lets an unchanged record advance the order, so that an older other content stays stale", async () => {
    assert.equal(await bench.acceptAndApply([reservation("D", T1, "x")]), "a");
    assert.equal(await bench.acceptAndApply([reservation("D", T3, "x")]), "u");
    assert.equal(await bench.acceptAndApply([reservation("D", T2, "y")]), "s");
    assert.deepEqual(await currentOf("D"), { channel: "x", source_time: "03" });
  });

  test("distinguishes source times by microseconds", async () => {
    assert.equal(
      await bench.acceptAndApply([
        reservation("E", "2026-01-01T00:00:01.000002Z", "new"),
        reservation("E", "2026-01-01T00:00:01.000001Z", "old"),
      ]),
      "as",
    );
    assert.equal((await currentOf("E"))?.channel, "new");
  });

  test("source times that differ below a microsecond are equal: the later receipt wins", async () => {
    assert.equal(
      await bench.acceptAndApply([
        reservation("E2", "2026-01-01T00:00:01.0000029Z", "first"),
        reservation("E2", "2026-01-01T00:00:01.000002Z", "second"),
        reservation("E2", "2026-01-01T00:00:01.000002001Z", "second"),
      ]),
      "aad",
    );
    assert.equal((await currentOf("E2"))?.channel, "second");
  });

  test("numbers every change of current content within its bucket, and nothing else", async () => {
    await bench.acceptAndApply([
      reservation("F", T1, "1", "CHG"),
      reservation("F", T2, "1", "CHG"),
      reservation("F", T3, "2", "CHG"),
    ]);
    const rows = await bench.rows<{ source: string; change_no: number | null }>(
      `select to_char(source_time, 'SS') as source, change_no::int from bellhop_state.reservation_version v
      join bellhop.property p using (property_id) where p.property_code = 'CHG' order by source_time`,
    );
    assert.deepEqual(
      rows.map(({ change_no }) => change_no !== null),
      [true, false, true],
    );
    assert.ok((rows[0]?.change_no ?? 0) < (rows[2]?.change_no ?? 0));
  });

  test("keeps money exactly as sent", async () => {
    const sent = "12345678901234567890.123456789012345678";
    const record = {
      ...reservation("G", T1, "x"),
      stayRevenue: { daily: [{ occupancyDate: "2026-05-01", netRoomRevenue: sent }] },
    };
    await bench.acceptAndApply([record]);
    const [row] = await bench.rows<{ value: string }>(
      "select net_room_revenue[1]::text as value from analytics.stored_reservation_version where key = 'G'",
    );
    assert.equal(row?.value, sent);
  });

  test("applies a batch of many properties in all their buckets", async () => {
    const records = Array.from({ length: 40 }, (_, n) => reservation("H", T1, "x", `MANY${n}`));
    const requestId = await bench.accept(records);
    const [log] = await bench.rows<{ parts: number; total: number }>(
      "select batch_part_count as parts, batch_record_count as total from bellhop.accept_log where request_id = $1 limit 1",
      [requestId],
    );
    assert.ok((log?.parts ?? 0) > 20);
    const letters = await untilFound(async () => {
      const rows = await bench.rows<{ outcomes: string }>(
        "select outcomes from bellhop.request_outcome where request_id = $1",
        [requestId],
      );
      return rows.length === log?.parts ? rows.map(({ outcomes }) => outcomes).join("") : undefined;
    });
    assert.equal(letters, "a".repeat(40));
  });

  test("warns of a room type that the inventory never named, once it has named any", async () => {
    const inventory = {
      clientCode: "ACME",
      propertyCode: "WARN",
      createDateTime: T1,
      occupancyDate: "2026-05-01",
      roomTypeInventories: [{ roomTypeCode: "SGL", roomTypeCapacity: 3, roomsSold: 1 }],
    };
    await bench.acceptAndApply([reservation("I1", T1, "x", "WARN")]);
    await bench.acceptAndApply([inventory], "i");
    await bench.acceptAndApply([reservation("I2", T1, "x", "WARN")]);
    const rows = await bench.rows<{ codes: string | null }>(
      `select details #>> '{0,warnings,0,code}' as codes from bellhop.request_outcome o
      join bellhop.accept_log l using (bucket, request_id) where l.resource = 'r' and o.request_id in (
        select request_id from bellhop_state.reservation_version v join bellhop.property p using (property_id)
        where p.property_code = 'WARN') order by o.request_id`,
    );
    assert.deepEqual(
      rows.map(({ codes }) => codes),
      [null, "room-type.unknown"],
    );
  });

  test("quarantines only the records that the database refuses as data", async () => {
    await bench.rows(`create function bellhop_state.refuse_bad() returns trigger language plpgsql as $$
      begin if new.key = 'BAD' then raise exception 'planted' using errcode = '22000'; end if; return new; end $$`);
    await bench.rows(`create trigger refuse_bad before insert on bellhop_state.reservation_version
      for each row execute function bellhop_state.refuse_bad()`);
    const records = Array.from({ length: 9 }, (_, n) => reservation(n === 5 ? "BAD" : `J${n}`, T1, "x"));
    assert.equal(await bench.acceptAndApply(records), "aaaaaqaaa");
    const quarantined = await bench.rows<{ key: string; code: string }>(
      "select key, code from bellhop.quarantine",
    );
    assert.deepEqual(quarantined, [{ key: "BAD", code: "data.unstorable" }]);
  });

  test("reports each part's own records, and counts warnings regardless of outcome", async () => {
    const ahead = new Date(Date.now() + 3_600_000).toISOString();
    const withStatus = { status: 'of our own, "warnings":' };
    const records = Array.from({ length: 12 }, (_, n) => [
      { ...reservation("TOLD1", T1, "x", `TOLD${n}`), ...(n % 3 === 0 ? withStatus : {}) },
      reservation("TOLD2", n % 2 === 0 ? ahead : T1, "x", `TOLD${n}`),
      reservation("TOLD3", T1, "x", `TOLD${n}`),
    ]).flat();
    const failed = bench.failures.length;
    const requestId = await bench.accept(records);
    interface Part {
      readonly details: Readonly<Record<string, { code?: string; message?: string; warnings?: object[] }>>;
      readonly warned_count: number | null;
    }
    const parts = await untilFound(async () => {
      const [whole] = await bench.rows<{ parts: number }>(
        "select batch_part_count as parts from bellhop.accept_log where request_id = $1 limit 1",
        [requestId],
      );
      const rows = await bench.rows<Part>(
        "select details, warned_count from bellhop.request_outcome where request_id = $1",
        [requestId],
      );
      return rows.length === whole?.parts ? rows : undefined;
    });
    // What fails together is tried part by part, and would then be right.
    assert.equal(bench.failures.length, failed);
    assert.ok(parts.length > 3 && parts.some(({ details }) => details === null), "too few parts to mix up");
    const reported = parts.flatMap(({ details }) => Object.entries(details ?? {}));
    const indexes = (of: (n: number) => boolean, at: number) =>
      Array.from({ length: 12 }, (_, n) => n).flatMap((n) => (of(n) ? [n * 3 + at] : []));
    const sorted = (found: typeof reported) => found.map(([index]) => Number(index)).sort((a, b) => a - b);
    assert.deepEqual(
      sorted(reported.filter(([, { warnings }]) => warnings !== undefined)),
      indexes((n) => n % 3 === 0, 0),
    );
    const quarantined = reported.filter(([, { code }]) => code === "time.future");
    assert.deepEqual(
      sorted(quarantined),
      indexes((n) => n % 2 === 0, 1),
    );
    for (const { details, warned_count } of parts) {
      const warned = Object.values(details ?? {}).filter(({ warnings }) => warnings !== undefined);
      assert.equal(warned_count ?? 0, warned.length);
    }
    const aside = await bench.rows(
      `select record_index, property_code, resource::text, key, code, message, state::text
      from bellhop.quarantine join bellhop.property using (bucket, property_id) where request_id = $1 order by record_index`,
      [requestId],
    );
    assert.deepEqual(
      aside,
      quarantined
        .toSorted(([left], [right]) => Number(left) - Number(right))
        .map(([index, { code, message }]) => ({
          record_index: Number(index),
          property_code: `TOLD${Math.floor(Number(index) / 3)}`,
          resource: "r",
          key: "TOLD2",
          code,
          message,
          state: "q",
        })),
    );
  });

  test("quarantines nothing when the database itself fails, and applies once it works again", async () => {
    await bench.rows(`create or replace function bellhop_state.refuse_bad() returns trigger language plpgsql as $$
      begin raise exception 'planted: disk full' using errcode = '53100'; end $$`);
    const failuresBefore = bench.failures.length;
    const requestId = await bench.accept([reservation("K", T1, "x")]);
    await until(() => bench.failures.length >= failuresBefore + 2, 20_000);
    await bench.rows("drop trigger refuse_bad on bellhop_state.reservation_version");
    assert.equal(await bench.outcomesOf(requestId), "a");
    assert.deepEqual(await bench.rows("select key from bellhop.quarantine where key = 'K'"), []);
  });
});
