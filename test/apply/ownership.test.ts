import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import pg from "pg";
import { type LogPart, PropertyDirectory } from "../../src/apply/backlog.ts";
import { type Lease, LeaseLost, LeaseStatements, Leases } from "../../src/apply/leases.ts";
import { applySessions } from "../../src/apply/postgres-apply-session.ts";
import { EventLoopDelays, FairShare } from "../../src/apply/rebalance.ts";
import type { Appliers } from "../../src/apply/server-appliers.ts";
import { ALL_BUCKETS, BUCKET_COUNT, bucketOf } from "../../src/ingest/log/part-name.ts";
import { enterPresence } from "../../src/platform/db/coordination.ts";
import { type BucketServer, BucketServers, holdBuckets, nameShards } from "../../src/platform/db/dialect.ts";
import { SharedHints, type Siblings } from "../../src/platform/runtime/shared-memory.ts";
import { leaseIsHeld } from "../faults/takeover.ts";
import { ApplyBench, reservation } from "../support/apply-bench.ts";
import { bucketsOfServers } from "../support/citus.ts";
import { waitingForLock } from "../support/lock-waits.ts";
import { until } from "../support/until.ts";

const byNumber = (left: number, right: number): number => left - right;

const T1 = "2026-01-01T00:00:01Z";

