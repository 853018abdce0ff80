import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { CompactSign, FlattenedSign } from "jose";
import { RawConnection } from "../support/raw-http.ts";
import { groupRecord, inventoryRecord, reservationRecord } from "../support/records.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";

const V1 = "/api/public/v1";
const RECORDS = {
  inventories: inventoryRecord,
  reservations: reservationRecord,
  groups: groupRecord,
} as const;
const RESOURCES = ["inventories", "reservations", "groups"] as const;

let service: TestService;
let good: string;
let key: KeyObject;
before(async () => {
  service = await startTestService();
  good = await service.token();
  const signing = service.service.authenticator.internals.directory.signingKey();
  key = signing?.privateKey ?? assert.fail("no signing key");
});
after(() => service.stop());

/** What an Authorization header comes to at a data endpoint, as it is on the wire. */
async function answerTo(
  authorization: string,
): Promise<{ status: number; bytes: number; challenge: string }> {
  const connection = await RawConnection.open(service.address);
  try {
    connection.write(
      `GET ${V1}/requests HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
    );
    const { status, body, headers } = await connection.answer();
    return { status, bytes: body.length, challenge: headers.get("www-authenticate") ?? "" };
  } finally {
    connection.destroy();
  }
}

async function isForbidden(token: string, what: string): Promise<void> {
  const { status, bytes, challenge } = await answerTo(`Bearer ${token}`);
  assert.deepEqual([status, bytes, challenge], [403, 0, 'Bearer error="invalid_token"'], what);
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const parts = (token: string) => token.split(".") as [string, string, string];
const decode = (part: string) =>
  JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
/** Signed with the service's own key: all that is wrong is what the header or the spelling says. */
const signed = (header: string, payload: string) =>
  `${header}.${payload}.${sign("sha256", Buffer.from(`${header}.${payload}`), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;

/** The order of P-256's base point. */
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

/** The same token with the other signature that ECDSA takes for it, which needs no key to be made: (r, n - s) for (r, s). */
function otherSignature(token: string): string {
  const [header, payload, signature] = parts(token);
  const bytes = Buffer.from(signature, "base64url");
  const s = P256_ORDER - BigInt(`0x${bytes.toString("hex", 32)}`);
  bytes.write(s.toString(16).padStart(64, "0"), 32, "hex");
  return `${header}.${payload}.${bytes.toString("base64url")}`;
}

describe("a token's spelling", () => {
  test("is the issued one: no padding, blanks, other alphabets or further parts", async () => {
    assert.equal((await answerTo(`Bearer ${good}`)).status, 200);
    const [header, payload, signature] = parts(good);
    for (const spelling of [
      `${header}=.${payload}.${signature}`,
      `${header}.${payload}==.${signature}`,
      `${header}.${payload}.${signature}=`,
      `${header}. ${payload}.${signature}`,
      `${header}.${payload.slice(0, 9)} ${payload.slice(9)}.${signature}`,
      `${header}.${payload}\t.${signature}`,
      `"${good}"`,
      `${good},${good}`,
      `${good} ${good}`,
      `${good}.`,
      `${good}.${signature}`,
      `.${good}`,
      `${header}..${signature}`,
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}.${payload}%2e${signature}`,
      encodeURIComponent(`${good}\0`),
      good.replaceAll("-", "+").replaceAll("_", "/").concat("+/"),
      `${good}\xe9`,
      Buffer.from(good).toString("base64"),
    ]) {
      await isForbidden(spelling, JSON.stringify(spelling.slice(-100)));
    }
  });

  test("of a JWS in JSON, nested or detached is none", async () => {
    const [header, payload, signature] = parts(good);
    await isForbidden(JSON.stringify({ protected: header, payload, signature }), "flattened JSON");
    await isForbidden(encode({ payload, signatures: [{ protected: header, signature }] }), "general JSON");
    const { payload: bytes } = await new FlattenedSign(Buffer.from(good))
      .setProtectedHeader({ alg: "ES256" })
      .sign(key);
    await isForbidden(`${header}.${bytes}.${signature}`, "a payload that is a token");
    const nested = await new CompactSign(Buffer.from(good))
      .setProtectedHeader({ alg: "ES256", ...decode(header), cty: "JWT" })
      .sign(key);
    await isForbidden(nested, "a token within a token");
    await isForbidden(signed(header, encode(good)), "a token as the claims");
    await isForbidden(`${header}..${signature}`, "detached");
  });
});

describe("a token's header", () => {
  test("with b64, crit, a path, an address or a query for a key id, or anything more than ours: 403", async () => {
    const [header, payload] = parts(good);
    const ours = decode(header);
    assert.equal((await answerTo(`Bearer ${signed(encode(ours), payload)}`)).status, 200);
    for (const change of [
      { b64: false },
      { b64: false, crit: ["b64"] },
      { b64: true },
      { cty: "JWT" },
      { zip: "DEF" },
      { enc: "A256GCM" },
      { alg: "es256" },
      { alg: ["ES256"] },
      { alg: "ES256K" },
      { typ: "JWT" },
      { typ: "application/at+jwt" },
      { typ: "at+JWT" },
      { kid: "../../../../dev/null" },
      { kid: "/etc/passwd" },
      { kid: `${ours["kid"]}\0` },
      { kid: ` ${ours["kid"]}` },
      { kid: "http://127.0.0.1/jwks.json" },
      { kid: "' or '1'='1" },
      { kid: "__proto__" },
      { kid: [ours["kid"]] },
      { kid: { toString: "x" } },
      { kid: 0 },
    ]) {
      await isForbidden(signed(encode({ ...ours, ...change }), payload), JSON.stringify(change));
    }
    const text = JSON.stringify(ours);
    for (const spelling of [
      text.replace("}", ',"alg":"none"}'),
      text.replace("}", ',"__proto__":{"x":1}}'),
      `\ufeff${text}`,
      `${text}x`,
    ]) {
      await isForbidden(signed(Buffer.from(spelling).toString("base64url"), payload), spelling);
    }
  });

  test("of another service's key, of another curve, or of ours with a signature in DER: 403", async () => {
    const [header, payload] = parts(good);
    for (const namedCurve of ["P-256", "P-384", "secp256k1"]) {
      const { privateKey } = generateKeyPairSync("ec", { namedCurve });
      const signature = sign("sha256", Buffer.from(`${header}.${payload}`), {
        key: privateKey,
        dsaEncoding: "ieee-p1363",
      });
      await isForbidden(`${header}.${payload}.${signature.toString("base64url")}`, namedCurve);
    }
    const der = sign("sha256", Buffer.from(`${header}.${payload}`), key).toString("base64url");
    await isForbidden(`${header}.${payload}.${der}`, "DER");
    for (const fill of [0, 0xff]) {
      await isForbidden(
        `${header}.${payload}.${Buffer.alloc(64, fill).toString("base64url")}`,
        `r and s of ${fill}`,
      );
    }
  });
});

describe("the permissions of a token", () => {
  const status = async (client: TestClient, scope: string, method: string, path: string, body?: object) => {
    const authorization = `Bearer ${await client.token(scope)}`;
    const answer = await service.send(method, path, {
      as: null,
      headers: { authorization },
      ...(body ? { body } : {}),
    });
    return answer.status;
  };

  test("is its scope alone, endpoint by endpoint", async () => {
    for (const scope of [...RESOURCES.map((name) => `${name}:write`), "read"]) {
      for (const resource of RESOURCES) {
        const push = await status(service.client, scope, "POST", `${V1}/${resource}`, [RECORDS[resource]()]);
        assert.equal(push, scope === `${resource}:write` ? 202 : 403, `${scope} pushes ${resource}`);
        const path = `${V1}/${resource}?clientCode=ACME&propertyCode=LON01`;
        assert.equal(
          await status(service.client, scope, "GET", path),
          scope === "read" ? 200 : 403,
          `${scope} reads`,
        );
      }
      assert.equal(
        await status(service.client, scope, "GET", `${V1}/requests`),
        scope === "read" ? 200 : 403,
      );
    }
  });

  test("is never more than its client has, and never the operator's: no token carries introspect", async () => {
    const operator = await service.newClient({ scopes: ["introspect"], grants: [] });
    await assert.rejects(operator.token(), /unauthorized_client/);
    const both = await service.newClient({ scopes: ["introspect", "read"] });
    await assert.rejects(both.token("introspect"), /invalid_scope/);
    for (const scope of ["*", "read read:all", "admin", "inventories:write,read", "read\0", "READ"]) {
      await assert.rejects(service.client.token(scope), /invalid_scope/, scope);
    }
    const claims = decode(parts(await both.token())[1]);
    assert.equal(claims["scope"], "read");
    const introspected = await fetch(`${service.address}/api/oauth2/introspect`, {
      method: "POST",
      headers: { authorization: `Bearer ${good}` },
      body: new URLSearchParams({ token: good }),
    });
    assert.deepEqual([introspected.status, await introspected.json()].length, 2);
    assert.equal(introspected.status, 401);
  });

  test("ends with its revocation, also where it was just used and is remembered", async () => {
    const client = await service.newClient();
    const token = await client.token();
    const use = () => answerTo(`Bearer ${token}`);
    for (let n = 0; n < 3; n += 1) assert.equal((await use()).status, 200);
    const revoked = await fetch(`${service.address}/api/oauth2/revoke`, {
      method: "POST",
      body: new URLSearchParams({ token, client_id: client.clientId, client_secret: client.clientSecret }),
    });
    assert.equal(revoked.status, 200);
    await isForbidden(token, "revoked");
  });

  test("is one token under both of its ECDSA signatures, (r, s) and (r, n - s): the end of one is the end of both", async () => {
    for (const revokedAs of [0, 1] as const) {
      const client = await service.newClient();
      const token = await client.token();
      const spellings = [token, otherSignature(token)] as const;
      assert.notEqual(spellings[0], spellings[1]);
      for (const spelling of spellings) assert.equal((await answerTo(`Bearer ${spelling}`)).status, 200);
      const { clientId: client_id, clientSecret: client_secret } = client;
      const form = { token: spellings[revokedAs], client_id, client_secret };
      const body = new URLSearchParams(form);
      const revoked = await fetch(`${service.address}/api/oauth2/revoke`, { method: "POST", body });
      assert.equal(revoked.status, 200);
      for (const spelling of spellings) await isForbidden(spelling, "revoked");
    }
  });

  test("is not accepted in place of credentials", async () => {
    const send = (headers: Record<string, string>, form: Record<string, string>) =>
      fetch(`${service.address}/api/oauth2/token`, {
        method: "POST",
        headers,
        body: new URLSearchParams(form),
      });
    const grant = { grant_type: "client_credentials" };
    const { clientId } = service.client;
    for (const [headers, form] of [
      [{ authorization: `Bearer ${good}` }, grant],
      [{ authorization: `Bearer ${good}` }, { ...grant, client_id: clientId }],
      [{}, { ...grant, client_id: clientId, client_secret: good }],
      [{}, { ...grant, client_id: clientId, client_assertion: good, client_assertion_type: "jwt-bearer" }],
      [{ authorization: `Basic ${btoa(`${clientId}:${good}`)}` }, grant],
      [{ cookie: `access_token=${good}` }, { ...grant, client_id: clientId }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const response = await send(headers, form);
      assert.equal(response.status, 401, JSON.stringify(form).slice(0, 80));
      assert.equal(((await response.json()) as { error: string }).error, "invalid_client");
    }
    for (const path of [`${V1}/requests?access_token=${good}`, `${V1}/requests?token=${good}`]) {
      const answer = await service.get(path, { as: null, headers: { cookie: `access_token=${good}` } });
      assert.equal(answer.status, 401, "a token in an address or a cookie is no token");
    }
  });

  test("is identified by its whole text: a forged one may share the beginning of a valid one", async () => {
    const digest = createHash("sha256").update(good).digest("base64");
    for (const token of [
      good.slice(0, -2),
      good.slice(0, 200),
      digest,
      createHash("sha256").update(good).digest("hex"),
    ])
      await isForbidden(token, "a part or a hash of a token");
  });
});
