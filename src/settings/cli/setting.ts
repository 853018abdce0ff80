import { type Noun, parsed, required, text, verb } from "../../cli/command.ts";
import { type Columns, type Field, itemTable, moment } from "../../cli/output.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import {
  changeSetting,
  isKnown,
  listSettings,
  type SettingOf,
  type StoredSetting,
} from "../change-setting.ts";
import { settingsOfClient } from "../property-settings.ts";
import { checkCode, readSettingValue, SETTINGS, settingNamed } from "../setting-values.ts";

const NAMES = {
  title: "Settings",
  items: SETTINGS.map(
    ({ name, takes, fallback }): Field => [name, `${takes}; default: ${fallback ?? "none"}`],
  ),
};

const code = (value: string, what: string, help: string) =>
  parsed(value, help, (given) => {
    checkCode(what, given);
    return given;
  });

const NAMED = {
  clientCode: required(code("CLIENTCODE", "client code", "the client code")),
  name: required(parsed("SETTING", "the setting", (given) => settingNamed(given).name)),
};
const PROPERTY = {
  property: code("PROPERTYCODE", "property code", "one property instead of the whole client code"),
};

const whose = ({ clientCode, propertyCode }: SettingOf) =>
  propertyCode === null ? clientCode : `${clientCode}/${propertyCode}`;

const list = verb({
  summary: "list settings",
  details: "With --client: the values in effect, and where each is set. Without: everything that is set.",
  options: { client: code("CLIENTCODE", "client code", "the client code"), ...PROPERTY },
  examples: ["setting list", "setting list --client ACME --property PAR01"],
  json: '{"items": [{"clientCode", "propertyCode", "name", "value", "changedAt"}]}; with --client {"clientCode", "propertyCode", "settingsVersion", "items": [{"name", "value", "by"}]}',
  check: ({ client, property }) => {
    if (property !== undefined && client === undefined) throw new UsageError("--property needs --client.");
  },
  async database({ client, property = null }, { pool }, { output }) {
    if (client === undefined) {
      const items = await listSettings(pool, null);
      const columns: Columns<StoredSetting> = {
        "CLIENT CODE": "clientCode",
        PROPERTY: ({ propertyCode }) => propertyCode ?? "(all)",
        SETTING: "name",
        VALUE: "value",
        SINCE: ({ changedAt }) => moment(changedAt),
      };
      const empty = "Nothing is set: defaults apply (bellhop setting set --help).";
      output.result({ items }, itemTable(columns, items, empty));
      return;
    }
    const { version, effectiveOf } = await settingsOfClient(pool, client);
    const items = effectiveOf(property);
    output.result({ clientCode: client, propertyCode: property, settingsVersion: version, items }, [
      ...itemTable({ SETTING: "name", VALUE: "value", "SET BY": "by" }, items),
      `Settings version ${version} of ${client}.`,
    ]);
  },
});

const set = verb({
  summary: "set a setting of a client code or of one property",
  list: NAMES,
  args: { ...NAMED, value: required(text("VALUE", "its value")) },
  options: PROPERTY,
  examples: ["setting set ACME timeZone Europe/Paris", "setting set ACME currency GBP --property LON01"],
  json: '{"clientCode", "propertyCode", "name", "value", "changed"}; "changed" is null if the value was already set',
  check: ({ name, value }) => void readSettingValue(settingNamed(name), value),
  async database({ clientCode, name, value, property = null }, opened, { output }) {
    const of: SettingOf = { clientCode, propertyCode: property, name };
    const kept = readSettingValue(settingNamed(name), value);
    const changed = await changeSetting(opened.pool, opened.who, of, kept);
    const text =
      changed === undefined
        ? `${name} of ${whose(of)} was ${kept} already.`
        : `${name} of ${whose(of)} is ${kept} (settings version ${changed.settingsVersion}).`;
    output.result({ ...of, value: kept, changed: changed ?? null }, text);
    if (!(await isKnown(opened.pool, of)))
      output.message(`bellhop: no batch has named ${whose(of)} yet; if the code is misspelt, unset it.`);
  },
});

const unset = verb({
  summary: "remove a setting: the client code's value or the default applies again",
  args: NAMED,
  options: PROPERTY,
  examples: ["setting unset ACME currency --property LON01"],
  json: '{"clientCode", "propertyCode", "name", "changed", "now"}',
  async database({ clientCode, name, property = null }, { pool, who }, { output }) {
    const of: SettingOf = { clientCode, propertyCode: property, name };
    const changed = await changeSetting(pool, who, of, undefined);
    if (changed === undefined)
      return output.failure(`${name} is not set for ${whose(of)} (see bellhop setting list).`);
    const settings = await settingsOfClient(pool, clientCode);
    const now = settings.effectiveOf(property).find((one) => one.name === name);
    output.result(
      { ...of, changed, now },
      `${name} of ${whose(of)} is ${now?.value ?? "none"} (source: ${now?.by}, settings version ${changed.settingsVersion}).`,
    );
    return 0;
  },
});

export const command: Noun = { verbs: { list, set, unset } };
