import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CursorCipher } from "../../src/platform/http/page-cursors.ts";
import { errorObject } from "../support/error-object.ts";
import { apply, group, inventory, reservation } from "../support/read-fixture.ts";
import { type Answer, startTestService, type TestClient, type TestService } from "../support/service.ts";

const V1 = "/api/public/v1";
const SECRET_GUEST = "Aloysia Weber-Lange";

let service: TestService;
/** Has data of its own in CHAIN/* and nothing to do with ACME. */
let stranger: TestClient;
let request: string;
before(async () => {
  service = await startTestService();
  stranger = await service.newClient({ grants: [{ clientCode: "CHAIN", propertyCode: "*" }] });
  const profiles = [{ id: "1", name: SECRET_GUEST, profileType: "Guest" }];
  const records = ["a", "b", "c"].map((id) => reservation(id, "2026-01-01T00:00:00Z", { profiles }));
  request = await apply(service, "reservations", records);
  await apply(service, "groups", [group("G1", "2026-01-01T00:00:00Z")]);
  await apply(service, "inventories", [inventory("2026-07-14", "2026-01-01T00:00:00Z")]);
  const own = records.map((record) => ({ ...record, clientCode: "CHAIN", profiles: [] }));
  await apply(service, "reservations", own, { as: stranger });
});
after(() => service.stop());

/** What of an answer does not differ from one request to the next, nor by the property that the caller itself has named. */
function face({ status, headers, text }: Answer) {
  const varying = new Set(["date", "x-request-id", "ratelimit", "content-length"]);
  return {
    status,
    headers: [...headers]
      .filter(([name]) => !varying.has(name))
      .map(([name, value]) => [name, value.replace(/(?<=names the property )\S+(?=, which)/, "CODES")]),
    text: text.replace(/"timestamp":"[^"]*"/, ""),
  };
}

const tables = async () => {
  const { rows } = await service.pool.query(
    "select (select count(*) from bellhop.client)::int as clients, (select count(*) from bellhop.accept_log)::int as log",
  );
  return rows[0];
};

describe("what others have", () => {
  test("looks the same as what does not exist: requests, properties, records, cursors", async () => {
    const ask = (path: string) => service.get(`${V1}/${path}`, { as: stranger });
    const nobody = "01999999-0000-7000-8000-000000000000";
    assert.deepEqual(face(await ask(`requests/${request}`)), face(await ask(`requests/${nobody}`)));
    assert.equal((await ask(`requests/${request}`)).status, 404);
    const lists = [
      "reservations?",
      "groups?",
      "inventories?",
      "requests?",
      "reservations/history?reservationId=a&",
    ];
    for (const list of lists) {
      const faces = await Promise.all(
        [
          ["ACME", "LIS01"],
          ["ACME", "NOWHERE"],
          ["NOBODY", "LIS01"],
        ].map(async ([client, property]) =>
          face(await ask(`${list}clientCode=${client}&propertyCode=${property}`)),
        ),
      );
      assert.equal(faces[0]?.status, 403);
      assert.deepEqual(faces[1], faces[0], list);
      assert.deepEqual(faces[2], faces[0], list);
    }
  });

  test("is refused in a batch in the same words, whether it exists or not", async () => {
    const push = (codes: Record<string, string>) =>
      service.post("reservations", [reservation("a", "2026-01-02T00:00:00Z", codes)], { as: stranger });
    const known = face(await push({ clientCode: "ACME" }));
    assert.equal(known.status, 403);
    assert.deepEqual(face(await push({ clientCode: "ACME", propertyCode: "NOWHERE" })), known);
    assert.deepEqual(face(await push({ clientCode: "NOBODY" })), known);
  });

  test("is not reachable by a forged cursor: a cursor only says where to continue", async () => {
    const filters = JSON.stringify([
      ["clientCode", "CHAIN"],
      ["propertyCode", "LIS01"],
    ]);
    // Even by somebody who has the key that cursors are encrypted with.
    const key = await service.service.authenticator.internals.cursorKey();
    const cursor = (position: unknown[], { clientId } = stranger) =>
      new CursorCipher(key, { clientId, path: `${V1}/reservations`, filters }).encrypt(
        Buffer.from(JSON.stringify(position)),
      );
    const own = `${V1}/reservations?clientCode=CHAIN&propertyCode=LIS01&cursor=`;
    let taken = 0;
    for (const position of ["a", "\u0001", "' or true --", "zzzz", "\u{10ffff}", "%", "_"]) {
      const answer = await service.get(own + cursor([position]), { as: stranger });
      assert.ok([200, 400].includes(answer.status), answer.text);
      if (answer.status === 200) taken += 1;
      assert.ok(!answer.text.includes(SECRET_GUEST) && !answer.text.includes("ACME"), answer.text);
    }
    assert.ok(taken > 0, "the key and the question are the service's own: a forged position was taken");
    for (const clientId of [service.client.clientId, "", "*"]) {
      const answer = await service.get(own + cursor(["a"], { ...stranger, clientId }), { as: stranger });
      errorObject(answer, 400, "bellhop.http.InvalidParameter");
    }
    const foreign = await service.get(
      `${V1}/reservations?clientCode=ACME&propertyCode=LIS01&cursor=${cursor(["a"])}`,
      { as: stranger },
    );
    assert.ok([400, 403].includes(foreign.status) && !foreign.text.includes(SECRET_GUEST));
  });
});

