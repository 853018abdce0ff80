import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { holdPrivacyVersion, loadRedactionList, readPrivacyVersion } from "../../src/ingest/redact.ts";
import { type SettingOf, setSetting, unsetSetting } from "../../src/settings/change-setting.ts";
import { settingsOf, settingsOfClient } from "../../src/settings/property-settings.ts";
import { mapStatus, unmapStatus } from "../../src/settings/status-mapping.ts";
import { bellhop } from "../support/command.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let database: TestDatabase;
before(async () => {
  database = await createTestDatabase();
});
after(() => database.drop());

const of = (clientCode: string, propertyCode: string | null, name: string): SettingOf => ({
  clientCode,
  propertyCode,
  name,
});
const versionOf = async (clientCode: string) => (await settingsOf(database.pool, clientCode, "P1")).version;

/** Runs `bellhop setting …`. */
const run = (...args: string[]) => bellhop(["setting", ...args], { DATABASE_URL: database.url });

test("where nothing is set the defaults hold, under version 0", async () => {
  assert.deepEqual(await settingsOf(database.pool, "NEW", "P1"), {
    version: 0,
    occupancyBase: "capacity",
    timeZone: "UTC",
    businessDayEnd: "00:00",
    currency: null,
    groupHierarchy: "included",
    name: null,
    city: null,
    cadence: { inventories: 24, reservations: 24, groups: null },
  });
});

test("a property's own setting overrides its client code's, which overrides the default", async () => {
  const { pool } = database;
  await setSetting(pool, of("CHAIN", null, "timeZone"), "Europe/Lisbon");
  await setSetting(pool, of("CHAIN", "P1", "timeZone"), "Europe/Madrid");
  await setSetting(pool, of("CHAIN", "P1", "cadence.groups"), "0.5");
  await setSetting(pool, of("CHAIN", null, "cadence.inventories"), "none");
  const settings = await settingsOfClient(pool, "CHAIN");
  assert.deepEqual(
    ["P1", "P2", null].map((code) => [settings.of(code).timeZone, settings.of(code).cadence.groups]),
    [
      ["Europe/Madrid", 0.5],
      ["Europe/Lisbon", null],
      ["Europe/Lisbon", null],
    ],
  );
  assert.equal(settings.of("P2").cadence.inventories, null);
  assert.deepEqual(await settingsOf(pool, "CHAIN", "P1"), settings.of("P1"));
  assert.equal((await settingsOf(pool, "OTHER", "P1")).timeZone, "UTC");
  await unsetSetting(pool, of("CHAIN", "P1", "timeZone"));
  assert.equal((await settingsOf(pool, "CHAIN", "P1")).timeZone, "Europe/Lisbon");
});

test("every change raises the client code's version by one, and what changes nothing does not", async () => {
  const { pool } = database;
  const walkIn = { clientCode: "RISE", resource: "reservations", status: "WALK IN" } as const;
  const steps: (() => Promise<unknown>)[] = [
    () => setSetting(pool, of("RISE", null, "currency"), "EUR"),
    () => setSetting(pool, of("RISE", "P9", "currency"), "USD"),
    () => mapStatus(pool, walkIn, true),
    () => mapStatus(pool, walkIn, false),
    () => unmapStatus(pool, walkIn),
    () => unsetSetting(pool, of("RISE", "P9", "currency")),
  ];
  for (const [place, step] of steps.entries()) {
    await step();
    assert.equal(await versionOf("RISE"), place + 1);
  }
  assert.equal(await setSetting(pool, of("RISE", null, "currency"), "EUR"), undefined);
  assert.equal(await unsetSetting(pool, of("RISE", "P9", "currency")), undefined);
  await mapStatus(pool, walkIn, true);
  await mapStatus(pool, walkIn, true);
  assert.equal(await unmapStatus(pool, { ...walkIn, status: "OTHER" }), false);
  assert.equal(await versionOf("RISE"), steps.length + 1);
  assert.equal(await versionOf("OTHER"), 0);
});

