import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { CursorCipher } from "../../src/platform/http/page-cursors.ts";
import { apply, LISBON, parameterMessage, readPage, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
before(async () => {
  service = await startTestService();
  await apply(
    service,
    "reservations",
    ["a", "b", "c"].map((id) => reservation(id, "2026-01-01T00:00:00Z")),
  );
});
after(() => service.stop());

const V1 = "/api/public/v1";

describe("a parameter that cannot be used", () => {
  const cases: readonly [string, RegExp][] = [
    ["reservations", /^clientCode is required/],
    ["reservations?clientCode=ACME", /^propertyCode is required/],
    [
      `reservations?${LISBON}&colour=blue`,
      /"colour" is not known; this address takes: clientCode, propertyCode/,
    ],
    [`reservations?${LISBON}&__proto__=1`, /"__proto__" is not known/],
    [`reservations?${LISBON}&occupancyDate=2026-01-01`, /"occupancyDate" is not known/],
    [`inventories?${LISBON}&status=X`, /"status" is not known/],
    [`reservations?${LISBON}&clientCode=ACME`, /^clientCode must be given once/],
    [`reservations?${LISBON}&status=%E0%A4`, /^status is not percent-encoded/],
    [`reservations?${LISBON}&%E0%A4=1`, /is not known/],
    [`reservations?${LISBON}&status=`, /^status takes 1 to 128 characters/],
    [`reservations?${LISBON}&reservationId=%00`, /^reservationId takes 1 to 128 characters/],
    [`reservations?${LISBON}&reservationId=${"x".repeat(129)}`, /^reservationId takes/],
    [`reservations?clientCode=${"%F0%9F%98%80".repeat(129)}&propertyCode=x`, /^clientCode takes/],
    [`reservations?${LISBON}&from=2026-02-29`, /^from takes a date as YYYY-MM-DD/],
    [`reservations?${LISBON}&to=2026-1-1`, /^to takes a date/],
    [`reservations?${LISBON}&from=2026-01-02&to=2026-01-01`, /^from must not be after to/],
    [`inventories?${LISBON}&occupancyDate=today`, /^occupancyDate takes a date/],
    [`reservations?${LISBON}&modifiedSince=2026-01-01`, /^modifiedSince takes a UTC time/],
    [`reservations?${LISBON}&asOf=2026-01-01T00:00:00%2B01:00`, /^asOf takes a UTC time/],
    [`reservations?${LISBON}&limit=0`, /^limit takes a whole number from 1 to 1000/],
    [`reservations?${LISBON}&limit=1001`, /^limit takes/],
    [`reservations?${LISBON}&limit=1e2`, /^limit takes/],
    [`reservations?${LISBON}&cursor=`, /^cursor takes the nextCursor/],
    [`reservations?${LISBON}&cursor=%27%3B--`, /^cursor takes/],
    [`reservations/history?${LISBON}`, /^reservationId is required/],
    [`reservations/history?${LISBON}&reservationId=a&asOf=2026-01-01T00:00:00Z`, /"asOf" is not known/],
    ["requests?resource=rooms", /^resource takes one of: inventories, reservations, groups/],
    ["requests?outcome=lost", /^outcome takes one of: applied/],
    [
      "requests/01999999-0000-7000-8000-000000000000?outcome=lost",
      /^outcome takes one of: all, applied, unchanged, stale, duplicate, quarantined, discarded, rejected/,
    ],
    ["requests?outcome=aplied", / \(did you mean applied\?\)\.$/],
    ["requests?out_come=applied", /"out_come" is not known \(did you mean outcome\?\); this address takes/],
    ["requests?clientCode=ACME", /^clientCode and propertyCode must be given together/],
    ["requests?from=2026-01-01T00:00:01Z&to=2026-01-01T00:00:00.999999Z", /^from must not be after to/],
    [`requests?limit=${"1".repeat(9_000)}`, /longer than 8192/],
  ];
  for (const [address, message] of cases) {
    test(`is named: ${address.slice(0, 90)}`, async () => {
      assert.match(parameterMessage(await service.get(`${V1}/${address}`)), message);
    });
  }
});

describe("a cursor", () => {
  test("continues only its own query, and an invented cursor is refused", async () => {
    const page = await readPage(service, `reservations?${LISBON}&limit=1`);
    const cursor = String(page.nextCursor);
    const other = await service.newClient();
    const next = await readPage(service, `reservations?${LISBON}&limit=2&cursor=${cursor}`);
    assert.deepEqual(
      next.items.map((item) => item["reservationId"]),
      ["b", "c"],
    );
    const refused: [string, typeof other | undefined][] = [
      [`reservations?${LISBON}&cursor=${cursor}`, other],
      [`reservations?${LISBON}&status=CONFIRMED&cursor=${cursor}`, undefined],
      [`reservations?${LISBON}&asOf=2026-01-01T00:00:00Z&cursor=${cursor}`, undefined],
      [`groups?${LISBON}&cursor=${cursor}`, undefined],
      [`reservations/history?${LISBON}&reservationId=a&cursor=${cursor}`, undefined],
      [`requests?cursor=${cursor}`, undefined],
      [`reservations?${LISBON}&cursor=${cursor}A`, undefined],
      [`reservations?${LISBON}&cursor=${cursor.slice(0, -2)}`, undefined],
      [`reservations?${LISBON}&cursor=${"A".repeat(3_000)}`, undefined],
    ];
    // Encrypted with the service's own key for this very question, and of another shape than a position of this list has.
    const key = await service.service.authenticator.internals.cursorKey();
    const filters = JSON.stringify([
      ["clientCode", "ACME"],
      ["propertyCode", "LIS01"],
    ]);
    const question = { clientId: service.client.clientId, path: `${V1}/reservations`, filters };
    const own = new CursorCipher(key, question);
    const cursorOf = (value: unknown) => own.encrypt(Buffer.from(JSON.stringify(value)));
    const taken = await service.get(`${V1}/reservations?${LISBON}&limit=1&cursor=${cursorOf(["a"])}`);
    assert.equal(taken.status, 200, "these are the service's key and question");
    const shapeless = [[], [1], ["a\0"], ["a", "b"], [""], [{ a: 1 }], [["a"]], { 0: "a" }, null, "x"];
    for (const value of [...shapeless, ["x".repeat(200)], ["\ud800"]])
      refused.push([`reservations?${LISBON}&limit=1&cursor=${cursorOf(value)}`, undefined]);
    const unencrypted = Buffer.from(JSON.stringify(["a"])).toString("base64url");
    refused.push([`reservations?${LISBON}&limit=1&cursor=${unencrypted}`, undefined]);
    for (const [address, as] of refused) {
      const answer = await service.get(`${V1}/${address}`, as === undefined ? {} : { as });
      assert.match(parameterMessage(answer), /^cursor takes the nextCursor/, address);
    }
  });
});

describe("a property that was not granted", () => {
  test("is 403 with zero bytes, the same whether it exists or not, and leaves an audit entry", async () => {
    const other = await service.newClient({ grants: [{ clientCode: "ACME", propertyCode: "OTHER" }] });
    const addresses = [
      "reservations?",
      "groups?",
      "inventories?",
      "requests?",
      "reservations/history?reservationId=a&",
    ];
    for (const address of addresses) {
      const answers = await Promise.all(
        ["LIS01", "NOWHERE"].map((code) =>
          service.get(`${V1}/${address}clientCode=ACME&propertyCode=${code}`, { as: other }),
        ),
      );
      for (const [at, answer] of answers.entries()) {
        assert.equal(answer.status, 403);
        assert.equal(answer.bytes.length, 0);
        assert.equal(
          answer.headers.get("www-authenticate"),
          `Bearer error="insufficient_scope", error_description="The request names the property ACME/${["LIS01", "NOWHERE"][at]}, which is not granted to this client."`,
        );
      }
      const own = await readPage(service, `${address}clientCode=ACME&propertyCode=OTHER`, { as: other });
      assert.deepEqual(own, { items: [], nextCursor: null });
    }
    const { rows } = await service.pool.query(
      "select count(*)::integer as count from bellhop.audit_entry where client_id = $1 and what = 'refuse-foreign-property'",
      [other.clientId],
    );
    assert.equal(rows[0]?.count, 2 * addresses.length);
  });

  test("is 401 without a token and 403 without the scope read", async () => {
    const writer = await service.newClient({ scopes: ["reservations:write"] });
    for (const address of [
      `reservations?${LISBON}`,
      "requests",
      "requests/01999999-0000-7000-8000-000000000000",
      `groups/history?${LISBON}`,
    ]) {
      assert.equal((await service.get(`${V1}/${address}`, { as: null })).status, 401);
      const answer = await service.get(`${V1}/${address}`, { as: writer });
      assert.deepEqual([answer.status, answer.bytes.length], [403, 0]);
    }
  });
});

describe("HEAD and other methods", () => {
  test("HEAD responds like GET without a body, and other methods are 405 with Allow", async () => {
    const page = await readPage(service, "requests?limit=1");
    const requestId = page.items[0]?.["requestId"];
    for (const address of [
      `reservations?${LISBON}`,
      `reservations/history?${LISBON}&reservationId=a`,
      "requests",
      `requests/${requestId}`,
    ]) {
      const head = await service.send("HEAD", `${V1}/${address}`);
      assert.deepEqual([head.status, head.bytes.length], [200, 0], address);
      assert.equal(head.headers.get("cache-control"), "no-store");
      assert.equal(head.headers.get("content-type"), "application/json; charset=utf-8");
    }
    assert.equal((await service.send("HEAD", `${V1}/requests/nope`)).status, 404);
    const refused = await service.send("DELETE", `${V1}/requests`);
    assert.equal(refused.status, 405);
    assert.equal(refused.headers.get("allow"), "GET, HEAD");
    assert.equal((await service.send("PUT", `${V1}/reservations`)).headers.get("allow"), "GET, HEAD, POST");
  });
});
