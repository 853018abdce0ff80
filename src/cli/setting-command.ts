import { recordAudit } from "../auth/audit.ts";
import { withTransaction } from "../db/transaction.ts";
import {
  listSettings,
  type SettingChange,
  type SettingOf,
  setSetting,
  unsetSetting,
} from "../settings/change-setting.ts";
import { settingsOfClient } from "../settings/property-settings.ts";
import {
  checkCode,
  readSettingValue,
  SETTINGS,
  SettingInputError,
  settingNamed,
} from "../settings/setting-values.ts";
import { type CommandContext, openForCommand } from "./open-for-command.ts";
import { tableLines } from "./text-output.ts";
import {
  JSON_OPTION,
  readArgs,
  runVerb,
  shellContext,
  UsageError,
  type Verb,
  type VerbContext,
  type Verbs,
} from "./verb.ts";

const CHANGE_OPTIONS = { property: { type: "string" }, ...JSON_OPTION } as const;
const NAMES = `\n\nSettings, of a client code or (--property) of one of its properties over that:\n${SETTINGS.map(
  ({ name, takes, fallback }) => `    ${name}  ${takes}; by default ${fallback ?? "none"}`,
).join("\n")}`;

/** What a line gets wrong in codes, names and values is said as what it gets wrong elsewhere. */
function orUsage<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof SettingInputError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}

/** Codes and name of a line such as `ACME timeZone … --property PARIS01`, checked before a database is opened. */
function readOf(clientCode: string, name: string, property: string | undefined): SettingOf {
  return orUsage(() => {
    checkCode("client code", clientCode);
    if (property !== undefined) checkCode("property code", property);
    return { clientCode, propertyCode: property ?? null, name: settingNamed(name).name };
  });
}

const whoseText = ({ clientCode, propertyCode }: SettingOf) =>
  propertyCode === null ? clientCode : `${clientCode}/${propertyCode}`;

