import assert from "node:assert/strict";
import { test } from "node:test";
import { readSettingValue, SETTINGS, SettingInputError, settingNamed } from "./setting-values.ts";

const GOOD: readonly (readonly [name: string, text: string, kept: string])[] = [
  ["occupancyBase", "available", "available"],
  ["timeZone", "europe/paris", "Europe/Paris"],
  ["timeZone", "Etc/GMT+2", "Etc/GMT+2"],
  ["businessDayEnd", "03:00", "03:00"],
  ["currency", "EUR", "EUR"],
  ["currency", " eur", "EUR"],
  ["weekend", "sat fri", "Fri,Sat"],
  ["weekend", "none", "none"],
  ["cadence.inventories", "24.50", "24.5"],
  ["cadence.groups", "none", "none"],
  ["name", " Hôtel du Parc ", "Hôtel du Parc"],
];
const BAD: readonly (readonly [name: string, text: string])[] = [
  ["occupancyBase", "rooms"],
  ["timeZone", "Europe/Nowhere"],
  ["timeZone", "+02:00"],
  ["timeZone", ""],
  ["businessDayEnd", "24:00"],
  ["businessDayEnd", "3:00"],
  ["businessDayEnd", "03:00\n"],
  ["currency", "€"],
  ["currency", "EUX"],
  ["currency", ""],
  ["currency", "EURO"],
  ["weekend", "Fri,Fri"],
  ["weekend", "Fri,Caturday"],
  ["weekend", ""],
  ["cadence.inventories", "0"],
  ["cadence.inventories", "0.000"],
  ["cadence.inventories", "-1"],
  ["cadence.inventories", "1e3"],
  ["cadence.inventories", "9999"],
  ["city", " "],
  ["name", "two\nlines"],
];

for (const [name, text, kept] of GOOD)
  test(`${name} accepts ${JSON.stringify(text)} as ${kept}`, () => {
    assert.equal(readSettingValue(settingNamed(name), text), kept);
  });

for (const [name, text] of BAD)
  test(`${name} refuses ${JSON.stringify(text)} and names valid values`, () => {
    assert.throws(
      () => readSettingValue(settingNamed(name), text),
      (error) => error instanceof SettingInputError && error.message.startsWith(`${name} takes `),
    );
  });

test("every default is a valid value, and an unknown name gets the list of settings", () => {
  for (const setting of SETTINGS)
    if (setting.fallback !== null)
      assert.equal(readSettingValue(setting, setting.fallback), setting.fallback);
  assert.throws(() => settingNamed("toString"), /the settings are occupancyBase, timeZone/);
});
