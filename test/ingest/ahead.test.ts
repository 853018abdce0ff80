import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { inventoryRecord } from "../support/records.ts";
import { type Answer, startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

const PATH = "/api/public/v1/inventories";
/** Another spelling of the same address. */
const WITH_QUERY = `${PATH}?a=query`;

/** What differs from answer to answer, whatever it answers. */
const OWN = new Set(["date", "x-request-id", "ratelimit", "location"]);

function comparable({ status, headers, text }: Answer): unknown {
  const fields = [...headers].map(([name, value]) => [name, OWN.has(name) ? "its own" : value]);
  return { status, fields: fields.sort(), text: text.replace(/[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[^"]*/g, "…") };
}

describe("data requests, which are answered in front of the framework,", () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const CASES: readonly [name: string, headers: Record<string, string>, body: string | object][] = [
    ["an accepted batch", {}, [inventoryRecord()]],
    ["its id as text", { accept: "text/plain" }, [inventoryRecord()]],
    [
      "a correlation id and lenient handling",
      { "x-correlation-id": "c 1", prefer: "handling=lenient" },
      [inventoryRecord()],
    ],
    ["an invalid record", { "x-correlation-id": "c 2" }, [{}]],
    ["no JSON", {}, "[{"],
    ["another media type", { "content-type": "text/csv" }, "a,b"],
    ["a header that cannot be used", { "idempotency-key": "é" }, [inventoryRecord()]],
    ["no token", { authorization: "" }, [inventoryRecord()]],
    ["a forged token", { authorization: "Bearer a.b.c" }, [inventoryRecord()]],
    ["a property that was not granted", {}, [inventoryRecord({ clientCode: "OTHER" })]],
  ];
  for (const [name, headers, body] of CASES) {
    test(`are answered alike with a query in their address: ${name}`, async () => {
      const options = { headers: { "content-type": "application/json", ...headers }, body };
      const exact = await service.send("POST", PATH, options);
      const withQuery = await service.send("POST", WITH_QUERY, options);
      assert.deepEqual(comparable(withQuery), comparable(exact));
    });
  }

  test("are refused as the framework refuses: the same fields, without a token, with a forged one and with an error", async () => {
    for (const headers of [{ authorization: "" }, { authorization: "Bearer a.b.c" }]) {
      const ours = await service.send("POST", PATH, { headers, body: [] });
      const framework = await service.send("GET", PATH, { headers });
      assert.deepEqual(comparable(ours), comparable(framework));
    }
    const names = ({ status, headers }: Answer) => [status, [...headers.keys()].sort()];
    const ours = await service.post("inventories", [{}]);
    const framework = await service.get(`${PATH}?unknown=1`);
    assert.deepEqual(names(ours), names(framework));
    assert.deepEqual([ours.headers.get("content-type")], [framework.headers.get("content-type")]);
  });

  test("are the only requests handled there: other methods and addresses get the framework's 404 and 405", async () => {
    const put = await service.send("PUT", PATH, { body: [] });
    assert.deepEqual([put.status, put.headers.get("allow")], [405, "GET, HEAD, POST"]);
    const options = await service.send("OPTIONS", PATH);
    assert.deepEqual([options.status, options.headers.get("allow")], [405, "GET, HEAD, POST"]);
    for (const path of [`${PATH}/`, `${PATH}s`, PATH.replace("inv", "%69nv"), PATH.toUpperCase()])
      assert.equal((await service.send("POST", path, { body: [] })).status, 404, path);
  });

  test("count as one request of the client's rate, refused or not, and are refused beyond it", async () => {
    const client = await service.newClient({ requestRate: 1, requestBurst: 100_000 });
    for (const body of [[inventoryRecord()], [{}], [{}]])
      await service.post("inventories", body, { as: client });
    const { status, headers } = await service.post("inventories", [{}], { as: client });
    assert.equal(status, 400);
    // What has come back meanwhile only adds to it.
    assert.ok(
      Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]) >= 99_996,
      String(headers.get("ratelimit")),
    );
    const slow = await service.newClient({ requestRate: 1, requestBurst: 1 });
    const statuses = new Set<number>();
    await until(async () => {
      statuses.add((await service.post("inventories", [inventoryRecord()], { as: slow })).status);
      return statuses.has(429);
    }, 20_000);
    assert.deepEqual([...statuses], [202, 429]);
  });

  test("use this node's share of the client's rate if there is another node", async () => {
    const other = await startTestService({}, { database: service.database });
    try {
      await until(async () => {
        const as = await service.newClient({ requestRate: 1, requestBurst: 10 });
        const { headers } = await service.post("inventories", [inventoryRecord()], { as });
        return headers.get("ratelimit")?.startsWith('"requests";r=4;') === true;
      }, 20_000);
    } finally {
      await other.stop();
    }
  });

  test("are counted with the bytes of their body, and hold none of its room once they are answered", async () => {
    const records = JSON.stringify(Array.from({ length: 200 }, () => inventoryRecord()));
    const body = `${records}${" ".repeat(5_000_000)}`;
    const before = await metric('body_bytes_sum{resource="inventories"}');
    assert.equal((await service.post("inventories", body)).status, 202);
    assert.equal((await metric('body_bytes_sum{resource="inventories"}')) - before, body.length);
    assert.equal(await metric("body_bytes_in_flight"), 0);
  });

  async function metric(name: string): Promise<number> {
    const { text } = await service.get("/metrics");
    const line = text.split("\n").find((one) => one.startsWith(`bellhop_${name} `));
    return Number(line?.split(" ").at(-1));
  }

  test("are logged and counted once, with the time they took", async () => {
    const answer = await service.post("reservations", [{}]);
    const { headers } = await service.post("inventories", [inventoryRecord({ propertyCode: "LON9" })]);
    for (const id of [answer.headers.get("x-request-id"), headers.get("x-request-id")]) {
      const lines = () => service.logLines().filter((line) => line.includes(`"httpRequestId":"${id}"`));
      await until(() => lines().some((line) => line.includes('"msg":"request"')), 5_000);
      const [line, ...others] = lines().map((text) => JSON.parse(text) as Record<string, unknown>);
      assert.deepEqual(others, []);
      assert.equal(line?.["clientId"], service.client.clientId);
      assert.ok((line?.["ms"] as number) > 0, `${line?.["ms"]} ms`);
    }
    const { text } = await service.get("/metrics");
    const counted = text
      .split("\n")
      .find(
        (line) =>
          line.includes("http_requests_total{") && /\/reservations".*"400"|"400".*\/reservations"/.test(line),
      );
    assert.equal(counted?.split(" ").at(-1), "1", counted);
    const seconds = /http_request_seconds_sum\{route="\/api\/public\/v1\/inventories"\} (\S+)/.exec(
      text,
    )?.[1];
    assert.ok(Number(seconds) > 0, `${seconds} s`);
  });
});