function list(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop setting list [--client CLIENTCODE [--property PROPERTYCODE]] [--json]

With a client code: what holds for it (or for the property), and who says so. Without: all that is set.`,
    async run(args, { out }) {
      const options = { client: { type: "string" }, ...CHANGE_OPTIONS } as const;
      const { client, property, json } = readArgs({ args: [...args], options }).values;
      if (property !== undefined && client === undefined)
        throw new UsageError("--property needs the --client that it belongs to.");
      for (const code of [client, property]) if (code !== undefined) orUsage(() => checkCode("code", code));
      return openForCommand(environment, async (context) => {
        if (client === undefined) await listAll(context, out, json);
        else await listEffective(context, out, { client, property: property ?? null, json });
        return 0;
      });
    },
  };
}

async function listAll(
  { database }: CommandContext,
  out: (line: string) => void,
  json: boolean,
): Promise<void> {
  const items = await listSettings(database.pool, null);
  if (json) out(JSON.stringify({ items }));
  else if (items.length === 0) out("Nothing is set: the defaults hold (bellhop setting set --help).");
  else {
    const rows = items.map(({ clientCode, propertyCode, name, value, changedAt }) => [
      ...[clientCode, propertyCode ?? "(all)", name, value, changedAt.toISOString()],
    ]);
    for (const line of tableLines(["CLIENT CODE", "PROPERTY", "SETTING", "VALUE", "SINCE"], rows)) out(line);
  }
}

async function listEffective(
  { database }: CommandContext,
  out: (line: string) => void,
  of: { readonly client: string; readonly property: string | null; readonly json: boolean },
): Promise<void> {
  const settings = await settingsOfClient(database.pool, of.client);
  const items = settings.effectiveOf(of.property);
  if (of.json) {
    const whose = { clientCode: of.client, propertyCode: of.property };
    out(JSON.stringify({ ...whose, settingsVersion: settings.version, items }));
    return;
  }
  const rows = items.map(({ name, value, by }) => [name, value ?? "-", by]);
  for (const line of tableLines(["SETTING", "VALUE", "SET BY"], rows)) out(line);
  out(`Version ${settings.version} of the settings of ${of.client}.`);
}

/** A change and its audit entry, in one transaction. */
function change(
  { database, who }: CommandContext,
  what: string,
  work: (on: Parameters<typeof setSetting>[0]) => Promise<SettingChange | undefined>,
): Promise<SettingChange | undefined> {
  return withTransaction(database.pool, async (connection) => {
    const changed = await work(connection);
    if (changed !== undefined) await recordAudit(connection, { who, what, detail: { ...changed } });
    return changed;
  });
}

/** Whether a batch has named the property, or any of the client code: a code that is misspelt is set all the same. */
async function isKnown(
  { database }: CommandContext,
  { clientCode, propertyCode }: SettingOf,
): Promise<boolean> {
  const { rowCount } = await database.pool.query(
    "select 1 from bellhop.property where client_code = $1 and ($2::text is null or property_code = $2) limit 1",
    [clientCode, propertyCode],
  );
  return rowCount === 1;
}

function set(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: `bellhop setting set CLIENTCODE NAME VALUE [--property PROPERTYCODE] [--json]${NAMES}`,
    async run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: CHANGE_OPTIONS, allowPositionals: true });
      const [clientCode, name, value, ...more] = line.positionals;
      if (clientCode === undefined || name === undefined || value === undefined || more.length > 0)
        throw new UsageError("A client code, a setting and one value are needed.");
      const of = readOf(clientCode, name, line.values.property);
      const kept = orUsage(() => readSettingValue(settingNamed(name), value));
      return openForCommand(environment, async (context) => {
        const changed = await change(context, "set-setting", (on) => setSetting(on, of, kept));
        if (line.values.json) out(JSON.stringify({ ...of, value: kept, changed: changed ?? null }));
        else if (changed === undefined) out(`${name} of ${whoseText(of)} was ${kept} already.`);
        else out(`${name} of ${whoseText(of)} is ${kept} (version ${changed.settingsVersion}).`);
        if (!(await isKnown(context, of)))
          err(`bellhop: no batch has named ${whoseText(of)} yet; if that is a slip, unset it.`);
        return 0;
      });
    },
  };
}

function unset(environment: NodeJS.ProcessEnv): Verb {
  return {
    usage: "bellhop setting unset CLIENTCODE NAME [--property PROPERTYCODE] [--json]",
    async run(args, { out, err }) {
      const line = readArgs({ args: [...args], options: CHANGE_OPTIONS, allowPositionals: true });
      const [clientCode, name, ...more] = line.positionals;
      if (clientCode === undefined || name === undefined || more.length > 0)
        throw new UsageError("A client code and a setting are needed.");
      const of = readOf(clientCode, name, line.values.property);
      return openForCommand(environment, async (context) => {
        const changed = await change(context, "unset-setting", (on) => unsetSetting(on, of));
        if (changed === undefined) {
          err(`bellhop: ${name} is not set for ${whoseText(of)} (see bellhop setting list).`);
          return 1;
        }
        const now = (await settingsOfClient(context.database.pool, of.clientCode))
          .effectiveOf(of.propertyCode)
          .find((one) => one.name === name);
        if (line.values.json) out(JSON.stringify({ ...of, changed, now }));
        else
          out(
            `${name} of ${whoseText(of)} is ${now?.value ?? "none"} (by ${now?.by}, version ${changed.settingsVersion}).`,
          );
        return 0;
      });
    },
  };
}

/** `bellhop setting list|set|unset`: what an operator sets of client codes and properties. Answers the exit code. */
export function settingCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  context: VerbContext = shellContext(environment),
): Promise<number> {
  const verbs: Verbs = { list: list(environment), set: set(environment), unset: unset(environment) };
  return runVerb("setting", verbs, args, context);
}