describe("SQL and other languages in every parameter", () => {
  const hostile = [
    "' or '1'='1",
    "'; drop table bellhop.client; --",
    "') union select text from pg_catalog.pg_shadow --",
    "\\'; select pg_sleep(30); --",
    "$1",
    "$$",
    "{{7*7}}",
    "%",
    "_",
    "*",
    "..%2f..",
    "a\u0000b",
    "\u2028",
    "\u202e",
    "\ufeff",
    "null",
    "true",
    "NaN",
    "-1",
    "1e309",
    "infinity",
    "now()",
    "epoch",
    "[]",
    "{}",
    "__proto__",
  ];
  const parameters: Record<string, readonly string[]> = {
    reservations: [
      "clientCode",
      "propertyCode",
      "reservationId",
      "status",
      "from",
      "to",
      "modifiedSince",
      "asOf",
      "limit",
      "cursor",
    ],
    groups: [
      "clientCode",
      "propertyCode",
      "groupCode",
      "status",
      "from",
      "to",
      "modifiedSince",
      "asOf",
      "limit",
      "cursor",
    ],
    inventories: [
      "clientCode",
      "propertyCode",
      "occupancyDate",
      "from",
      "to",
      "modifiedSince",
      "asOf",
      "limit",
      "cursor",
    ],
    "reservations/history": ["clientCode", "propertyCode", "reservationId", "limit", "cursor"],
    requests: ["resource", "clientCode", "propertyCode", "outcome", "from", "to", "limit", "cursor"],
  };
  for (const [path, names] of Object.entries(parameters)) {
    test(`of ${path}: values, never code; 200 with nothing, 400 or 403, and no word of the database`, async () => {
      const before = await tables();
      for (const name of names) {
        for (const value of hostile) {
          const query = new URLSearchParams({ clientCode: "ACME", propertyCode: "LIS01" });
          if (path.endsWith("history")) query.set("reservationId", "a");
          query.set(name, value);
          const answer = await service.get(`${V1}/${path}?${query}`);
          assert.ok([200, 400, 403].includes(answer.status), `${name}=${value}: ${answer.status}`);
          if (answer.status === 400) errorObject(answer, 400, "bellhop.http.InvalidParameter");
          else if (answer.status === 200) assert.deepEqual(answer.json()["items"], [], `${name}=${value}`);
          else assert.equal(answer.bytes.length, 0);
        }
      }
      assert.deepEqual(await tables(), before);
    });
  }

  test("in the address of a request: 404", async () => {
    for (const value of [
      ...hostile,
      `${request}'--`,
      `${request} `,
      `{${request}}`,
      request.replaceAll("-", ""),
    ]) {
      const path = `${V1}/requests/${encodeURIComponent(value).replaceAll("'", "%27")}`;
      assert.ok([400, 404].includes((await service.get(path)).status), value);
    }
  });

  test("in records and headers: stored as text, returned as text", async () => {
    for (const value of hostile.filter((text) => !text.includes("\u0000"))) {
      const record = reservation(`R ${value}`, "2026-01-01T00:00:00Z", { status: value, remark: value });
      const ascii = /^[\x21-\x7e]+$/.test(value);
      const headers = ascii ? { "x-correlation-id": value, "idempotency-key": value } : {};
      await apply(service, "reservations", [record], { headers });
      const query = new URLSearchParams({
        clientCode: "ACME",
        propertyCode: "LIS01",
        reservationId: `R ${value}`,
      });
      const { items } = (await service.get(`${V1}/reservations?${query}`)).json() as {
        items: { record: object }[];
      };
      assert.deepEqual(items.length, 1, value);
      assert.ok(JSON.stringify(items).includes(JSON.stringify(value).slice(1, -1)), value);
    }
  });
});
