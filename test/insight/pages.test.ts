import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { apply, group, inventory, parameterMessage, reservation } from "../support/read-fixture.ts";
import { startTestService, type TestService } from "../support/service.ts";

const INSIGHTS = {
  blocks: { from: "2026-07-01", to: "2026-07-31" },
  reconciliation: { from: "2026-07-01", to: "2026-07-31" },
  "reconciliation/night": { stayDate: "2026-07-14" },
  "feed-health": {},
} as const;
type Name = keyof typeof INSIGHTS;
const NAMES = Object.keys(INSIGHTS) as Name[];

let service: TestService;
before(async () => {
  service = await startTestService();
  const stayOf = (roomTypeCode: string) => ({
    roomStays: [
      { arrivalDate: "2026-07-13", departureDate: "2026-07-16", roomTypeCode, groupBlockCode: "=G1" },
    ],
  });
  const types = ["DLX", "STD", "STE"];
  await apply(
    service,
    "reservations",
    types.map((type, at) => reservation(`r${at}`, "2026-06-01T00:00:00Z", stayOf(type))),
  );
  await apply(
    service,
    "inventories",
    ["13", "14"].map((day) =>
      inventory(`2026-07-${day}`, "2026-07-01T00:00:00Z", {
        roomTypeInventories: types.map((roomTypeCode) => ({
          roomTypeCode,
          roomTypeCapacity: 4,
          roomsSold: 1,
        })),
      }),
    ),
  );
  const groupBlocks = ["13", "14"].flatMap((day) =>
    types.map((roomTypeCode) => ({ occupancyDate: `2026-07-${day}`, roomTypeCode, blocks: 3 })),
  );
  for (const code of ["=G1", "G2"])
    await apply(service, "groups", [group(code, "2026-06-01T00:00:00Z", { groupBlocks })]);
});
after(() => service.stop());

const ask = (name: Name, more: Readonly<Record<string, string>> = {}, options = {}) => {
  const query = new URLSearchParams({
    clientCode: "ACME",
    propertyCode: "LIS01",
    ...INSIGHTS[name],
    ...more,
  });
  return service.get(`/api/insight/v1/${name}?${query}`, options);
};
const itemsOf = (answer: Record<string, unknown>) => (answer["items"] ?? answer["reservations"]) as object[];

test("pages of one item, put together, are the whole answer", async () => {
  for (const [name, more, count] of [
    ["blocks", {}, 5],
    ["blocks", { by: "roomType" }, 15],
    ["reconciliation", {}, 3],
    ["reconciliation", { by: "roomType" }, 9],
    ["reconciliation/night", {}, 3],
  ] as const) {
    const whole = (await ask(name, more)).json();
    assert.equal(whole["nextCursor"], null);
    assert.equal(itemsOf(whole).length, count, `${name} ${JSON.stringify(more)}`);
    const paged: object[] = [];
    const roomTypesOfPages: number[] = [];
    let cursor: unknown = "";
    for (let pages = 0; cursor !== null; pages += 1) {
      assert.ok(pages < 20);
      const at = cursor === "" ? {} : { cursor: String(cursor) };
      const page = (await ask(name, { ...more, limit: "1", ...at })).json();
      assert.ok(itemsOf(page).length <= 1);
      if (name === "reconciliation/night") roomTypesOfPages.push((page["roomTypes"] as object[]).length);
      paged.push(...itemsOf(page));
      cursor = page["nextCursor"];
    }
    assert.deepEqual(paged, itemsOf(whole));
    if (name === "reconciliation/night") assert.deepEqual(roomTypesOfPages, [3, 0, 0]);
  }
});

test("whoever has not the scope, or not the property, is refused with nothing", async () => {
  const reader = await service.newClient({ scopes: ["read"] });
  const foreign = await service.newClient({ grants: [{ clientCode: "OTHER", propertyCode: "*" }] });
  for (const name of NAMES) {
    assert.equal((await ask(name, {}, { as: null })).status, 401);
    for (const as of [reader, foreign]) {
      const { status, text } = await ask(name, {}, { as });
      assert.deepEqual([status, text], [403, ""]);
    }
  }
});

