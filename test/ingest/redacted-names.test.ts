import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setSetting, unsetSetting } from "../../src/settings/change-setting.ts";
import { reservationRecord } from "../support/records.ts";
import { searchEverywhere } from "../support/search-everywhere.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { until, untilFound } from "../support/until.ts";

const WAIT_MS = 60_000;
const SETTING = { clientCode: "ACME", propertyCode: null, name: "personalData" };

let service: TestService;
before(async () => {
  service = await startTestService();
  await setSetting(service.pool, SETTING, "strip");
});
after(() => service.stop());

let minute = 0;
function guest(name: string, propertyCode = "LON01") {
  minute += 1;
  const lastModifiedDateTime = new Date(Date.UTC(2026, 2, 1, 0, minute)).toISOString();
  const profiles = [{ id: "P-1", name, profileType: "GUEST" }];
  return reservationRecord({ propertyCode, lastModifiedDateTime, profiles });
}

async function push(record: object, headers = {}) {
  const { propertyCode } = record as { propertyCode: string };
  const whole = [record, reservationRecord({ propertyCode, reservationId: `R-${minute}-other` })];
  const answer = await service.post("reservations", JSON.stringify(whole), { headers });
  assert.equal(answer.status, 202, answer.text);
  return untilFound(async () => {
    const { rows } = await service.pool.query<{ outcomes: string }>(
      "select outcomes from bellhop.request_outcome where request_id = $1",
      [answer.json()["requestId"]],
    );
    return rows[0]?.outcomes;
  }, WAIT_MS);
}

async function nameOf(propertyCode: string): Promise<string | undefined> {
  const { text } = await service.get(
    `/api/public/v1/reservations?clientCode=ACME&propertyCode=${propertyCode}`,
  );
  return /"id":"P-1","name":"([^"]*)"/.exec(text)?.[1];
}

test("a name is hashed before it is stored: an equal one is unchanged, another one is a change", async () => {
  assert.equal(await push(guest("Berta Bussard")), "aa");
  assert.deepEqual(await searchEverywhere(service.pool, "Bussard"), []);
  const hashed = await nameOf("LON01");
  assert.match(hashed ?? "", /^hash:[A-Za-z0-9_-]{22}$/);
  assert.equal(await push(guest("Berta Bussard")), "ua");
  assert.equal(await nameOf("LON01"), hashed);
  assert.equal(await push(guest("Berta Busard")), "aa");
  assert.notEqual(await nameOf("LON01"), hashed);
});

test("of a rejected record only the identity is stored", async () => {
  const refused = { ...guest("Berta Bussard"), status: 7, profiles: { name: "Berta Bussard" } };
  assert.equal(await push(refused, { prefer: "handling=lenient" }), "a");
  // Without a code nobody can tell whether it is a hotel's whose names are redacted.
  const nobodys = { ...guest("Berta Bussard"), clientCode: undefined };
  assert.equal(await push(nobodys, { prefer: "handling=lenient" }), "a");
  assert.deepEqual(await searchEverywhere(service.pool, "Bussard"), []);
});

test("a property may keep names that its client code redacts, and every node applies a change while batches arrive", async () => {
  await setSetting(service.pool, { ...SETTING, propertyCode: "PAR01" }, "keep");
  await until(async () => {
    await push(guest("Carla Condor", "PAR01"));
    return (await nameOf("PAR01")) === "Carla Condor";
  }, WAIT_MS);
  await unsetSetting(service.pool, SETTING);
  await until(async () => {
    await push(guest("Dora Drossel"));
    return (await nameOf("LON01")) === "Dora Drossel";
  }, WAIT_MS);
});
