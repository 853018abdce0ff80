import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newTestClient, requestToken, startAuthNode, startAuthService } from "./auth-service.ts";

describe("the limit of token requests", () => {
  let service: Awaited<ReturnType<typeof startAuthService>>;
  before(async () => {
    service = await startAuthService();
  });
  after(() => service.stop());

  it("lets six tokens in a row pass and answers the seventh with 429 and a Retry-After of at most 600 s", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: null });
    const left: (string | null)[] = [];
    for (let taken = 0; taken < 6; taken += 1) {
      const response = await requestToken(service.url, client);
      assert.equal(response.status, 200);
      left.push(response.headers.get("ratelimit"));
    }
    assert.deepEqual(
      left.map((header) => /r=(\d+)/.exec(header ?? "")?.[1]),
      ["5", "4", "3", "2", "1", "0"],
    );
    const seventh = await requestToken(service.url, client);
    assert.equal(seventh.status, 429);
    assert.deepEqual(await seventh.json(), {
      error: "temporarily_unavailable",
      error_description:
        "rate limit exceeded: 6 of 6 tokens are used; the next one is available in 10 minutes. Store the token and reuse it between runs until it expires.",
    });
    assert.match(seventh.headers.get("content-type") ?? "", /^application\/json/);
    const retryAfter = Number(seventh.headers.get("retry-after"));
    assert.ok(retryAfter >= 590 && retryAfter <= 600, `Retry-After: ${retryAfter}`);
    assert.equal(seventh.headers.get("ratelimit-policy"), '"token";q=6;w=3600');
    assert.equal(seventh.headers.get("ratelimit"), `"token";r=0;t=${retryAfter}`);
    assert.equal(seventh.headers.get("cache-control"), "no-store");
  });

  it("gives one token back after ten minutes, and a whole bucket after an hour", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: 2 });
    const take = async () => (await requestToken(service.url, client)).status;
    const timePasses = (seconds: number) =>
      service.pool.query(
        `update bellhop.token_bucket set full_at = full_at - make_interval(secs => $2),
          issued_at = array(select t - make_interval(secs => $2) from unnest(issued_at) t) where client_id = $1`,
        [client.clientId, seconds],
      );
    assert.deepEqual([await take(), await take(), await take()], [200, 200, 429]);
    await timePasses(590);
    assert.equal(await take(), 429);
    await timePasses(11);
    assert.deepEqual([await take(), await take()], [200, 429]);
    await timePasses(3600);
    assert.deepEqual([await take(), await take(), await take()], [200, 200, 429]);
  });

  it("never gives more than the bucket holds to requests at once, on two nodes", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: null });
    const other = await startAuthNode(service.database);
    try {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const response = await requestToken(index % 2 === 0 ? service.url : other.url, client);
          await response.arrayBuffer();
          return response.status;
        }),
      );
      assert.equal(statuses.filter((status) => status === 200).length, 6);
      assert.equal(statuses.filter((status) => status === 429).length, 24);
    } finally {
      await other.stop();
    }
  });

  it("remembers the bucket after a restart", async (t) => {
    const client = await newTestClient(service.admin, { tokenBurst: 1 });
    assert.equal((await requestToken(service.url, client)).status, 200);
    const restarted = await startAuthNode(service.database);
    t.after(restarted.stop);
    assert.equal((await requestToken(restarted.url, client)).status, 429);
  });

  it("debits nothing for a request that is refused for another reason", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: 1, scopes: ["read"] });
    for (const extra of [{ scope: "nonsense" }, { grant_type: "password" }, { client_secret: "bhs_wrong" }]) {
      assert.notEqual((await requestToken(service.url, client, extra as Record<string, string>)).status, 200);
    }
    assert.equal((await requestToken(service.url, client)).status, 200);
  });

  it("treats a negative bucket as empty after the clock was set back", async () => {
    const client = await newTestClient(service.admin, { tokenBurst: 2 });
    await requestToken(service.url, client);
    await service.pool.query(
      "update bellhop.token_bucket set full_at = clock_timestamp() + interval '3 days' where client_id = $1",
      [client.clientId],
    );
    const refused = await requestToken(service.url, client);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get("retry-after")) <= 600);
    const { rows } = await service.pool.query<{ within: boolean }>(
      "select full_at <= clock_timestamp() + interval '20 minutes' as within from bellhop.token_bucket where client_id = $1",
      [client.clientId],
    );
    assert.equal(rows[0]?.within, true);
  });

  it("gives at most the burst in any hour when the hour is strict", async (t) => {
    const strict = await startAuthNode(service.database, { config: { tokenStrictHour: true } });
    t.after(strict.stop);
    const client = await newTestClient(strict.admin, { tokenBurst: 3 });
    const take = () => requestToken(strict.url, client);
    const timePasses = (minutes: number) =>
      service.pool.query(
        `update bellhop.token_bucket set full_at = full_at - make_interval(mins => $2),
          issued_at = array(select t - make_interval(mins => $2) from unnest(issued_at) t) where client_id = $1`,
        [client.clientId, minutes],
      );
    assert.equal((await take()).status, 200);
    await timePasses(30);
    assert.deepEqual([(await take()).status, (await take()).status], [200, 200]);
    const refused = await take();
    assert.equal(refused.status, 429);
    const retryAfter = Number(refused.headers.get("retry-after"));
    assert.ok(
      retryAfter > 1780 && retryAfter <= 1800,
      `the oldest leaves in half an hour, not ${retryAfter} s`,
    );
    await timePasses(31);
    const sixth = await take();
    assert.equal(sixth.status, 200);
    assert.match(sixth.headers.get("ratelimit") ?? "", /r=0;/);
    assert.equal((await take()).status, 429);
  });
});