test("a property that no batch has named is empty and has no differing nights", async () => {
  for (const name of NAMES) {
    const answer = await ask(name, { propertyCode: "NOWHERE" });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(itemsOf(answer.json()), []);
  }
});

test("an unsupported grouping or parameter is refused with the valid values", async () => {
  assert.match(parameterMessage(await ask("blocks", { by: "channel" })), /by takes one of: none, roomType/);
  assert.match(parameterMessage(await ask("blocks", { holding: "maybe" })), /holding takes one of: yes, no/);
  assert.match(
    parameterMessage(await ask("reconciliation/night", { stayDate: "2026-02-30" })),
    /stayDate takes/,
  );
  assert.match(
    parameterMessage(await ask("feed-health", { asOf: "2026-07-01T00:00:00Z" })),
    /"asOf" is not known/,
  );
});

test("an instant by the clock of receipt has a watermark, and the settings version is reported", async () => {
  const answer = (await ask("reconciliation", { clock: "receipt", asOf: new Date().toISOString() })).json();
  // On Citus the parts of an append appear one by one, so there is none.
  assert.equal(typeof answer["watermark"], "string");
  assert.equal(answer["settingsVersion"], 0);
  assert.equal((await ask("reconciliation")).json()["watermark"], null);
});

test("an answer about the past states from when on data is complete, if retention of versions is limited", async () => {
  const asOf = new Date().toISOString();
  const none = (await ask("reconciliation", { asOf })).json();
  assert.equal("knownFrom" in none, false);
  await service.pool.query(
    `insert into bellhop.retention_horizon (client_code, resource, kind, known_from) values
      ('ACME', 'i', 'versions', '2026-03-02T00:00:00Z'), ('ACME', 'r', 'versions', '2026-03-01T00:00:00Z'),
      ('ACME', 'r', 'payloads', '2026-05-01T00:00:00Z'), ('OTHER', 'i', 'versions', '2026-05-01T00:00:00Z')`,
  );
  try {
    const knownFrom = "2026-03-02T00:00:00.000000Z";
    for (const name of ["reconciliation", "reconciliation/night", "blocks"] as const) {
      assert.equal((await ask(name, { asOf })).json()["knownFrom"], knownFrom, name);
      assert.equal("knownFrom" in (await ask(name)).json(), false, name);
    }
    const csv = await ask("blocks", { asOf }, { headers: { accept: "text/csv" } });
    assert.equal(csv.headers.get("x-known-from"), knownFrom);
    const codes = { clientCode: "ACME", propertyCode: "LIS01" };
    const days = { from: "2026-07-01", to: "2026-07-31", since: "2026-02-01T00:00:00Z" };
    const pickup = await service.get(`/api/insight/v1/pickup?${new URLSearchParams({ ...codes, ...days })}`);
    assert.equal(pickup.json()["knownFrom"], knownFrom, pickup.text);
  } finally {
    await service.pool.query("delete from bellhop.retention_horizon");
  }
});

test("every insight has CSV, in which no cell is a formula", async () => {
  const linesOf = async (name: Name, more = {}) => {
    const answer = await ask(name, more, { headers: { accept: "text/csv" } });
    assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/);
    return answer.text.trimEnd().split("\r\n");
  };
  const [heading, first] = await linesOf("blocks");
  assert.match(heading ?? "", /^stayDate,group,name,label,holds,cutoffDate,blocks,/);
  assert.match(first ?? "", /^2026-07-13,'=G1,/);
  assert.match((await linesOf("blocks", { by: "roomType" }))[0] ?? "", /^stayDate,group,roomType,/);
  assert.match((await linesOf("reconciliation"))[0] ?? "", /^stayDate,reported,/);
  assert.match((await linesOf("reconciliation/night"))[0] ?? "", /^reservationId,label,deducts,roomType,/);
  const feeds = await linesOf("feed-health");
  assert.equal(feeds.length, 4);
  assert.doesNotMatch(feeds[0] ?? "", /missingNights|unmappedLabels,/);
});
