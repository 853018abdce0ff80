import assert from "node:assert/strict";
import { createPublicKey, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { exportJWK, type JWTPayload } from "jose";
import { hasScope, type Principal, permits } from "../../src/identity/permissions.ts";
import { revokeToken } from "../../src/identity/token-admin.ts";
import {
  type AuthNode,
  type Credentials,
  newTestClient,
  readTokenMaking,
  signWith,
  startAuthService,
  statusWith,
  strangerKey,
  takeToken,
} from "./auth-service.ts";

describe("the bearer check", () => {
  let node: AuthNode;
  let client: Credentials;
  let good: Awaited<ReturnType<typeof readTokenMaking>>;
  const now = (): number => Math.floor(Date.now() / 1000);
  const make = (claims: JWTPayload = {}, header: Record<string, unknown> = {}) =>
    signWith(good.privateKey, { ...good.header, ...header }, { ...good.claims, ...claims });
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

  before(async () => {
    node = await startAuthService();
    client = await newTestClient(node.admin);
    good = await readTokenMaking(node, client.clientId);
  });
  after(() => node.stop());

  it("accepts what the tests below spoil, so that they fail for the reason they name", async () => {
    assert.equal(await statusWith(node.url, await make()), 200);
  });

  it("finds no token where there is no header, another scheme or nothing after the scheme", async () => {
    const { verifyBearer } = node.authenticator;
    for (const headers of [
      undefined,
      [],
      [""],
      ["Basic YTpi"],
      ["Bearer"],
      ["Bearer "],
      ["bearer   "],
      ["Bearerabc"],
    ]) {
      assert.deepEqual(await verifyBearer(headers), { kind: "absent" }, JSON.stringify(headers));
    }
  });

  it("reads the scheme in any case and refuses several headers", async () => {
    const token = await make();
    const { verifyBearer } = node.authenticator;
    assert.equal((await verifyBearer([`bEARER  ${token}`])).kind, "ok");
    assert.equal((await verifyBearer([`Bearer ${token}`, `Bearer ${token}`])).kind, "invalid");
  });

  it("refuses a token without a signature, under any spelling of the algorithm none", async () => {
    for (const alg of ["none", "None", "NONE", "nOnE", ""]) {
      const unsigned = `${encode({ ...good.header, alg })}.${encode(good.claims)}`;
      const borrowed = (await make()).split(".")[2];
      assert.equal(await statusWith(node.url, `${unsigned}.`), 403);
      assert.equal(await statusWith(node.url, `${unsigned}.${borrowed}`), 403);
    }
  });

  it("refuses an HMAC made with the public key", async () => {
    const publicKey = createPublicKey(good.privateKey);
    const spellings = [
      publicKey.export({ format: "pem", type: "spki" }),
      publicKey.export({ format: "der", type: "spki" }),
      JSON.stringify(good.publicJwk),
    ];
    for (const spelling of spellings) {
      const header = { ...good.header, alg: "HS256" };
      assert.equal(
        await statusWith(
          node.url,
          await signWith(new Uint8Array(Buffer.from(spelling)), header, good.claims),
        ),
        403,
      );
    }
  });

  it("refuses the signature of a stranger's key, under our kid and under others", async () => {
    const key = strangerKey();
    for (const kid of [
      good.header.kid,
      "unknown",
      "",
      "../../../../dev/null",
      "' or 1=1 --",
      "__proto__",
      "constructor",
      1,
      null,
    ]) {
      assert.equal(
        await statusWith(node.url, await signWith(key, { ...good.header, kid }, good.claims)),
        403,
        String(kid),
      );
    }
    assert.equal(
      await statusWith(node.url, await signWith(key, { alg: "ES256", typ: "at+jwt" }, good.claims)),
      403,
    );
  });

  it("refuses keys that a token contains or references, and does not fetch them", async (t) => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.end("{}");
    }).listen(0, "127.0.0.1");
    t.after(() => server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
    const key = strangerKey();
    const jwk = await exportJWK(createPublicKey(key));
    for (const extra of [{ jwk }, { jku: url }, { x5u: url }, { x5c: ["MIIB"] }, { x5t: "a" }]) {
      assert.equal(
        await statusWith(node.url, await signWith(key, { ...good.header, ...extra }, good.claims)),
        403,
      );
      assert.equal(await statusWith(node.url, await make({}, extra)), 403);
    }
    assert.equal(asked, 0);
  });

  it("refuses every crit, known or unknown", async () => {
    const signed = (await make()).split(".");
    for (const crit of [["exp"], ["b64"], ["x"], [], "x"]) {
      const header = encode({ ...good.header, crit, exp: 1, b64: true, x: 1 });
      assert.equal(await statusWith(node.url, `${header}.${signed[1]}.${signed[2]}`), 403);
    }
    const { CompactSign } = await import("jose");
    const token = await new CompactSign(Buffer.from(JSON.stringify(good.claims)))
      .setProtectedHeader({ ...good.header, crit: ["urn:x"], "urn:x": 1 } as { alg: string })
      .sign(good.privateKey, { crit: { "urn:x": true } });
    assert.equal(await statusWith(node.url, token), 403);
  });

  it("refuses a token outside its times", async () => {
    assert.equal(
      await statusWith(node.url, await make({ iat: now() - 3600, exp: now() - 1 })),
      403,
      "expired",
    );
    // 30 s is the most that clocks may differ by (RFC 8725 and docs/internal/conformance.md).
    assert.equal(await statusWith(node.url, await make({ nbf: now() + 31 })), 403, "not yet valid");
    assert.equal(await statusWith(node.url, await make({ iat: now() + 31 })), 403, "dated in the future");
    assert.equal(
      await statusWith(node.url, await make({ iat: now() - 4000, exp: now() + 60 })),
      403,
      "too old",
    );
    for (const exp of ["9999999999", null, Number.MAX_VALUE, -1, 0]) {
      assert.equal(await statusWith(node.url, await make({ exp } as JWTPayload)), 403, `exp ${exp}`);
    }
  });

  it("accepts a token for its whole hour", async () => {
    const iat = now() - 3580;
    assert.equal(await statusWith(node.url, await make({ iat, exp: iat + 3600 })), 200);
  });

  it("refuses another issuer, audience or type", async () => {
    assert.equal(await statusWith(node.url, await make({ iss: "https://elsewhere.example" })), 403);
    assert.equal(await statusWith(node.url, await make({ iss: `${good.claims.iss}/` })), 403);
    assert.equal(await statusWith(node.url, await make({ aud: "urn:uuid:elsewhere" })), 403);
    assert.equal(await statusWith(node.url, await make({ aud: [String(good.claims.aud), "another"] })), 403);
    for (const typ of ["JWT", "at+jwtx", "", undefined]) {
      assert.equal(await statusWith(node.url, await make({}, { typ })), 403, `typ ${typ}`);
    }
  });

  it("refuses a token that lacks a claim, or whose subject is not its client", async () => {
    for (const claim of Object.keys(good.claims)) {
      assert.equal(await statusWith(node.url, await make({ [claim]: undefined })), 403, `without ${claim}`);
    }
    assert.equal(await statusWith(node.url, await make({ sub: "other" })), 403);
    assert.equal(await statusWith(node.url, await make({ client_id: "other", sub: "other" })), 403);
    for (const wrong of [{ jti: 1 }, { scope: ["read"] }, { client_id: { a: 1 }, sub: "x" }]) {
      assert.equal(await statusWith(node.url, await make(wrong as unknown as JWTPayload)), 403);
    }
  });

  it("refuses a valid token with any character changed, including the unused bits of the last one", async () => {
    const token = await make({ jti: randomUUID() });
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const { verifyBearer } = node.authenticator;
    assert.equal((await verifyBearer([`Bearer ${token}`])).kind, "ok");
    const last = token.at(-1);
    for (const other of alphabet) {
      if (other === last) continue;
      assert.equal((await verifyBearer([`Bearer ${token.slice(0, -1)}${other}`])).kind, "invalid", other);
    }
    for (let at = 0; at < token.length; at += 7) {
      const spoiled = `${token.slice(0, at)}${token[at] === "A" ? "B" : "A"}${token.slice(at + 1)}`;
      assert.equal((await verifyBearer([`Bearer ${spoiled}`])).kind, "invalid", `character ${at}`);
    }
    for (const spelling of [
      `${token}=`,
      `${token}.`,
      `.${token}`,
      token.replace(".", ".."),
      `${token}${"A".repeat(5000)}`,
    ]) {
      assert.equal((await verifyBearer([`Bearer ${spelling}`])).kind, "invalid");
    }
  });

  it("treats any other header value as an invalid token", async () => {
    const { verifyBearer } = node.authenticator;
    const headers = ["{}", "[]", "null", '"x"', "1", '{"alg":"ES256"}', "\u0000", "{"].map((text) =>
      Buffer.from(text).toString("base64url"),
    );
    for (const header of headers) {
      assert.equal((await verifyBearer([`Bearer ${header}.${header}.${"A".repeat(86)}`])).kind, "invalid");
    }
    for (const text of ["a", "a.b.c", "\u2603", "a b", "..", "%00"]) {
      assert.equal((await verifyBearer([`Bearer ${text}`])).kind, "invalid", text);
    }
  });

  it("reads each request of a connection by its own token", async () => {
    const [one, other] = [await takeToken(node.url, client), await takeToken(node.url, client)];
    const { verifyBearer } = node.authenticator;
    const connection = {};
    const kinds: string[] = [];
    const forged = one.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    for (const token of [one, one, forged, one, other, forged, forged, other])
      kinds.push((await verifyBearer([`Bearer ${token}`], connection)).kind);
    assert.deepEqual(kinds, ["ok", "ok", "invalid", "ok", "ok", "invalid", "invalid", "ok"]);
    await revokeToken(node.admin, one);
    assert.equal((await verifyBearer([`Bearer ${other}`], connection)).kind, "ok");
    assert.equal((await verifyBearer([`Bearer ${one}`], connection)).kind, "invalid");
    assert.equal((await verifyBearer([`Bearer ${one}`], connection)).kind, "invalid");
  });

  it("asks the database nothing for forged tokens, beyond the question of the half second", async () => {
    await takeToken(node.url, client);
    const { directory } = node.authenticator.internals;
    await directory.renew();
    const query = node.pool.query;
    const asked: string[] = [];
    const startedAt = performance.now();
    node.pool.query = ((...parameters: unknown[]) => {
      asked.push((parameters[0] as { name: string }).name);
      return (query as (...parameters: unknown[]) => unknown).apply(node.pool, parameters);
    }) as typeof query;
    try {
      for (let index = 0; index < 300; index += 1) {
        await node.authenticator.verifyBearer([
          `Bearer ${await signWith(good.privateKey, good.header, { ...good.claims, exp: 1 })}`,
        ]);
        await node.authenticator.verifyBearer([`Bearer forged${index}`]);
      }
    } finally {
      node.pool.query = query;
    }
    assert.deepEqual(
      asked.filter((name) => name !== "read-auth-epoch"),
      [],
    );
    const halfSeconds = (performance.now() - startedAt) / 500;
    assert.ok(asked.length <= halfSeconds + 1, `${asked.length} questions in ${halfSeconds} half seconds`);
  });

  it("describes the client: its scopes, grants, rates and origins", async () => {
    const other = await newTestClient(node.admin, {
      scopes: ["read", "groups:write"],
      grants: [
        { clientCode: "ACME", propertyCode: "H1" },
        { clientCode: "ACME", propertyCode: "H/2" },
        { clientCode: "BETA", propertyCode: "*" },
      ],
      requestRate: 5,
      requestBurst: 7,
      replyToOrigins: ["https://partner.example"],
    });
    const token = await takeToken(node.url, other, { scope: "read" });
    const result = await node.authenticator.verifyBearer([`Bearer ${token}`]);
    assert.equal(result.kind, "ok");
    const { principal } = result as { principal: Principal };
    assert.equal(principal.clientId, other.clientId);
    assert.deepEqual([hasScope(principal, "read"), hasScope(principal, "groups:write")], [true, false]);
    assert.deepEqual([principal.requestRate, principal.requestBurst], [5, 7]);
    assert.deepEqual(principal.replyToOrigins, ["https://partner.example"]);
    const asked: [string, string][] = [
      ["ACME", "H1"],
      ["ACME", "H/2"],
      ["BETA", "anything"],
      ["BETA", "*"],
    ];
    for (const [clientCode, propertyCode] of asked)
      assert.equal(permits(principal, clientCode, propertyCode), true);
    const denied: [string, string][] = [
      ["ACME", "H2"],
      ["ACME", "*"],
      ["acme", "H1"],
      ["*", "H1"],
      ["", ""],
      ["ACME ", "H1"],
    ];
    for (const [clientCode, propertyCode] of denied)
      assert.equal(permits(principal, clientCode, propertyCode), false);
  });
});
