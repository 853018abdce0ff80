import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { decodeJwt, decodeProtectedHeader } from "jose";
import {
  type AuthNode,
  type Credentials,
  newTestClient,
  postForm,
  requestToken,
  startAuthService,
  statusWith,
  takeToken,
} from "./auth-service.ts";

interface OAuthBody {
  access_token?: string;
  token_type?: string;
  expires_in?: number;
  scope?: string;
  error?: string;
  error_description?: string;
}

const FORM = "application/x-www-form-urlencoded";

describe("the token endpoint", () => {
  let node: AuthNode;
  let client: Credentials;
  before(async () => {
    node = await startAuthService();
    client = await newTestClient(node.admin);
  });
  after(() => node.stop());

  const token = (): string => `${node.url}/api/oauth2/token`;
  const basic = (id: string, secret: string): string =>
    `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
  const readBody = async (response: Response): Promise<OAuthBody> => (await response.json()) as OAuthBody;
  const postRaw = (body: string | Buffer, headers: Record<string, string> = { "content-type": FORM }) =>
    fetch(token(), { method: "POST", body: typeof body === "string" ? body : new Uint8Array(body), headers });
  const form = (extra = ""): string =>
    `grant_type=client_credentials&client_id=${client.clientId}&client_secret=${client.clientSecret}${extra}`;

  async function expectError(response: Response, status: number, error: string): Promise<OAuthBody> {
    const body = await readBody(response);
    assert.equal(response.status, status, JSON.stringify(body));
    assert.equal(body.error, error);
    assert.deepEqual(Object.keys(body).sort(), ["error", "error_description"]);
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    assert.equal(response.headers.get("cache-control"), "no-store");
    return body;
  }

  it("gives a bearer token for 3600 s that nothing may store", async () => {
    const response = await requestToken(node.url, client);
    const body = await readBody(response);
    assert.equal(response.status, 200);
    assert.equal(body.token_type, "Bearer");
    assert.equal(body.expires_in, 3600);
    assert.equal(body.scope, "inventories:write reservations:write groups:write read");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(response.headers.get("pragma"), "no-cache");
    assert.match(response.headers.get("ratelimit") ?? "", /^"token";r=\d+;t=\d+$/);
    assert.equal(await statusWith(node.url, body.access_token ?? ""), 200);
  });

  it("signs tokens with every claim of RFC 9068 and nothing but alg, typ and kid in the header", async () => {
    const jwt = await takeToken(node.url, client);
    assert.deepEqual(Object.keys(decodeProtectedHeader(jwt)).sort(), ["alg", "kid", "typ"]);
    const claims = decodeJwt(jwt);
    assert.deepEqual(Object.keys(claims).sort(), [
      "aud",
      "client_id",
      "exp",
      "iat",
      "iss",
      "jti",
      "scope",
      "sub",
    ]);
    assert.equal(claims.sub, client.clientId);
    assert.equal((claims.exp ?? 0) - (claims.iat ?? 0), 3600);
  });

  it("gives another token every time", async () => {
    const [one, other] = await Promise.all([takeToken(node.url, client), takeToken(node.url, client)]);
    assert.notEqual(one, other);
    assert.notEqual(decodeJwt(one ?? "").jti, decodeJwt(other ?? "").jti);
  });

  it("takes credentials by HTTP Basic, raw and form-encoded", async () => {
    const grant = { grant_type: "client_credentials" };
    const raw = await postForm(token(), grant, {
      authorization: basic(client.clientId, client.clientSecret),
    });
    assert.equal(raw.status, 200);
    const encode = (text: string): string =>
      text.replace(/[_-]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
    const encoded = basic(encode(client.clientId), encode(client.clientSecret));
    assert.equal((await postForm(token(), grant, { authorization: encoded })).status, 200);
    const alsoNamed = { ...grant, client_id: client.clientId };
    const authorization = basic(client.clientId, client.clientSecret);
    assert.equal((await postForm(token(), alsoNamed, { authorization })).status, 200);
  });

  it("refuses credentials in both places, and another client_id than that of the header", async () => {
    const authorization = basic(client.clientId, client.clientSecret);
    await expectError(await postRaw(form(), { "content-type": FORM, authorization }), 400, "invalid_request");
    const other = { grant_type: "client_credentials", client_id: "other" };
    await expectError(await postForm(token(), other, { authorization }), 400, "invalid_request");
  });

  it("answers an unknown id, a wrong secret and a revoked client in the same words", async () => {
    const revoked = await newTestClient(node.admin);
    const { revokeClient } = await import("../../src/identity/client-admin.ts");
    await revokeClient(node.admin, revoked.clientId);
    const answers = await Promise.all(
      [
        { clientId: "bhc_unknown", clientSecret: client.clientSecret },
        { clientId: client.clientId, clientSecret: "bhs_wrong" },
        { clientId: client.clientId, clientSecret: "nul\0in\u2603it" },
        revoked,
      ].map(async (credentials) => {
        const response = await requestToken(node.url, credentials);
        assert.match(response.headers.get("www-authenticate") ?? "", /^Basic /);
        return expectError(response, 401, "invalid_client");
      }),
    );
    assert.equal(new Set(answers.map((answer) => answer.error_description)).size, 1);
  });

  it("refuses a request without credentials or with a broken or foreign Authorization header", async () => {
    const grant = { grant_type: "client_credentials" };
    await expectError(await postForm(token(), grant), 401, "invalid_client");
    await expectError(
      await postForm(token(), { ...grant, client_id: client.clientId }),
      401,
      "invalid_client",
    );
    for (const authorization of [
      "Basic !!!",
      "Basic bm9jb2xvbg==",
      basic("%zz", "x"),
      basic("a%ff", "x"),
      "Bearer abc",
      "Basic",
    ]) {
      const response = await postForm(token(), grant, { authorization });
      assert.match(response.headers.get("www-authenticate") ?? "", /^Basic /, authorization);
      await expectError(response, 401, "invalid_client");
    }
  });

  it("treats an empty parameter as absent, and ignores unknown ones", async () => {
    assert.equal((await postRaw(form("&scope=&resource=x&"))).status, 200);
    await expectError(await postRaw("grant_type=&client_id=a&client_secret=b"), 400, "invalid_request");
  });

  it("refuses malformed forms: repeated parameters, broken escapes, bytes that are not UTF-8", async () => {
    const cases = [
      form("&grant_type=client_credentials"),
      form("&scope=read&scope="),
      form("&x=1&x=2"),
      form("&x=%zz"),
      form("&x=%"),
      form("&x=%ff"),
      form("&%c3%28=1"),
      Buffer.concat([Buffer.from(form("&x=")), Buffer.from([0xff, 0xfe])]),
      "",
    ];
    for (const body of cases) await expectError(await postRaw(body), 400, "invalid_request");
  });

  it("refuses other grants, and scopes that are unknown, not granted or not of tokens", async () => {
    await expectError(
      await requestToken(node.url, client, { grant_type: "password" }),
      400,
      "unsupported_grant_type",
    );
    const reader = await newTestClient(node.admin, { scopes: ["read"] });
    for (const scope of ["insight:read", "groups:write", "read groups:write", "introspect"]) {
      const { error_description } = await expectError(
        await requestToken(node.url, reader, { scope }),
        400,
        "invalid_scope",
      );
      assert.equal(error_description, "A scope is unknown or not granted. This client may ask for: read.");
    }
    const introspector = await newTestClient(node.admin, { scopes: ["introspect"], grants: [] });
    await expectError(await requestToken(node.url, introspector), 400, "unauthorized_client");
  });

  it("issues a token with the requested scopes", async () => {
    const response = await requestToken(node.url, client, { scope: "read  groups:write read" });
    assert.equal((await readBody(response)).scope, "read groups:write");
  });

  it("never accepts credentials in the URL", async () => {
    const query = `client_id=${client.clientId}&client_secret=${client.clientSecret}`;
    const response = await postForm(`${token()}?${query}`, { grant_type: "client_credentials" });
    await expectError(response, 400, "invalid_request");
  });

  it("accepts only uncompressed forms of at most 8 kB", async () => {
    const json = JSON.stringify({ grant_type: "client_credentials" });
    await expectError(await postRaw(json, { "content-type": "application/json" }), 415, "invalid_request");
    await expectError(await postRaw(form(), { "content-type": "text/plain" }), 415, "invalid_request");
    await expectError(
      await postRaw(form(), { "content-type": FORM, "content-encoding": "gzip" }),
      415,
      "invalid_request",
    );
    await expectError(await fetch(token(), { method: "POST" }), 415, "invalid_request");
    await expectError(await postRaw(form(`&x=${"x".repeat(9000)}`)), 413, "invalid_request");
    assert.equal((await postRaw(form(), { "content-type": `${FORM}; charset=UTF-8` })).status, 200);
  });

  it("counts the bytes of a chunked form", async () => {
    const { hostname, port } = new URL(node.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST /api/oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const chunk = `x=${"y".repeat(4094)}&`;
    for (let sent = 0; sent < 4; sent += 1) socket.write(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    assert.match(answer.toString(), /^HTTP\/1\.1 413 /);
  });

  it("answers other methods with 405 and the ones allowed", async () => {
    for (const [path, allow] of [
      ["/api/oauth2/token", "POST"],
      ["/api/oauth2/revoke", "POST"],
      ["/api/oauth2/introspect", "POST"],
      ["/.well-known/jwks.json", "GET, HEAD"],
      ["/.well-known/oauth-authorization-server", "GET, HEAD"],
    ] as const) {
      for (const method of ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
        if (allow.includes(method)) continue;
        const response = await fetch(node.url + path, { method, ...(method === "PUT" ? { body: "x" } : {}) });
        await response.arrayBuffer();
        assert.equal(response.status, 405, `${method} ${path}`);
        assert.equal(response.headers.get("allow"), allow);
        assert.equal(response.headers.get("cache-control"), "no-store");
      }
    }
  });

  it("limits failures to 20 a minute for an id, and never locks out the correct secret", async () => {
    const victim = await newTestClient(node.admin);
    const wrong = { ...victim, clientSecret: "bhs_guess" };
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 22; attempt += 1)
      statuses.push((await requestToken(node.url, wrong)).status);
    assert.deepEqual(statuses, [...Array(20).fill(401), 429, 429]);
    const limited = await requestToken(node.url, wrong);
    assert.ok(
      Number(limited.headers.get("retry-after")) >= 1 && Number(limited.headers.get("retry-after")) <= 60,
    );
    const { error_description } = await expectError(limited, 429, "temporarily_unavailable");
    assert.match(
      error_description ?? "",
      /^rate limit exceeded: too many requests with this client id failed/,
    );
    assert.equal((await requestToken(node.url, victim)).status, 200);
    assert.equal((await requestToken(node.url, { ...wrong, clientId: "bhc_other" })).status, 401);
  });
});