test("changes that are made at the same time each have a version of their own", async () => {
  const hours = Array.from({ length: 8 }, (_, place) => `P${place}`);
  const changes = await Promise.all(
    hours.map((code) => setSetting(database.pool, of("RACE", code, "cadence.groups"), "12")),
  );
  const versions = changes.map((change) => change?.settingsVersion ?? 0).sort((one, other) => one - other);
  assert.deepEqual(versions, [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("an invalid setting is refused with the valid ones", async () => {
  const { pool } = database;
  await assert.rejects(setSetting(pool, of("BAD", null, "timezone"), "UTC"), /Unknown setting "timezone"/);
  await assert.rejects(setSetting(pool, of("BAD", null, "timeZone"), "Mars/Base"), /takes an IANA time zone/);
  await assert.rejects(
    setSetting(pool, of("BAD", "", "timeZone"), "UTC"),
    /A property code must have 1 to 128/,
  );
  assert.equal(await versionOf("BAD"), 0);
});

test("the command sets, lists and removes, and each change leaves an audit entry", async () => {
  const done = await run("set", "CLI", "timeZone", "europe/paris", "--property", "P1");
  assert.equal(done.out, "timeZone of CLI/P1 is Europe/Paris (settings version 1).");
  assert.match(done.err, /no batch has named CLI\/P1 yet/);
  assert.match(
    (await run("set", "CLI", "currency", "EUR")).out,
    /^currency of CLI is EUR \(settings version 2\)\.$/,
  );
  assert.match((await run("set", "CLI", "currency", "EUR")).out, /was EUR already/);
  const listed = JSON.parse((await run("list", "--client", "CLI", "--property", "P1", "--json")).out);
  assert.equal(listed.settingsVersion, 2);
  assert.deepEqual(
    listed.items.map(({ name, value, by }: Record<string, unknown>) => `${name} ${value} ${by}`).slice(0, 4),
    [
      "occupancyBase capacity default",
      "timeZone Europe/Paris property",
      "businessDayEnd 00:00 default",
      "currency EUR client",
    ],
  );
  assert.match((await run("list", "--client", "CLI")).out, /timeZone +UTC +default/);
  assert.match((await run("list")).out, /CLI +P1 +timeZone +Europe\/Paris/);
  const undone = await run("unset", "CLI", "timeZone", "--property", "P1");
  assert.equal(undone.out, "timeZone of CLI/P1 is UTC (source: default, settings version 3).");
  const missing = await run("unset", "CLI", "timeZone", "--property", "P1");
  assert.deepEqual([missing.code, missing.out], [1, ""]);
  assert.match(missing.err, /timeZone is not set for CLI\/P1/);
  const { rows } = await database.pool.query<{ what: string; detail: Record<string, unknown> }>(
    "select what, detail from bellhop.audit_entry where detail ->> 'clientCode' = 'CLI' order by audit_id",
  );
  assert.deepEqual(
    rows.map(({ what, detail }) => [
      what,
      detail["name"],
      detail["before"],
      detail["after"],
      detail["settingsVersion"],
    ]),
    [
      ["set-setting", "timeZone", null, "Europe/Paris", 1],
      ["set-setting", "currency", null, "EUR", 2],
      ["unset-setting", "timeZone", "Europe/Paris", null, 3],
    ],
  );
});

// An operator of one property could otherwise change one all the time.
test("settings for records that arrive apply to them, and do not hold up messages made of earlier ones", async () => {
  const { pool } = database;
  for (const name of ["personalData", "negativeCounts"]) {
    const value = name === "personalData" ? "strip" : "refuse";
    for (const change of [
      () => setSetting(pool, of("ARRIVES", "P1", name), value),
      () => unsetSetting(pool, of("ARRIVES", "P1", name)),
    ]) {
      const held = await readPrivacyVersion(pool);
      const { version } = await loadRedactionList(pool);
      assert.notEqual(await change(), undefined);
      assert.equal(await holdPrivacyVersion(pool, held), true);
      assert.notEqual((await loadRedactionList(pool)).version, version);
    }
  }
});
