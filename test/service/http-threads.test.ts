import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ServiceProcess } from "../faults/service-process.ts";
import { createTestDatabase } from "../support/database.ts";
import { RawConnection } from "../support/raw-http.ts";
import { inventoryRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";
import { connectToEachThread, type ThreadConnection } from "../support/thread-connections.ts";
import { until } from "../support/until.ts";

const FORM = { "content-type": "application/x-www-form-urlencoded" };
const REQUESTS = "/api/public/v1/requests";
const BODY = JSON.stringify([inventoryRecord()]);

const bearerOf = async (client: TestClient) => ({ authorization: `Bearer ${await client.token()}` });
const jsonOf = async (client: TestClient) => ({
  ...(await bearerOf(client)),
  "content-type": "application/json",
});

/** Request `count` of something, each on the next connection: all at once, or one after the answer to another. */
function deal<Result>(
  connections: readonly ThreadConnection[],
  count: number,
  send: (connection: ThreadConnection) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(
    connections.map(async (connection, first) => {
      const results: Result[] = [];
      for (let at = first; at < count; at += connections.length) results.push(await send(connection));
      return results;
    }),
  ).then((results) => results.flat());
}

describe("two threads that serve HTTP", () => {
  let service: TestService;
  let connections: ThreadConnection[];
  before(async () => {
    service = await startTestService({
      httpThreads: 2,
      limits: { bodyBytesMax: 131_072, inflatedBytesMax: 131_072, bodiesInFlightBytesMax: 1_500_000 },
    });
    connections = await connectToEachThread(service, 4);
  });
  after(async () => {
    for (const { raw } of connections) raw.destroy();
    await service.stop();
  });

  test("both accept connections", () => {
    assert.deepEqual([...new Set(connections.map(({ thread }) => thread))], ["http-1", "http-2"]);
  });

  test("enforce a client's rate together, whichever threads its requests reach", async () => {
    const client = await service.newClient({ requestRate: 1, requestBurst: 20 });
    const headers = await bearerOf(client);
    const startedAt = performance.now();
    const answers = await deal(connections, 80, (connection) => connection.ask("GET", REQUESTS, { headers }));
    const backMeanwhile = Math.ceil((performance.now() - startedAt) / 1000);
    const passed = answers.filter(({ status }) => status === 200).length;
    assert.ok(passed >= 20 && passed <= 20 + backMeanwhile, `${passed} in ${backMeanwhile} s`);
    assert.equal(answers.filter(({ status }) => status === 429).length, 80 - passed);
  });

  test("count one client's failed authentications together", async () => {
    const body = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: service.client.clientId,
      client_secret: "wrong".repeat(8),
    }).toString();
    const answers = await deal(connections, 40, (connection) =>
      connection.ask("POST", "/api/oauth2/token", { headers: FORM, body }),
    );
    assert.equal(answers.filter(({ status }) => status === 401).length, 20);
  });

  test("hold the bodies in flight under one budget, and say how many bytes they are", async () => {
    const headers = { ...(await jsonOf(service.client)), "content-length": "100000" };
    const lines = Object.entries({ host: "localhost", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const half = ` ${"x".repeat(59_999)}`;
    // A client may hold as much as it leaves to others: room for five buffers of 128 KiB.
    for (const { raw } of connections) {
      raw.write(`POST /api/public/v1/inventories HTTP/1.1\r\n${lines.join("")}\r\n${half}`);
    }
    const refused = () => connections.filter(({ raw }) => raw.received.includes("HTTP/1.1 503 "));
    const inFlight = async () =>
      /^bellhop_body_bytes_in_flight (\d+)/m.exec((await service.get("/metrics")).text)?.[1];
    await until(async () => refused().length === 3 && (await inFlight()) === "655360", 10_000);
    for (const connection of connections) connection.raw.destroy();
    await until(async () => (await inFlight()) === "0", 10_000);
    connections = await connectToEachThread(service, 4);
  });

  test("assign a smaller id to a request answered before another was sent", async () => {
    const headers = await jsonOf(service.client);
    const ids: string[] = [];
    for (let at = 0; at < 80; at += 1) {
      const connection = connections[(at * 4 + Math.floor(at / 2)) % connections.length] as ThreadConnection;
      const answer = await connection.ask("POST", "/api/public/v1/inventories", { headers, body: BODY });
      assert.equal(answer.status, 202, answer.body.toString());
      ids.push((JSON.parse(answer.body.toString()) as { requestId: string }).requestId);
    }
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, 80);
  });

  test("refuse a token from the moment in which its revocation was answered, whichever thread took that", async () => {
    for (const revoking of [connections[0], connections.at(-1)]) {
      const client = await service.newClient();
      const headers = await bearerOf(client);
      for (const connection of connections)
        assert.equal((await connection.ask("GET", REQUESTS, { headers })).status, 200);
      const body = new URLSearchParams({
        token: await client.token(),
        client_id: client.clientId,
        client_secret: client.clientSecret,
      }).toString();
      assert.equal((await revoking?.ask("POST", "/api/oauth2/revoke", { headers: FORM, body }))?.status, 200);
      const statuses = await Promise.all(
        connections.map(async (connection) => (await connection.ask("GET", REQUESTS, { headers })).status),
      );
      assert.deepEqual(new Set(statuses), new Set([403]));
    }
  });

  test("each return the metrics of the whole process", async () => {
    const headers = await jsonOf(service.client);
    const sum = async (connection: ThreadConnection, metric: string) =>
      Number(
        new RegExp(`^${metric}[{ ].*?(\\d+)$`, "m").exec(
          (await connection.ask("GET", "/metrics")).body.toString(),
        )?.[1] ?? 0,
      );
    const accepted = 'bellhop_accepted_batches_total{resource="inventories"}';
    const [first, last] = [connections[0], connections.at(-1)] as [ThreadConnection, ThreadConnection];
    const before = await sum(first, accepted);
    await deal(connections, 16, (connection) =>
      connection.ask("POST", "/api/public/v1/inventories", { headers, body: BODY }),
    );
    assert.equal(await sum(first, accepted), before + 16);
    assert.equal(await sum(last, accepted), before + 16);
    const text = (await last.ask("GET", "/metrics")).body.toString();
    for (const thread of ["http-1", "http-2", "apply-1"])
      assert.match(
        text,
        new RegExp(`^bellhop_thread_busy_seconds_total\\{thread="${thread}"\\} [\\d.]+$`, "m"),
      );
    assert.equal(text.match(/^process_resident_memory_bytes /gm)?.length, 1);
  });

  test("answer requests in flight on each of them when the service stops, and accept no more", async () => {
    const own = await startTestService({ httpThreads: 2 });
    const kept = await connectToEachThread(own, 2);
    const headers = {
      ...(await jsonOf(own.client)),
      "content-length": String(BODY.length),
      expect: "100-continue",
    };
    const lines = Object.entries({ host: "localhost", ...headers }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    for (const { raw } of kept)
      raw.write(`POST /api/public/v1/inventories HTTP/1.1\r\n${lines.join("")}\r\n`);
    await until(() => kept.every(({ raw }) => raw.received.includes("HTTP/1.1 100 ")), 10_000);
    const stopped = own.stop();
    await until(async () => {
      const connection = await RawConnection.open(own.address).catch(() => undefined);
      connection?.destroy();
      return connection === undefined;
    }, 10_000);
    for (const { raw } of kept) raw.write(BODY);
    const statuses = await Promise.all(kept.map(async ({ raw }) => (await raw.answer()).status));
    assert.deepEqual(statuses, [202, 202, 202, 202]);
    await stopped;
  });

  test("do not share their port with another service", async () => {
    const database = await createTestDatabase();
    const { port } = new URL(service.address);
    await assert.rejects(startTestService({ httpThreads: 2, port: Number(port) }, { database }), {
      code: "EADDRINUSE",
    });
    await database.drop();
  });
});

test("a crash of one of several threads stops the process with a log line", async () => {
  const crash = new URL("../faults/crash-thread.ts?thread=http-2&file=/", import.meta.url);
  const service = await ServiceProcess.prepare({
    imports: [crash.href],
  });
  try {
    service.start();
    assert.equal(await service.ended(), 1);
  } finally {
    await service.remove();
  }
});
