import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { SettingsAnswer, StatusesAnswer } from "../../src/settings/console-answers.ts";
import { listStatuses } from "../../src/settings/status-mapping.ts";
import { type ConsoleSession, logInAsNew } from "../support/console-session.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let revenue: ConsoleSession;
before(async () => {
  service = await startTestService();
  revenue = await logInAsNew(service, "revenue", { role: "revenue", grants: ["ACME/*", "BASE/*"] });
});
after(() => service.stop());

/** Settings of properties P1, P2 …, as an operator could make them one by one. */
async function plantSettings(clientCode: string, name: string, value: string, count: number): Promise<void> {
  await service.pool.query(
    `insert into bellhop.property_setting (client_code, property_code, name, value)
    select $1, 'P' || n, $2, $3 from generate_series(1, $4::integer) as n`,
    [clientCode, name, value, count],
  );
}

const set = (clientCode: string, propertyCode: string | undefined, name: string, value: string) =>
  revenue.post("settings/set", { clientCode, propertyCode, name, value });

test("settings that every node keeps in memory are bounded for the properties of a client code", async () => {
  await plantSettings("ACME", "negativeCounts", "warn", 999);
  assert.equal((await set("ACME", "LAST", "negativeCounts", "refuse")).status, 200);
  const refused = await set("ACME", "MORE", "personalData", "strip");
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.text, /set personalData for the client code instead/);
  for (const [property, name, value] of [
    [undefined, "personalData", "strip"],
    ["MORE", "name", "Grand"],
  ] as const)
    assert.equal((await set("ACME", property, name, value)).status, 200);
  const changed = await set("ACME", "P7", "negativeCounts", "quarantine");
  assert.equal(changed.status, 200, "one that exists is changed");
});

test("so are all settings of a client code, of which a page reads those that it shows", async () => {
  await plantSettings("BASE", "city", "Lisbon", 20_000);
  const refused = await set("BASE", "MORE", "city", "Porto");
  assert.equal(refused.status, 422, refused.text);
  for (const [query, city] of [
    ["", null],
    ["&propertyCode=P7", "Lisbon"],
  ] as const) {
    const { settings } = await revenue.read<SettingsAnswer>(`settings?clientCode=BASE${query}`);
    assert.equal(settings.find(({ name }) => name === "city")?.value, city);
  }
});

test("status mappings of a client code are bounded, and a page counts a bounded number of statuses", async () => {
  await service.pool.query(
    `insert into bellhop.status_mapping (client_code, resource, status, deducts)
    select 'ACME', 'r', 'S' || n, true from generate_series(1, 1000) as n`,
  );
  const map = (status: string) =>
    revenue.post("statuses/set", { clientCode: "ACME", resource: "reservations", status, deducts: true });
  const refused = await map("MORE");
  assert.equal(refused.status, 422, refused.text);
  assert.match(refused.text, /ACME has 1000 status mappings/);
  assert.equal((await map("S1")).status, 200);
  assert.equal((await listStatuses(service.pool, "ACME")).length, 1_000);
  assert.equal((await listStatuses(service.pool, "ACME", 10)).length, 10);
  await service.pool.query(
    `insert into bellhop.status_mapping (client_code, resource, status, deducts)
    select 'ACME', 'g', 'G' || n, true from generate_series(1, 12000) as n`,
  );
  let total = 0;
  let cursor = "";
  do {
    const page: StatusesAnswer = await revenue.read(`statuses?clientCode=ACME&limit=1000${cursor}`);
    total += page.items.length;
    cursor = page.nextCursor === null ? "" : `&cursor=${encodeURIComponent(page.nextCursor)}`;
  } while (cursor !== "");
  assert.equal(total, 10_000);
});
