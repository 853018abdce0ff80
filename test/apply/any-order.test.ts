import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApplyBench, reservation, submissionOf } from "../support/apply-bench.ts";
import { holdKey } from "../support/held-appends.ts";
import { until } from "../support/until.ts";
import { runAnyOrder } from "../workload/any-order.ts";

const T1 = "2026-01-01T00:00:01Z";
const RUN = { seed: 20_260_301, first: 1, httpEvery: 0, atOnce: 2 };
const PLANTED = {
  race: "two appliers race on one bucket",
  "skip-unchanged": "unchanged records are skipped",
};

describe("the same records in any order", () => {
  test("end in the same records, history and analysts' views, in random orders, repetitions and batches", async () => {
    const problems = await runAnyOrder({ ...RUN, records: 1_500, orders: 3, httpEvery: 3 });
    assert.deepEqual(problems, []);
  });

  // Who skips is seen in few records; who races needs some to meet in.
  for (const [plant, records] of [
    ["race", 1_500],
    ["skip-unchanged", 500],
  ] as const) {
    test(`are found to differ within one order when ${PLANTED[plant]}`, async () => {
      const problems = await runAnyOrder({ ...RUN, records, orders: 1, plant });
      assert.ok(problems.some((problem) => problem.includes("not the workload's state")));
      assert.ok(problems.some((problem) => problem.includes("not the state of the log as received")));
    });
  }

  test("are ordered by acceptance, whichever log writer stored them", async () => {
    const bench = await ApplyBench.open(3);
    try {
      // A flush that waits (here for a key that another session holds) teaches its log writer the database's clock inexactly.
      const slow = acceptBehindHeldKey(bench, "slow", 1_000);
      await slow.release();
      const first = await bench.accept([reservation("A", T1, "first")]);
      // The log writer that took the first is kept busy, so that another log writer takes the second.
      const busy = acceptBehindHeldKey(bench, "busy", 0);
      await busy.held;
      const second = await bench.accept([reservation("A", T1, "second")]);
      await busy.release();
      assert.ok(first < second, `${first} was answered before ${second} was sent`);
      const { rows } = await bench.database.pool.query<{ ahead: boolean }>(
        "select max(received_at) > clock_timestamp() + interval '50 ms' as ahead from bellhop.accept_log",
      );
      assert.equal(rows[0]?.ahead, false, "a batch was received in the future");
    } finally {
      await bench.close();
    }
  });
});

/** Appends a batch whose Idempotency-Key another session is about to claim, so that its flush waits, for so long
 * at least, until `release`. */
function acceptBehindHeldKey(
  bench: ApplyBench,
  key: string,
  heldMs: number,
): { held: Promise<void>; release(): Promise<void> } {
  const submission = submissionOf([reservation(key, T1, "x")]);
  const start = async () => {
    const { clientId, records } = submission;
    const [of = assert.fail()] = records;
    const holder = await holdKey(bench.database.clientConfig, { clientId, key, of });
    await bench.properties.register(submission.clientId, submission.records);
    const accepted = bench.log.append({ ...submission, idempotency: { key, fingerprint: "00" } });
    await until(() => holder.isWaiting(heldMs), 10_000);
    return { holder, accepted };
  };
  const started = start();
  return {
    held: started.then(() => undefined),
    async release() {
      const { holder, accepted } = await started;
      await holder.release();
      await accepted;
    },
  };
}
