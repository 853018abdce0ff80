import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import pg from "pg";
import { clientConfig } from "../../src/platform/db/connection.ts";
import { Balancer } from "../faults/balancer.ts";
import { BatchSource, CLIENT_CODE } from "../faults/batch-source.ts";
import { checkFeed } from "../faults/check-feed.ts";
import { checkLog } from "../faults/check-log.ts";
import { checkApplied, checkSessions } from "../faults/check-sessions.ts";
import { FEED_QUERY } from "../faults/feed-campaign.ts";
import { FeedConsumers } from "../faults/feed-consumers.ts";
import { KeyRotations } from "../faults/key-rotations.ts";
import { Ledger } from "../faults/ledger.ts";
import { startNodes } from "../faults/many-nodes.ts";
import { newClient, newToken } from "../faults/new-token.ts";
import { Senders } from "../faults/senders.ts";
import type { ServiceProcess } from "../faults/service-process.ts";
import { bucketsOf } from "../faults/takeover.ts";
import { createEmptyDatabase } from "../support/database.ts";
import { temporaryDirectory } from "../support/test-server.ts";
import { until } from "../support/until.ts";
import { SeededRandom } from "../workload/seeded-random.ts";

/** Three processes, as three machines would run them, on a database that was empty when they were started. */
describe("several nodes on one database", () => {
  let database: Awaited<ReturnType<typeof createEmptyDatabase>>;
  let pool: pg.Pool;
  let nodes: ServiceProcess[];
  let token: string;
  before(async () => {
    database = await createEmptyDatabase();
    pool = new pg.Pool({ ...clientConfig({ connectionString: database.url }, "on"), max: 2 });
    // A balancer on a slow machine sees late that a node is leaving.
    nodes = await startNodes(3, database.url, { STOP_GRACE_MS: "3000" });
  });
  after(async () => {
    for (const node of nodes) await node.remove();
    await pool.end();
    await database.drop();
  });

  const node = (at: number): ServiceProcess => nodes[at] as ServiceProcess;
  const heldBy = async ({ pid }: ServiceProcess) => (await bucketsOf(pool, pid)).length;
  /** By its key a batch has a number, by which the log is traced back to it, beyond those of the senders. */
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? 1_000_000 + numbers.size;
    numbers.set(key, number);
    return number;
  };
  const send = (to: ServiceProcess, records: readonly object[], key: string) =>
    fetch(`${to.address}/api/public/v1/inventories`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(records.map((record) => ({ ...record, correlationId: `batch-${numberOf(key)}` }))),
    });
  const inventory = (propertyCode: string) => ({
    clientCode: CLIENT_CODE,
    propertyCode,
    createDateTime: "2026-01-01T00:00:00Z",
    occupancyDate: "2026-05-01",
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 1 }],
  });

  test("starting at once on an empty database, migrate it once and create one key, whose tokens all accept", async () => {
    // One that dies in its start is in nobody's way.
    await node(2).end("SIGKILL");
    for (const started of nodes.slice(0, 2)) await started.untilReady(60_000);
    node(2).start();
    await node(2).untilReady(60_000);
    const keys = JSON.parse(await node(0).command("key", "list", "--json")) as { keys: { state: string }[] };
    assert.deepEqual(
      keys.keys.map(({ state }) => state),
      ["active"],
    );
    token = await newToken(node(1));
    for (const [at, to] of nodes.entries())
      assert.equal((await send(to, [inventory("A")], `${at}`)).status, 202);
  });

  test("rotate their signing key once, however many ask for it at the same moment", async () => {
    const rotations = await Promise.allSettled(
      nodes.map((asked) => asked.command("key", "rotate", "--announce", "5s")),
    );
    const refused = rotations.filter(({ status }) => status === "rejected");
    assert.equal(refused.length, 2);
    for (const { reason } of refused as PromiseRejectedResult[])
      assert.match(String(reason), /is already announced/);
    for (const to of nodes) assert.equal((await send(to, [inventory("B")], "rotated")).status, 202);
  });

  test("recognize repeated keys, and count one client's tokens, on any of them", async () => {
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all(nodes.map((to) => send(to, [inventory("A")], `at once ${round}`)));
      const ids = await Promise.all(
        answers.map(async (answer) => (await answer.json()) as { requestId: string }),
      );
      assert.equal(new Set(ids.map(({ requestId }) => requestId)).size, 1);
    }
    const said = await node(0).command(
      ...["client", "create", "--name", "tokens", "--grant", "T/*", "--token-burst", "4", "--json"],
    );
    const { client_id, client_secret } = JSON.parse(said) as Record<"client_id" | "client_secret", string>;
    const statuses = await Promise.all(
      [...nodes, ...nodes, ...nodes].map(async ({ address }) => {
        const form = { grant_type: "client_credentials", client_id, client_secret };
        const answer = await fetch(`${address}/api/oauth2/token`, {
          method: "POST",
          body: new URLSearchParams(form),
        });
        await answer.arrayBuffer();
        return answer.status;
      }),
    );
    assert.deepEqual(statuses.toSorted(), [200, 200, 200, 200, 429, 429, 429, 429, 429]);
  });

  test("share the buckets; those of a stopped one are taken over, and returned when it continues", async () => {
    await until(async () => (await Promise.all(nodes.map(heldBy))).every((held) => held >= 21), 20_000);
    const held = new Set(await bucketsOf(pool, node(0).pid));
    node(0).signal("SIGSTOP");
    try {
      await until(async () => (await heldBy(node(1))) + (await heldBy(node(2))) === 64, 30_000);
      const records = Array.from({ length: 300 }, (_, at) => inventory(`S${at}`));
      const answer = await send(node(1), records, "while stopped");
      assert.equal(answer.status, 202);
      const { requestId } = (await answer.json()) as { requestId: string };
      await until(async () => {
        const { rows } = await pool.query<{ bucket: number; waits: boolean }>(
          `select log.bucket, outcome.bucket is null as waits from bellhop.accept_log log
          left join bellhop.request_outcome outcome using (bucket, request_id) where log.request_id = $1`,
          [requestId],
        );
        assert.ok(rows.some(({ bucket }) => held.has(bucket)));
        return rows.every(({ waits }) => !waits);
      }, 30_000);
    } finally {
      node(0).signal("SIGCONT");
    }
    await until(async () => (await Promise.all(nodes.map(heldBy))).every((count) => count >= 21), 30_000);
    assert.equal((await send(node(0), [inventory("A")], "afterwards")).status, 202);
  });

  test("are restarted one after another under load while the key is rotated, and no request fails", async () => {
    const ledger = new Ledger();
    const balancer = new Balancer(nodes.map(({ address }) => address));
    const route = () => balancer.route();
    try {
      await until(() => nodes.every(({ address }) => balancer.isRouted(address)), 20_000);
      const source = new BatchSource(7);
      const senders = new Senders({ route, token, source, ledger, seed: 7, senders: 3 });
      const client = await newClient(node(1));
      const rotated = new KeyRotations(nodes, ledger, source, () => client).one();
      for (const restarted of nodes) {
        const before = ledger.acceptedRequests;
        await until(() => ledger.acceptedRequests > before + 20, 30_000);
        assert.equal(await restarted.end("SIGTERM"), 0);
        restarted.start();
        await restarted.untilReady(60_000);
        await until(() => balancer.isRouted(restarted.address), 20_000);
      }
      await rotated;
      await senders.stop();
    } finally {
      await balancer.stop();
    }
    assert.deepEqual(Object.keys(ledger.seen), ["202"], JSON.stringify(ledger.seen));
    assert.deepEqual(ledger.problems, []);
    assert.deepEqual(await checkApplied(pool), []);
    const own = await checkLog(pool, ledger, { clockErrorMsMax: 1_000 });
    assert.equal(own.lost, 0);
    assert.equal(own.doubled, 0);
    assert.deepEqual(await checkSessions(pool, { nodes: 3, httpThreads: 1, applyWriters: 1 }), []);
  });

  test("tell a consumer of the feed every change once, however often it is killed while they write", async () => {
    const directory = await temporaryDirectory("feed");
    const kept = `${directory}/received.ndjson`;
    const addresses = nodes.map(({ address }) => address);
    const balancer = new Balancer(addresses);
    await until(() => addresses.every((address) => balancer.isRouted(address)), 20_000);
    const ledger = new Ledger();
    const route = () => balancer.route();
    const batches = new BatchSource(8);
    // Its keys have been used, by the senders of the test before.
    const source = { next: () => ({ ...batches.next(), idempotencyKey: undefined }) };
    const senders = new Senders({ route, token, source, ledger, seed: 8, senders: 1 });
    try {
      const consumers = new FeedConsumers(
        { addresses, token, query: FEED_QUERY, kept },
        SeededRandom.stream(8, 3),
      );
      while (consumers.kills < 10) await consumers.killOne();
      await senders.stop();
      assert.deepEqual(ledger.problems, []);
      assert.deepEqual(await checkApplied(pool), []);
      await consumers.finish();
      const findings = await checkFeed(pool, kept);
      assert.deepEqual(findings.problems, []);
      assert.ok(consumers.fruitful > 0 && findings.changes > 0);
      assert.equal(findings.delivered - findings.changedBack, findings.changes);
    } finally {
      senders.abandon();
      await balancer.stop();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
