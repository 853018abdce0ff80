import assert from "node:assert/strict";
import { afterEach, describe, test } from "node:test";
import {
  BellhopClient,
  type BellhopClientOptions,
  type BellhopError,
  type Reservation,
  type StoredToken,
  type TokenStore,
} from "#client";
import { until } from "../support/until.ts";
import { type HostilePlan, HostileServer } from "./hostile-server.ts";

let server: HostileServer;
afterEach(() => server.stop());

const RETRY = { forMs: 30_000, firstDelayMs: 2, delayMsMax: 20 };

async function started(
  plan: HostilePlan,
  options: Partial<BellhopClientOptions> = {},
): Promise<BellhopClient> {
  server = await HostileServer.start(plan);
  return newClient(options);
}

function newClient(options: Partial<BellhopClientOptions> = {}): BellhopClient {
  return new BellhopClient({
    baseUrl: server.address,
    clientId: "partner",
    clientSecret: "secret",
    retry: RETRY,
    ...options,
  });
}

const ONE = [{ reservationId: "R-1" }] as unknown as Reservation[];
const answerOk: HostilePlan["get"] = (_request, response) => void response.end("{}");

describe("the client's token", () => {
  test("is one for all calls, also of other clients with the same credentials", async () => {
    const bellhop = await started({ get: answerOk });
    const asked = Array.from({ length: 50 }, (_, at) =>
      (at % 2 === 0 ? bellhop : newClient()).fetch(`/api/public/v1/requests?limit=${at + 1}`),
    );
    for (const response of await Promise.all(asked)) assert.equal(response.status, 200);
    await newClient({ clientSecret: "another" }).fetch("/api/public/v1/requests");
    assert.equal(server.tokenRequests, 2);
  });

  test("is renewed before it ends, and none is used beyond its end", async () => {
    const bellhop = await started({ get: answerOk, expiresIn: 3 });
    await until(async () => {
      const answers = await Promise.all([1, 2, 3].map(() => bellhop.fetch("/api/public/v1/requests")));
      return answers.every(({ status }) => status === 200) && server.tokensGiven >= 3;
    }, 60_000);
    assert.equal(server.tokensGiven, server.tokenRequests);
  });

  test("is renewed once for all calls that met its end in mid-stream", async () => {
    const bellhop = await started({ get: answerOk });
    await bellhop.fetch("/api/public/v1/requests");
    server.forgetTokens();
    const asked = Array.from({ length: 20 }, () => bellhop.fetch("/api/public/v1/requests"));
    for (const response of await Promise.all(asked)) assert.equal(response.status, 200);
    assert.equal(server.tokenRequests, 2);
  });

  test("that cannot be had is asked for as long as a request is retried, once", async () => {
    const waits: number[] = [];
    const bellhop = await started(
      { token: () => "a reset" },
      {
        retry: { forMs: 1_000, firstDelayMs: 8, delayMsMax: 30_000 },
        onWait: ({ ms }) => void waits.push(ms),
      },
    );
    await assert.rejects(bellhop.requests.list().next(), { exception: "client.Network" });
    assert.equal(waits.filter((ms) => ms < 8).length, 1, `the pauses begin anew: ${waits}`);
  });

  test("is not asked for again and again where every one is refused after its first use", async () => {
    const bellhop = await started(
      { data: (count) => (count % 2 === 1 ? "403 invalid_token" : undefined) },
      { retry: { ...RETRY, forMs: 1_000 } },
    );
    let failure: BellhopError | undefined;
    for (let call = 0; failure === undefined && call < 50; call += 1)
      failure = await bellhop.reservations.send([...ONE, ...ONE], { batchRecords: 1, concurrency: 1 }).then(
        () => undefined,
        (error) => error,
      );
    assert.equal(failure?.exception, "client.TokenLimit");
    assert.equal(server.tokenRequests, 6);
  });

  test("of another process is replaced where it lacks a scope, not where a record names a foreign property", async () => {
    let stored: StoredToken | undefined;
    const tokenStore: TokenStore = {
      find: async () => stored,
      keep: async (_key, token) => {
        stored = token;
      },
      exclusive: (_key, work) => work(),
    };
    const lacking = 'Bearer error="insufficient_scope", error_description="Not allowed.", scope="read"';
    const bellhop = await started(
      {
        get: (_request, response, count) =>
          void response.writeHead(count === 1 ? 403 : 200, { "www-authenticate": lacking }).end("{}"),
      },
      { tokenStore },
    );
    await bellhop.fetch("/api/public/v1/requests");
    // Another fetch: a client that knows of the token by the store alone, as that of another process.
    const inAnotherProcess = () => newClient({ tokenStore, fetch: (...asked) => fetch(...asked) });
    const foreign = [{ reservationId: "R-1", propertyCode: "FOREIGN" }] as unknown as Reservation[];
    const report = await inAnotherProcess().reservations.send(foreign);
    assert.equal(report.rejected[0]?.code, "oauth.insufficient_scope");
    assert.equal(server.tokenRequests, 1);
    assert.equal((await inAnotherProcess().fetch("/api/public/v1/requests")).status, 200);
    assert.equal(server.tokenRequests, 2);
  });

  test("that never worked is not worth another one", async () => {
    const bellhop = await started({ data: () => "403 invalid_token" });
    const failure = await bellhop.reservations.send(ONE).catch((error) => error);
    assert.equal(failure.exception, "oauth.invalid_token");
    assert.equal(failure.status, 403);
    assert.equal(server.tokenRequests, 1);
  });

  test("is obtained despite refusals, resets and truncated responses", async () => {
    const misdeeds = ["429", "a reset", "half a JSON", "503", "no token"] as const;
    const bellhop = await started({ get: answerOk, token: (count) => misdeeds[count] });
    const response = await bellhop.fetch("/api/public/v1/requests");
    assert.equal(response.status, 200);
    assert.equal(server.tokenRequests, 6);
  });

  test("goes to no other address, also not by a redirect", async () => {
    const bellhop = await started({
      get: (_request, response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end(),
    });
    const response = await bellhop.fetch("/api/public/v1/requests");
    assert.equal(response.status, 302);
    await assert.rejects(bellhop.requests.get("x"), /answered 302 to http:\/\/127\.0\.0\.1:1\//);
    await assert.rejects(bellhop.fetch("http://127.0.0.1:1/"), { exception: "client.InvalidOption" });
  });
});
