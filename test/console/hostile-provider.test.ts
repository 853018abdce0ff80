import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { gzipSync } from "node:zlib";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { startTestService, type TestService } from "../support/service.ts";

const JSON_TYPE = { "content-type": "application/json" } as const;
const MEBIBYTE = 1_048_576;

type Answer = (response: ServerResponse) => void;

/** What the provider answers by the end of the path; the tests replace it. */
let discovery: Answer;
let token: Answer;
let keys: Answer;
let written = 0;
const server = createServer((request, response) => {
  const path = request.url ?? "";
  (path.endsWith("/token") ? token : path.endsWith("/keys") ? keys : discovery)(response);
});

let service: TestService;
let issuer: string;
before(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.closeAllConnections();
  server.close();
});
// A provider's endpoints are remembered.
beforeEach(async () => {
  service = await startTestService({ singleSignOn: { issuer, clientId: "bellhop", clientSecret: "s" } });
});
afterEach(() => service.stop());

const metadata = (more: object = {}): Answer => {
  const endpoints = { token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` };
  const listed = { response_types_supported: ["code"], subject_types_supported: ["public"] };
  const body = { issuer, ...endpoints, ...listed, id_token_signing_alg_values_supported: ["ES256"], ...more };
  return (response) => response.writeHead(200, JSON_TYPE).end(JSON.stringify(body));
};

/** Sends a text without end, until the connection is closed. */
const endless: Answer = (response) => {
  response.writeHead(200, JSON_TYPE).write('{"issuer":"');
  const part = Buffer.alloc(MEBIBYTE, "x");
  const go = () => {
    let goesOn = true;
    while (goesOn && !response.destroyed) {
      written += part.length;
      goesOn = response.write(part);
    }
  };
  response.on("drain", go);
  go();
};

/** Where a browser is led that logs in. */
async function refusalAt(path: string): Promise<string | null> {
  const { port } = new URL(service.address);
  const response = await fetch(`${service.address}/console/api/oidc/${path}`, {
    redirect: "manual",
    headers: { cookie: `bellhop-sign-on-${port}=state.nonce.verifier` },
  });
  assert.equal(response.status, 303);
  return response.headers.get("location");
}

const REFUSED = "/console/?refused=provider";
const CALLBACK = "callback?code=c&state=state";

test("a provider that answers without end is left after 256 KiB, at each endpoint", async () => {
  discovery = endless;
  assert.equal(await refusalAt("start"), REFUSED);
  assert.ok(written < 32 * MEBIBYTE, `discovery wrote ${written} bytes`);
  discovery = metadata({ authorization_endpoint: `${issuer}/authorize` });
  token = endless;
  written = 0;
  assert.equal(await refusalAt(CALLBACK), REFUSED);
  assert.ok(written < 32 * MEBIBYTE, `the token endpoint wrote ${written} bytes`);
});

test("so is one whose answer inflates, before it is inflated", async () => {
  const bomb = gzipSync(`{"issuer":"${"x".repeat(256 * MEBIBYTE)}"}`, { level: 1 });
  discovery = (response) => response.writeHead(200, { ...JSON_TYPE, "content-encoding": "gzip" }).end(bomb);
  const begun = process.cpuUsage();
  assert.equal(await refusalAt("start"), REFUSED);
  const { user } = process.cpuUsage(begun);
  // A second and more for the whole text.
  assert.ok(user < 700_000, `${user} µs`);
});

test("one that names no endpoint for logins is refused, and asked again", async () => {
  discovery = metadata();
  assert.equal(await refusalAt("start"), REFUSED);
  discovery = metadata({ authorization_endpoint: `${issuer}/authorize` });
  assert.match((await refusalAt("start")) ?? "", /\/authorize\?/);
});

const json =
  (body: object): Answer =>
  (response) =>
    response.writeHead(200, JSON_TYPE).end(JSON.stringify(body));

/** From now on the provider has only a new key, by this name, and signs with it. */
async function replaceKey(kid: string): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  keys = json({ keys: [{ ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" }] });
  const idToken = await new SignJWT({ nonce: "nonce" })
    .setProtectedHeader({ alg: "ES256", kid })
    .setIssuer(issuer)
    .setAudience("bellhop")
    .setSubject("stranger")
    .setIssuedAt()
    .setExpirationTime("5m")
    .sign(privateKey);
  token = json({ access_token: "a", token_type: "bearer", id_token: idToken });
}

/** A genuine login of somebody who is no operator. */
const KNOWN_TO_PROVIDER = "/console/?refused=email";

for (const [what, name] of [
  ["by another name", "second"],
  ["under the name of the former", "first"],
] as const)
  test(`of one that replaces its key at once, ${what}, at most one login is refused`, async () => {
    discovery = metadata({ authorization_endpoint: `${issuer}/authorize` });
    await replaceKey("first");
    assert.equal(await refusalAt(CALLBACK), KNOWN_TO_PROVIDER);
    await replaceKey(name);
    assert.equal(await refusalAt(CALLBACK), REFUSED);
    assert.equal(await refusalAt(CALLBACK), KNOWN_TO_PROVIDER);
  });

test("strangers do not make it ask the provider again and again", async () => {
  let asked = 0;
  const described = metadata({ authorization_endpoint: `${issuer}/authorize` });
  discovery = (response) => {
    asked += 1;
    described(response);
  };
  token = (response) => response.writeHead(400, JSON_TYPE).end('{"error":"invalid_grant"}');
  for (const path of [CALLBACK, CALLBACK, "callback?state=state", "callback?code=c&state=other", CALLBACK])
    assert.equal(await refusalAt(path), REFUSED);
  assert.ok(asked <= 2, `${asked} times`);
});
