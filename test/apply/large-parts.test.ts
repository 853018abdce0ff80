import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { replay } from "../../src/apply/replay.ts";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { until } from "../support/until.ts";

const T1 = "2026-01-01T00:00:01Z";
const T2 = "2026-01-01T00:00:02Z";
const LARGE = 2_002;
/** A piece ends with the chunk that has its 500th record; chunks have 256. */
const PIECE = 512;

const many = (time: string, content: string, propertyCode: string) =>
  Array.from({ length: LARGE }, (_, n) => reservation(`L${n}`, time, content, propertyCode));

describe("a large part", () => {
  let bench: ApplyBench;
  let yielding: AcceptLog;
  before(async () => {
    bench = await ApplyBench.open();
    yielding = await AcceptLog.open(bench.database.clientConfig, 1, {}, undefined, { yields: true });
    bench.startApplier();
    await bench.rows(`create function bellhop.refuse_late() returns trigger language plpgsql as $$
      begin if new.key = 'L1200' then raise exception 'planted' using errcode = '54000'; end if; return new; end $$`);
  });
  after(async () => {
    await yielding.close();
    await bench.close();
  });

  const acceptLarge = async (records: readonly Readonly<Record<string, unknown>>[]) => {
    const submission = submissionOf(records);
    await bench.properties.register(submission.clientId, submission.records);
    return (await yielding.append(submission)).requestId;
  };
  const replayed = (swap: boolean) =>
    replay({ clientConfig: bench.database.clientConfig, pool: bench.database.pool, swap });
  const pieces = () =>
    bench.rows<{ until_record: number; letters: number }>(
      "select until_record, length(outcomes) as letters from bellhop.applied_piece order by until_record",
    );
  const refuse = () =>
    bench.rows(`create trigger refuse_late before insert on bellhop_state.reservation_version
      for each row execute function bellhop.refuse_late()`);
  const permit = () => bench.rows("drop trigger refuse_late on bellhop_state.reservation_version");

  /** Applies two pieces of a batch; the third, with record L1200, fails until `permit`. */
  const applyTwoPieces = async (time: string, content: string, propertyCode: string) => {
    await refuse();
    const failed = bench.failures.length;
    const large = await acceptLarge(many(time, content, propertyCode));
    await until(() => bench.failures.length >= failed + 2, 20_000);
    assert.deepEqual(await pieces(), [
      { until_record: PIECE, letters: PIECE },
      { until_record: 2 * PIECE, letters: PIECE },
    ]);
    return large;
  };
  const assertAppliedOnce = async (requestId: string) => {
    assert.equal(await bench.outcomesOf(requestId), "a".repeat(LARGE));
    assert.deepEqual(await pieces(), []);
    const [written] = await bench.rows(
      `select count(*)::integer as versions, count(distinct change_no)::integer as changes
      from bellhop_state.reservation_version where request_id = $1`,
      [requestId],
    );
    assert.deepEqual(written, { versions: LARGE, changes: LARGE });
    const arrivals = await bench.rows(
      "select batches, applied, unchanged, quarantined from bellhop.feed_arrival where first_request_id = $1",
      [requestId],
    );
    assert.deepEqual(arrivals, [{ batches: 1, applied: LARGE, unchanged: 0, quarantined: 0 }]);
  };

  test("is applied in pieces, between which other batches are, of its own bucket too", async () => {
    assert.notEqual(bucketOf("ACME", "LARGE"), bucketOf("ACME", "QUICK"));
    const large = await applyTwoPieces(T1, "x", "LARGE");
    assert.equal(await bench.acceptAndApply([reservation("Q", T1, "x", "QUICK")]), "a");
    // The same source time, and received later.
    assert.equal(await bench.acceptAndApply([reservation("L1999", T1, "z", "LARGE")]), "a");
    const applied = await bench.rows("select from bellhop.request_outcome where request_id = $1", [large]);
    assert.deepEqual(applied, []);
    await permit();
    // Its own L1999 was received before.
    assert.equal(await bench.outcomesOf(large), `${"a".repeat(1999)}saa`);
    assert.deepEqual(await pieces(), []);
  });

  test("is resumed after its last piece by another session, and each record is applied once", async () => {
    const large = await applyTwoPieces(T1, "x", "RESUMED");
    await bench.stopApplier();
    await permit();
    bench.startApplier();
    await assertAppliedOnce(large);
  });

  test("that is applied in part is replayed as far, and a swap loses nothing of it", async () => {
    const large = await applyTwoPieces(T2, "y", "REPLAYED");
    const { equal } = await replayed(false);
    assert.equal(equal, true);
    const { swapped, corrected } = await replayed(true);
    assert.deepEqual({ swapped, corrected }, { swapped: true, corrected: 0 });
    // The trigger went with the former tables.
    await assertAppliedOnce(large);
    const { equal: isEqual } = await replayed(false);
    assert.equal(isEqual, true);
  });

  test("has the details of all its pieces, and those of its rejected records", async () => {
    const future = new Date(Date.now() + 3_600_000).toISOString();
    const records = many(T1, "x", "DETAILED").map((record, index) =>
      index === 3 || index === 2_000 ? { ...record, lastModifiedDateTime: future } : record,
    );
    const submission = submissionOf(records);
    await bench.properties.register(submission.clientId, submission.records);
    const rejected = submission.records
      .slice(-1)
      .map((record) => ({ ...record, violations: [], violationTotal: 0 }));
    const { requestId } = await yielding.append({
      ...submission,
      records: submission.records.slice(0, -1),
      rejected,
      lenient: true,
    });
    const letters = await bench.outcomesOf(requestId);
    assert.equal(letters, `aaaq${"a".repeat(1_996)}q`);
    const [outcome] = await bench.rows<{ details: Record<string, { code?: string }> }>(
      "select details from bellhop.request_outcome where request_id = $1",
      [requestId],
    );
    const coded = Object.entries(outcome?.details ?? {}).flatMap(([index, { code }]) =>
      code ? [[index, code]] : [],
    );
    assert.deepEqual(coded, [
      ["3", "time.future"],
      ["2000", "time.future"],
    ]);
    const arrivals = await bench.rows(
      "select batches, applied, quarantined, rejected from bellhop.feed_arrival where first_request_id = $1",
      [requestId],
    );
    assert.deepEqual(arrivals, [{ batches: 1, applied: 1_999, quarantined: 2, rejected: 1 }]);
  });

  test("whose first and last pieces have only rejected records counts them in the feed", async () => {
    const submission = submissionOf(many(T1, "x", "REJECTED"));
    await bench.properties.register(submission.clientId, submission.records);
    const isRejected = (index: number) => index < PIECE || index >= 3 * PIECE;
    const rejected = submission.records
      .filter(({ index }) => isRejected(index))
      .map((record) => ({ ...record, violations: [], violationTotal: 0 }));
    const { requestId } = await yielding.append({
      ...submission,
      records: submission.records.filter(({ index }) => !isRejected(index)),
      rejected,
      lenient: true,
    });
    assert.equal(await bench.outcomesOf(requestId), "a".repeat(2 * PIECE));
    const arrivals = await bench.rows(
      "select batches, applied, rejected from bellhop.feed_arrival where first_request_id = $1",
      [requestId],
    );
    assert.deepEqual(arrivals, [{ batches: 1, applied: 2 * PIECE, rejected: LARGE - 2 * PIECE }]);
  });
});
