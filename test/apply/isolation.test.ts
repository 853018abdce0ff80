import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";

describe("trouble with the batches of one property", () => {
  let bench: ApplyBench;
  before(async () => {
    bench = await ApplyBench.open();
  });
  after(() => bench.close());

  test("delays only its own bucket, while it lasts", async () => {
    assert.notEqual(bucketOf("ACME", "STUCK"), bucketOf("ACME", "FREE"));
    await bench.rows(`create function bellhop.refuse_stuck() returns trigger language plpgsql as $$
      begin if new.key = 'STUCK' then raise exception 'planted' using errcode = '54000'; end if; return new; end $$`);
    await bench.rows(`create trigger refuse_stuck before insert on bellhop_state.reservation_version
      for each row execute function bellhop.refuse_stuck()`);
    const stuck = await bench.accept([reservation("STUCK", T1, "x", "STUCK")]);
    const free = await bench.accept([reservation("FREE", T1, "x", "FREE")]);
    bench.startApplier();
    assert.equal(await bench.outcomesOf(free), "a");
    const failuresBefore = bench.failures.length;
    assert.equal(await bench.acceptAndApply([reservation("FREE2", T1, "x", "FREE")]), "a");
    await until(() => bench.failures.length >= failuresBefore + 2, 10_000);
    assert.deepEqual(
      await bench.rows("select from bellhop.request_outcome where request_id = $1", [stuck]),
      [],
    );
    await bench.rows("drop trigger refuse_stuck on bellhop_state.reservation_version");
    assert.equal(await bench.outcomesOf(stuck), "a");
  });

  test("is none if the first stay of a property is day use on the last date of the calendar", async () => {
    const roomStays = [{ arrivalDate: "9999-12-31", departureDate: "9999-12-31", roomTypeCode: "DLX" }];
    assert.equal(await bench.acceptAndApply([{ ...reservation("E", T1, "x", "END"), roomStays }]), "a");
    const known = await bench.rows(
      "select departure::text from bellhop_state.known_books join bellhop.property using (property_id) where property_code = 'END'",
    );
    assert.deepEqual(known, [{ departure: "10000-01-01" }]);
  });

  test("a property that accept remembers and the database has lost is made again", async () => {
    await bench.acceptAndApply([reservation("P", T1, "x", "LOST")]);
    await bench.stopApplier();
    // As a failover to a server that was behind would.
    await bench.rows("delete from bellhop.property where property_code = 'LOST'");
    bench.startApplier();
    assert.equal(await bench.acceptAndApply([reservation("P2", T1, "x", "LOST")]), "a");
    const rows = await bench.rows<{ bucket: number }>(
      "select bucket from bellhop.property where property_code = 'LOST'",
    );
    assert.deepEqual(rows, [{ bucket: bucketOf("ACME", "LOST") }]);
  });
});
