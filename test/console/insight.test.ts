import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { apply, inventory, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestClient, type TestService } from "../support/service.ts";

let service: TestService;
let session: ConsoleSession;
let reader: TestClient;
before(async () => {
  service = await startTestService();
  session = await logInAsNew(service, "anna");
  reader = await service.newClient({ scopes: ["insight:read"] });
  await apply(service, "reservations", [
    reservation("i1", "2026-01-01T00:00:00Z"),
    reservation("i2", "2026-01-02T00:00:00Z"),
  ]);
  await apply(service, "inventories", [
    inventory("2026-07-14", "2026-01-03T00:00:00Z"),
    inventory("2026-07-15", "2026-01-03T00:00:00Z"),
  ]);
});
after(() => service.stop());

const OF = "clientCode=ACME&propertyCode=LIS01";
const NIGHTS = `${OF}&from=2026-07-13&to=2026-07-18`;
const QUESTIONS = [
  `on-the-books?${NIGHTS}&by=roomType`,
  `pickup?${NIGHTS}&since=2026-01-01T12:00:00Z`,
  `pace?${NIGHTS}&daysBefore=5`,
  `blocks?${NIGHTS}`,
  `reconciliation?${NIGHTS}`,
  `reconciliation/night?${OF}&stayDate=2026-07-14`,
  `feed-health?${OF}`,
];

test("operators get the same insights as partners, as JSON and as CSV", async () => {
  for (const question of QUESTIONS) {
    const asPartner = await service.get(`/api/insight/v1/${question}`, { as: reader });
    assert.equal(asPartner.status, 200, `${question} ${asPartner.text}`);
    const asOperator = await session.read<Record<string, unknown>>(`insight/${question}`);
    const { readAt: _partner, ...reported } = asPartner.json() as Record<string, unknown>;
    const { readAt: _operator, ...same } = asOperator;
    assert.deepEqual(same, reported, question);
    const headers = { accept: "text/csv" };
    const sheet = await service.get(`/api/insight/v1/${question}`, { as: reader, headers });
    const own = await service.get(`/console/api/insight/${question}`, {
      as: null,
      headers: { ...headers, cookie: session.cookie },
    });
    assert.match(own.headers.get("content-type") ?? "", /^text\/csv/);
    assert.equal(own.text, sheet.text, question);
  }
  const books = await session.read<{ items: { stayDate: string; rooms: number }[] }>(
    `insight/${QUESTIONS[0]}`,
  );
  assert.deepEqual(
    books.items.map(({ stayDate, rooms }) => [stayDate, rooms]),
    [
      ["2026-07-14", 2],
      ["2026-07-15", 2],
      ["2026-07-16", 2],
    ],
  );
});

test("insights are available for any client code to an operator, and for none without a session", async () => {
  const other = `on-the-books?clientCode=OTHER&propertyCode=MAD01&from=2026-07-13&to=2026-07-18`;
  assert.equal((await service.get(`/api/insight/v1/${other}`, { as: reader })).status, 403);
  assert.deepEqual((await session.read<{ items: unknown[] }>(`insight/${other}`)).items, []);
  for (const question of QUESTIONS) {
    const without = await service.get(`/console/api/insight/${question}`, { as: null });
    assert.equal(without.status, 401);
    const byToken = await service.get(`/console/api/insight/${question}`, { as: reader });
    assert.equal(byToken.status, 401);
    // And a session is nothing where a token is asked for.
    const byCookie = await service.get(`/api/insight/v1/${question}`, {
      as: null,
      headers: { cookie: session.cookie },
    });
    assert.equal(byCookie.status, 401);
  }
  assert.equal((await session.get(`insight/on-the-books?${OF}&from=2026-07-13`)).status, 400);
});

test("pages of an insight use a cursor that is valid only for this operator", async () => {
  const path = `insight/on-the-books?${NIGHTS}&limit=2`;
  const first = await session.read<{ items: unknown[]; nextCursor: string }>(path);
  const second = await session.read<{ items: unknown[]; nextCursor: null }>(
    `${path}&cursor=${first.nextCursor}`,
  );
  assert.equal(first.items.length + second.items.length, 3);
  const stolen = await service.get(
    `/api/insight/v1/on-the-books?${NIGHTS}&limit=2&cursor=${first.nextCursor}`,
    {
      as: reader,
    },
  );
  assert.equal(stolen.status, 400);
});