describe("a bucket has one owner", () => {
  let bench: ApplyBench;
  let servers: readonly number[];
  let isHeld: string;
  /** On Citus a worker: leases are held by sessions there. Elsewhere undefined, as the only one has all. */
  let server: BucketServer | undefined;
  /** The buckets of that server. */
  let mine: readonly number[];
  /** Those of them that one transaction may lock, at least two. */
  let together: readonly number[];
  before(async () => {
    bench = await ApplyBench.open();
    servers = await bucketsOfServers(bench.database.pool);
    isHeld = await leaseIsHeld(bench.database.pool);
    server = (await BucketServers.find(bench.database.clientConfig))?.all[0];
    const groups = server?.worker.groups.map(({ buckets }) => buckets) ?? [ALL_BUCKETS];
    mine = groups.flat();
    together = groups.find(({ length }) => length > 1) ?? [];
  });
  after(() => bench.close());
  const opened: { stop(): unknown }[] = [];
  afterEach(async () => {
    for (const { stop } of opened.splice(0)) await stop();
  });

  /** How many buckets each owner holds whose backend lives, such as `first 32, second 32`. */
  const held = async (): Promise<string> => {
    const rows = await bench.rows<{ owner: string; count: number }>(
      `select lease.owner, count(*)::integer from bellhop.bucket_lease lease where ${isHeld}
      group by lease.owner order by lease.owner`,
    );
    return rows.map(({ owner, count }) => `${owner} ${count}`).join(", ");
  };
  const untilHeld = (wanted: string) => until(async () => (await held()) === wanted, 20_000);
  /** As `held` shows them: of each server's buckets, the first owners have one more where they do not come out even. */
  const untilShared = (...owners: string[]) =>
    untilHeld(
      owners
        .map((owner, at) => {
          const shares = servers.map(
            (buckets) => Math.floor(buckets / owners.length) + (at < buckets % owners.length ? 1 : 0),
          );
          return `${owner} ${shares.reduce((sum, share) => sum + share, 0)}`;
        })
        .join(", "),
    );
  const freeBuckets = (buckets = mine) =>
    bench.rows<Lease>(
      "select bucket, epoch::text from bellhop.bucket_lease where bucket = any ($1) order by bucket",
      [buckets],
    );

  /** A session at that server. One of an applier's name counts as present there. */
  const connect = async (name = "ownership test"): Promise<pg.Client> => {
    const config = server?.clientConfig ?? bench.database.clientConfig;
    const client = new pg.Client({ ...config, application_name: name });
    client.on("error", () => undefined);
    await client.connect();
    if (server !== undefined) nameShards(client, server, bench.database.pool);
    opened.push({ stop: () => client.end().catch(() => undefined) });
    return client;
  };
  /** A session that is present, has taken the free buckets, and says nothing more, as that of a node that hangs. */
  const hang = async (): Promise<{ client: pg.Client; ownership: Leases }> => {
    const client = await connect("bellhop apply");
    if (server === undefined) await enterPresence(client, ["apply"], "hung");
    const ownership = new Leases(new LeaseStatements(client), "hung");
    assert.equal((await ownership.take(await freeBuckets())).length, mine.length);
    return { client, ownership };
  };
  const started = (owner: string, more: Parameters<ApplyBench["newApplier"]>[1] = {}): Appliers => {
    const applier = bench.newApplier(owner, more);
    applier.start();
    opened.push({ stop: () => applier.stop() });
    return applier;
  };

  /** A session of an applier at that server, and how it shares the buckets. */
  const share = async (owner: string): Promise<{ ownership: Leases; sharing: FairShare }> => {
    const { clientConfig, pool } = bench.database;
    const properties = new PropertyDirectory(pool);
    const sessions = { clientConfig, pool, properties };
    const openSession = applySessions(server === undefined ? sessions : { ...sessions, server });
    const session = await openSession(owner, () => undefined);
    opened.push({ stop: () => session.close() });
    const ownership = new Leases(session, owner);
    const sharing = new FairShare(session, ownership, session.presenceId, new EventLoopDelays());
    return { ownership, sharing };
  };

  test("appliers share all buckets evenly as they start and stop", async () => {
    const first = started("first");
    await untilShared("first");
    const second = started("second");
    await untilShared("first", "second");
    const third = started("third");
    await untilShared("first", "second", "third");
    const requestId = await bench.accept([reservation("A", T1, "x")]);
    assert.equal(await bench.outcomesOf(requestId), "a");
    await first.stop();
    await untilShared("second", "third");
    await second.stop();
    await untilShared("third");
    assert.equal(await bench.acceptAndApply([reservation("A", T1, "x")]), "d");
    await third.stop();
    assert.deepEqual(bench.failures.splice(0).map(String), []);
  });

  test("an idle applier notices that others have taken its buckets", async () => {
    const { ownership, sharing } = await share("robbed");
    await sharing.rebalance(0, false);
    assert.equal(ownership.buckets.length, mine.length);
    // As a replay does, and another applier that looks sooner.
    await bench.rows(
      "update bellhop.bucket_lease set epoch = epoch + 1, backend_pid = null where bucket = any ($1)",
      [mine.slice(0, 2)],
    );
    const other = new Leases(new LeaseStatements(await connect()), "other");
    assert.deepEqual(await other.take(await freeBuckets(mine.slice(1, 2))), mine.slice(1, 2));
    await sharing.rebalance(1_000, false);
    const left = mine.filter((bucket) => bucket !== mine[1]);
    assert.deepEqual(ownership.buckets.toSorted(byNumber), left.toSorted(byNumber));
  });

  test("an applier gives up its surplus from the buckets that it has read nothing of for longest", async () => {
    const { ownership, sharing } = await share("first");
    await sharing.rebalance(0, false);
    const busy = ownership.buckets.slice(-2);
    sharing.onBacklogRead(busy.map((bucket) => ({ bucket }) as LogPart));
    const other = await share("second");
    const { givenUp } = await sharing.rebalance(20_000, false);
    assert.equal(givenUp.length, Math.floor(mine.length / 2));
    assert.deepEqual(
      busy.filter((bucket) => givenUp.includes(bucket)),
      [],
    );
    await other.sharing.rebalance(20_000, false);
    assert.deepEqual(other.ownership.buckets.toSorted(byNumber), givenUp.toSorted(byNumber));
  });

  test("an applier with much to do passes half of those buckets on to an idle one of its node", async (t) => {
    if (server !== undefined)
      return t.skip("On Citus the threads of a node do not know which worker another is idle at.");
    const memory = SharedHints.allocate(BUCKET_COUNT, 2);
    const stopping = new AbortController();
    const hints = new SharedHints(memory, BUCKET_COUNT);
    const siblings = (writer: number): Siblings => new SharedHints(memory, BUCKET_COUNT).siblingsOf(writer);
    let isBlocked = false;
    const busy = started("busy", {
      siblings: siblings(0),
      blocked: () => (isBlocked ? "The test accepts first." : undefined),
    });
    await untilShared("busy");
    const idle = started("idle", { siblings: siblings(1) });
    void hints.listen(1, (_, isOffered) => isOffered && idle.offered(), stopping.signal);
    opened.push({
      stop() {
        stopping.abort();
        hints.wakeListeners();
      },
    });
    await untilShared("busy", "idle");
    isBlocked = true;
    const ownersOf = async (buckets: readonly number[]) =>
      (
        await bench.rows<{ owner: string }>(
          "select distinct owner from bellhop.bucket_lease where bucket = any ($1) order by owner",
          [buckets],
        )
      ).map(({ owner }) => owner);
    const held = await bench.rows<{ bucket: number }>(
      "select bucket from bellhop.bucket_lease where owner = 'busy'",
    );
    const codes = Array.from({ length: 200 }, (_, at) => `P${at}`).filter((code) =>
      held.slice(0, 4).some(({ bucket }) => bucket === bucketOf("ACME", code)),
    );
    assert.deepEqual(await ownersOf(held.map(({ bucket }) => bucket)), ["busy"]);
    const ids: string[] = [];
    for (let batch = 0; batch < 20; batch += 1)
      for (const code of codes.slice(0, 8))
        ids.push(
          await bench.accept(
            Array.from({ length: 100 }, (_, at) => reservation(`${batch}.${at}`, T1, "x", code)),
          ),
        );
    isBlocked = false;
    busy.wake(held.map(({ bucket }) => bucket));
    await until(
      async () => (await ownersOf(held.slice(0, 4).map(({ bucket }) => bucket))).join() === "busy,idle",
      20_000,
    );
    for (const id of ids) assert.equal(await bench.outcomesOf(id), "a".repeat(100));
    assert.deepEqual(bench.failures.splice(0).map(String), []);
  });

  test("an applier whose backend is killed reconnects and applies the backlog", async () => {
    const applier = started("killed");
    await untilHeld("killed 64");
    const [lease] = await bench.rows<{ backend_pid: number }>(
      "select backend_pid from bellhop.bucket_lease where bucket = $1",
      [mine[0]],
    );
    const killer = await connect();
    await killer.query("select pg_terminate_backend($1::integer)", [lease?.backend_pid]);
    const requestId = await bench.accept([reservation("B", T1, "x")]);
    assert.equal(await bench.outcomesOf(requestId), "a");
    await applier.stop();
  });

  test("a former owner cannot go on: its epoch is past", async () => {
    const [one, two] = [await connect(), await connect()];
    const former = new Leases(new LeaseStatements(one), "former");
    const seen = await freeBuckets();
    assert.equal((await former.take(seen)).length, mine.length);
    // Seen free by both, and taken by one of them.
    assert.deepEqual(await new Leases(new LeaseStatements(two), "other").take(seen), []);
    const [bucket = -1] = mine;
    await bench.rows("update bellhop.bucket_lease set epoch = epoch + 1 where bucket = $1", [bucket]);
    await one.query(`begin; ${holdBuckets(one, [bucket])}`);
    await assert.rejects(former.lock([bucket]), LeaseLost);
    await one.query("rollback");
    assert.ok(!former.buckets.includes(bucket));
    await one.end();
    await two.end();
  });

  test("an applier that releases buckets keeps the others, and does not reclaim any that were taken meanwhile", async () => {
    const client = await connect();
    const ownership = new Leases(new LeaseStatements(client), "generous");
    await ownership.take(await freeBuckets());
    await bench.rows("update bellhop.bucket_lease set owner = 'thief', backend_pid = 1 where bucket = $1", [
      mine[3],
    ]);
    await ownership.giveUp(mine.slice(3, 6));
    assert.equal(ownership.buckets.length, mine.length - 3);
    const [stolen] = await bench.rows<{ owner: string }>(
      "select owner from bellhop.bucket_lease where bucket = $1",
      [mine[3]],
    );
    assert.equal(stolen?.owner, "thief");
    assert.equal(await held(), `generous ${mine.length - 3}`);
    await client.end();
  });

  test("a takeover waits for the running transaction of the previous owner", async () => {
    const one = await connect();
    const [bucket = -1] = mine;
    const holder = new Leases(new LeaseStatements(one), "holder");
    await holder.take(await freeBuckets());
    await one.query(`begin; ${holdBuckets(one, [bucket])}`);
    await holder.lock([bucket]);
    // As a takeover does it: the row is locked by the holder's transaction, so this cannot overtake it.
    const takeover = bench.rows("update bellhop.bucket_lease set epoch = epoch + 1 where bucket = $1", [
      bucket,
    ]);
    let taken = false;
    void takeover.then(() => {
      taken = true;
    });
    await until(async () => (await waitingForLock(bench.database.pool, "%epoch + 1%")) > 0, 10_000);
    assert.equal(taken, false);
    await one.query("commit");
    await takeover;
    await one.end();
  });

  test("the buckets of an unresponsive owner are taken over between two transactions", async () => {
    const { ownership } = await hang();
    const applier = started("alive");
    await untilHeld("alive 64");
    await assert.rejects(ownership.lock(mine.slice(0, 1)));
    await applier.stop();
  });

  test("the same within a transaction, which is rolled back, and while it does not read responses", async () => {
    const { client, ownership } = await hang();
    const [one = -1, two = -1] = together;
    await client.query(`begin; ${holdBuckets(client, [one, two])}`);
    await ownership.lock([one, two]);
    await client.query("update bellhop.change_counter set next_change = 1000 where bucket = $1", [one]);
    const applier = started("alive");
    await untilHeld("alive 64");
    const [lease] = await bench.rows<{ next_change: string }>(
      "select next_change::text from bellhop.change_counter where bucket = $1",
      [one],
    );
    assert.notEqual(lease?.next_change, "1000");
    await applier.stop();

    const deaf = await hang();
    const { stream } = (deaf.client as unknown as { connection: { stream: { pause(): void } } }).connection;
    const answer = deaf.client.query("select repeat('x', 1000) from generate_series(1, 1000000)");
    answer.catch(() => undefined);
    stream.pause();
    const heir = started("heir");
    await untilHeld("heir 64");
    await heir.stop();
  });

  test("an owner in a long statement keeps its buckets; free ones are not reserved for it", async () => {
    const { client, ownership } = await hang();
    await ownership.giveUp(mine.slice(0, 2));
    const busy = client.query("select pg_sleep(600)");
    busy.catch(() => undefined);
    const applier = started("alive");
    const shared = `alive ${ALL_BUCKETS.length - mine.length + 2}, hung ${mine.length - 2}`;
    await untilHeld(shared);
    const { rows } = await bench.database.pool.query<{ pid: number }>(
      "select backend_pid as pid from bellhop.bucket_lease where owner = 'hung' limit 1",
    );
    const beside = await connect();
    await until(async () => {
      const {
        rows: [backend],
      } = await beside.query<{ late: boolean }>(
        "select state_change < clock_timestamp() - interval '4.5 seconds' as late from pg_stat_activity where pid = $1",
        [rows[0]?.pid],
      );
      assert.ok(backend !== undefined, "the session was ended");
      return backend.late;
    }, 20_000);
    assert.equal(await held(), shared);
    await beside.query("select pg_cancel_backend($1::integer)", [rows[0]?.pid]);
    await assert.rejects(busy);
    await client.end();
    await untilHeld("alive 64");
    await applier.stop();
  });
});
