import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOperator } from "../../src/identity/operators.ts";
import { PASSWORD, postLogin } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until } from "../support/until.ts";

let service: TestService;
before(async () => {
  // The tests' own connections come from a trusted proxy.
  service = await startTestService({ trustedProxies: ["127.0.0.0/8"] });
});
after(() => service.stop());

const guess = (from: string) =>
  service.send("POST", "/api/oauth2/token", {
    as: null,
    headers: { "content-type": "application/x-www-form-urlencoded", "x-forwarded-for": from },
    body: `grant_type=client_credentials&client_id=${service.client.clientId}&client_secret=wrong`,
  });

test("behind a trusted proxy, failed authentications count for the client's address, not for others", async () => {
  const statuses: number[] = [];
  for (let tries = 0; tries < 21; tries += 1) statuses.push((await guess("198.51.100.1")).status);
  assert.deepEqual(statuses, [...Array(20).fill(401), 429]);
  // What the client wrote before the proxy's entry changes nothing.
  assert.equal((await guess("192.0.2.1, 198.51.100.1")).status, 429);
  assert.equal((await guess("198.51.100.2")).status, 401);
});

test("a refusal's line in the log has the client's address, an answer's has none", async () => {
  assert.equal((await guess("198.51.100.77")).status, 401);
  const lines = () => service.logLines().map((line) => JSON.parse(line) as Record<string, unknown>);
  await until(
    () => lines().some(({ address, status }) => address === "198.51.100.77" && status === 401),
    60_000,
  );
  await service.get("/api/public/v1/requests", { headers: { "x-forwarded-for": "198.51.100.78" } });
  await until(
    () => lines().some(({ route, status }) => route === "/api/public/v1/requests" && status === 200),
    60_000,
  );
  assert.ok(lines().every(({ address }) => address !== "198.51.100.78"));
});

test("at the console's login, too, an address that guesses passwords does not keep another waiting", async () => {
  const login = (from: string) =>
    postLogin(service, { name: "nobody", password: "a wrong password" }, { "x-forwarded-for": from });
  let status = 0;
  for (let tries = 0; tries < 11; tries += 1) ({ status } = await login("198.51.100.1"));
  assert.equal(status, 429);
  assert.notEqual((await login("198.51.100.2")).status, 429);
});

test("passwords that one network sends at once leave room for the login of another", async () => {
  await createOperator({ pool: service.pool, who: "cli:test" }, "anna", PASSWORD, {});
  let refused = 0;
  const guesses = Array.from({ length: 30 }, async (_, at) => {
    const headers = { "x-forwarded-for": `2001:db8:1:1::${at.toString(16)}` };
    const { status } = await postLogin(
      service,
      { name: `nobody${at}`, password: "a wrong password" },
      headers,
    );
    if (status === 503) refused += 1;
    return status;
  });
  await until(() => refused > 0, 60_000);
  const login = await postLogin(
    service,
    { name: "anna", password: PASSWORD },
    { "x-forwarded-for": "198.51.100.3" },
  );
  assert.equal(login.status, 200, login.text);
  const statuses = await Promise.all(guesses);
  assert.ok(statuses.every((status) => status === 401 || status === 503));
});
