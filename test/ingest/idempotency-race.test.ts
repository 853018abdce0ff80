import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { AcceptLog } from "../../src/ingest/log/accept-log.ts";
import { lowestIdAt, RequestIdStamp } from "../../src/ingest/log/part-name.ts";
import { ServiceError } from "../../src/platform/errors/registry.ts";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";

const T1 = "2026-01-01T00:00:01Z";

describe("one Idempotency-Key at two nodes at once", () => {
  let bench: ApplyBench;
  let otherNode: AcceptLog;
  before(async () => {
    bench = await ApplyBench.open(2);
    otherNode = await AcceptLog.open(bench.database.clientConfig, 2, {});
    await bench.properties.register("tester", submissionOf([reservation("A", T1, "x")]).records);
  });
  after(async () => {
    await otherNode.close();
    await bench.close();
  });

  const submission = (key: string, content: string) => ({
    ...submissionOf([reservation("A", T1, content)]),
    idempotency: { key, fingerprint: Buffer.from(content).toString("hex") },
  });

  test("gives one request and one response, whoever is first, and keys in any order do not deadlock", async () => {
    const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`);
    const answers = await Promise.all([
      ...keys.map((key) => bench.log.append(submission(key, "x"))),
      ...keys.toReversed().map((key) => otherNode.append(submission(key, "x"))),
      ...keys.map((key) => bench.log.append(submission(key, "x"))),
    ]);
    assert.equal(new Set(answers.map(({ requestId }) => requestId)).size, keys.length);
    assert.equal(answers.filter(({ repeated }) => !repeated).length, keys.length);
    const [row] = await bench.rows<{ count: number }>(
      "select count(*)::integer as count from bellhop.accept_log",
    );
    assert.equal(row?.count, keys.length);
  });

  test("accepts one of two different bodies and refuses the other", async () => {
    const results = await Promise.allSettled([
      bench.log.append(submission("other", "one")),
      otherNode.append(submission("other", "two")),
      bench.log.append(submission("other", "three")),
    ]);
    const refused = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
    assert.equal(refused.length, 2);
    for (const reason of refused) {
      assert.ok(reason instanceof ServiceError);
      assert.equal(reason.code, "bellhop.accept.IdempotencyKeyReused");
    }
  });

  test("expires after 24 hours, for exactly one of several repeats", async () => {
    const first = await bench.log.append(submission("old", "x"));
    await bench.rows(
      "update bellhop.idempotency_key set created_at = statement_timestamp() - interval '24 hours 1 second' where key = 'old'",
    );
    const again = await Promise.all([
      bench.log.append(submission("old", "y")),
      otherNode.append(submission("old", "y")),
    ]);
    assert.equal(new Set([first, ...again].map(({ requestId }) => requestId)).size, 2);
    assert.deepEqual(again.map(({ repeated }) => repeated).toSorted(), [false, true]);
  });

  test("gives an answer of another node before whatever is sent to it afterwards, though that other's clock is ahead", async (t) => {
    const stamp = new RequestIdStamp();
    const nodeAhead = await AcceptLog.open(bench.database.clientConfig, 1, {}, stamp);
    t.after(() => nodeAhead.close());
    stamp.raise(lowestIdAt(Date.now() + 3_600_000));
    const first = await nodeAhead.append(submission("ahead", "x"));
    const again = await otherNode.append(submission("ahead", "x"));
    assert.deepEqual([again.requestId, again.repeated], [first.requestId, true]);
    const next = await otherNode.append(submission("after", "x"));
    assert.ok(next.requestId > first.requestId, `${next.requestId} came after ${first.requestId}`);
  });
});
