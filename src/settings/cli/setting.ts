import { type Noun, parsed, required, text, verb } from "../../cli/command.ts";
import { type Field, table } from "../../cli/output.ts";
import type { Opened } from "../../cli/session.ts";
import { UsageError } from "../../platform/errors/operator-error.ts";
import { changeSetting, listSettings, type SettingOf } from "../change-setting.ts";
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
  run: ({ client, property = null }, { output, session }) => {
    if (property !== null && client === undefined) throw new UsageError("--property needs --client.");
    return session.database(async ({ pool }) => {
      if (client === undefined) {
        const items = await listSettings(pool, null);
        const rows = items.map(({ clientCode, propertyCode, name, value, changedAt }) => [
          clientCode,
          propertyCode ?? "(all)",
          name,
          value,
          changedAt.toISOString(),
        ]);
        const heads = ["CLIENT CODE", "PROPERTY", "SETTING", "VALUE", "SINCE"];
        output.result(
          { items },
          table(heads, rows, "Nothing is set: defaults apply (bellhop setting set --help)."),
        );
        return;
      }
      const settings = await settingsOfClient(pool, client);
      const items = settings.effectiveOf(property);
      const rows = items.map(({ name, value, by }) => [name, value ?? "-", by]);
      output.result(
        { clientCode: client, propertyCode: property, settingsVersion: settings.version, items },
        [
          ...table(["SETTING", "VALUE", "SET BY"], rows),
          `Settings version ${settings.version} of ${client}.`,
        ],
      );
    });
  },
});

/** Whether any batch has named the property or client code: a misspelt code is set all the same. */
async function isKnown({ pool }: Opened, { clientCode, propertyCode }: SettingOf): Promise<boolean> {
  const { rowCount } = await pool.query(
    "select 1 from bellhop.property where client_code = $1 and ($2::text is null or property_code = $2) limit 1",
    [clientCode, propertyCode],
  );
  return rowCount === 1;
}

const set = verb({
  summary: "set a setting of a client code or of one property",
  list: NAMES,
  args: { ...NAMED, value: required(text("VALUE", "its value")) },
  options: PROPERTY,
  examples: ["setting set ACME timeZone Europe/Paris", "setting set ACME currency GBP --property LON01"],
  json: '{"clientCode", "propertyCode", "name", "value", "changed"}; "changed" is null where the value was set already',
  run: ({ clientCode, name, value, property = null }, { output, session }) => {
    const of: SettingOf = { clientCode, propertyCode: property, name };
    const kept = readSettingValue(settingNamed(name), value);
    return session.database(async (opened) => {
      const changed = await changeSetting(opened.pool, opened.who, of, kept);
      const text =
        changed === undefined
          ? `${name} of ${whose(of)} was ${kept} already.`
          : `${name} of ${whose(of)} is ${kept} (settings version ${changed.settingsVersion}).`;
      output.result({ ...of, value: kept, changed: changed ?? null }, text);
      if (!(await isKnown(opened, of)))
        output.message(`bellhop: no batch has named ${whose(of)} yet; if the code is misspelt, unset it.`);
    });
  },
});

const unset = verb({
  summary: "remove a setting: the client code's value or the default applies again",
  args: NAMED,
  options: PROPERTY,
  examples: ["setting unset ACME currency --property LON01"],
  json: '{"clientCode", "propertyCode", "name", "changed", "now"}',
  run: ({ clientCode, name, property = null }, { output, session }) => {
    const of: SettingOf = { clientCode, propertyCode: property, name };
    return session.database(async (opened) => {
      const changed = await changeSetting(opened.pool, opened.who, of, undefined);
      if (changed === undefined)
        return output.failure(`${name} is not set for ${whose(of)} (see bellhop setting list).`);
      const settings = await settingsOfClient(opened.pool, clientCode);
      const now = settings.effectiveOf(property).find((one) => one.name === name);
      output.result(
        { ...of, changed, now },
        `${name} of ${whose(of)} is ${now?.value ?? "none"} (source: ${now?.by}, settings version ${changed.settingsVersion}).`,
      );
      return 0;
    });
  },
});

export const command: Noun = { verbs: { list, set, unset } };
