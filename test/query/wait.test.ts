import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type pg from "pg";
import { countUnownedBuckets } from "../../src/platform/db/coordination.ts";
import type { QuarantinePageAnswer, ResolveAnswer } from "../../src/query/console/answers.ts";
import { logInAsNew } from "../support/console-session.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { accept, apply, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
let held: pg.PoolClient;

before(async () => {
  service = await startTestService();
  held = await service.pool.connect();
});
after(async () => {
  held.release();
  await service.stop();
});

/** Keeps every applier from its next transaction until `commit`. */
async function holdApply(): Promise<void> {
  // An applier that takes a bucket passes over locked rows, and would not wait for this lock.
  await until(async () => (await countUnownedBuckets(service.pool)) === 0, 30_000);
  await held.query("begin");
  await held.query("set local idle_in_transaction_session_timeout = 0");
  // An update of every row, as Citus locks the rows of one bucket at a time.
  await held.query("update bellhop.bucket_lease set epoch = epoch");
}

const ask = (requestId: string, prefer: string) =>
  service.send("GET", `/api/public/v1/requests/${requestId}`, { headers: { prefer } });

test("Prefer: wait answers as soon as the request is applied, not before", async () => {
  await holdApply();
  const requestId = await accept(service, "reservations", [reservation("w1", "2026-01-01T00:00:00Z")]);
  const atOnce = await ask(requestId, "wait=0");
  assert.equal(atOnce.json()["status"], "accepted");
  assert.equal(atOnce.headers.get("preference-applied"), "wait=0");
  let answered = false;
  const waiting = ask(requestId, "respond-async, wait=10").finally(() => {
    answered = true;
  });
  // The question has been asked again and again by now, and is still open.
  await until(async () => (await waitingForLock(service.pool, "%bucket_lease%")) > 0, 10_000);
  assert.equal(answered, false);
  await held.query("commit");
  const answer = await waiting;
  assert.equal(answer.json()["status"], "applied");
  assert.equal(answer.headers.get("preference-applied"), "wait=10");
});

test("an expired wait returns the current state, and an invalid one is ignored", async () => {
  await holdApply();
  const requestId = await accept(service, "reservations", [reservation("w2", "2026-01-01T00:00:00Z")]);
  const over = await ask(requestId, "wait=1");
  assert.equal(over.json()["status"], "accepted");
  assert.equal(over.headers.get("preference-applied"), "wait=1");
  for (const prefer of ["wait", "wait=-1", "wait=soon", "waiting=10"]) {
    const answer = await ask(requestId, prefer);
    assert.equal(answer.json()["status"], "accepted");
    assert.equal(answer.headers.get("preference-applied"), null, prefer);
  }
  await held.query("commit");
});

test("a wait for an applied request returns its Preference-Applied, too", async () => {
  const requestId = await accept(service, "reservations", [reservation("w3", "2026-01-01T00:00:00Z")]);
  await until(async () => (await ask(requestId, "")).json()["status"] === "applied", 10_000);
  assert.equal((await ask(requestId, "wait=5")).headers.get("preference-applied"), "wait=5");
  assert.equal((await ask(requestId, "")).headers.get("preference-applied"), null);
});

test("an operator's decisions on quarantined records are answered once they are applied, or after the wait", async () => {
  const session = await logInAsNew(service, "anna");
  const ahead = new Date(Date.now() + 86_400_000).toISOString();
  const ids = ["w4", "w5", "w6"];
  const requestId = await apply(
    service,
    "reservations",
    ids.map((id) => reservation(id, ahead)),
  );
  const discard = (indexes: readonly number[], seconds: number) =>
    session.post(
      "quarantine/discard",
      { records: indexes.map((index) => `${requestId}/${index}`), reason: "sent twice" },
      { prefer: `wait=${seconds}` },
    );
  const listed = async () =>
    (await session.read<QuarantinePageAnswer>("quarantine")).items.map(({ index }) => index);
  await holdApply();
  const over = await discard([0], 0);
  assert.equal(over.headers.get("preference-applied"), "wait=0");
  assert.deepEqual(await listed(), [0, 1, 2]);
  let answered = false;
  const waiting = discard([1, 2, 7], 10).finally(() => {
    answered = true;
  });
  await until(async () => (await waitingForLock(service.pool, "%bucket_lease%")) > 0, 10_000);
  assert.equal(answered, false);
  await held.query("commit");
  const answer = await waiting;
  assert.equal(answer.headers.get("preference-applied"), "wait=10");
  const { records } = answer.json() as unknown as ResolveAnswer;
  assert.deepEqual(
    records.map(({ failure }) => failure),
    [null, null, "No such record was ever quarantined."],
  );
  assert.deepEqual(await listed(), []);
});
