import type pg from "pg";
import { recordAudit } from "../identity/audit.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { InputError } from "../platform/errors/operator-error.ts";
import { checkCode, readSettingValue, type SettingName, settingNamed } from "./setting-values.ts";

/** Stored settings of one client code or of all: those of the client code first, then of its properties. */
const listStatement = namedStatement(
  "list-settings",
  `select client_code as "clientCode", property_code as "propertyCode", name, value, changed_at as "changedAt"
  from bellhop.property_setting
  where $1::text is null or client_code = $1
  order by client_code, property_code nulls first, name`,
);
const isKnownStatement = namedStatement(
  "is-code-known",
  `select from bellhop.property where client_code = $1 and ($2::text is null or property_code = $2)
  union all select from bellhop.client_grant where client_code = $1 and ($2::text is null or property_code = $2)
  limit 1`,
);
const setStatement = readStatement(new URL("./sql/set-setting.sql", import.meta.url));
const unsetStatement = readStatement(new URL("./sql/unset-setting.sql", import.meta.url));

/** Identifies a setting of a client code or property. */
export interface SettingOf {
  readonly clientCode: string;
  /** Null: for all properties of the client code without their own. */
  readonly propertyCode: string | null;
  readonly name: string;
}

/** A stored setting. */
export interface StoredSetting extends SettingOf {
  readonly value: string;
  readonly changedAt: Date;
}

/** A change for the audit. */
export interface SettingChange extends SettingOf {
  readonly name: SettingName;
  /** The previous value; null if unset. */
  readonly before: string | null;
  /** The new value in canonical form; null if unset. */
  readonly after: string | null;
  /** The client code's settings version after the change. */
  readonly settingsVersion: number;
}

interface ChangeRow {
  readonly version: number;
  readonly before: string | null;
}

function checked({ clientCode, propertyCode, name }: SettingOf): SettingOf & { readonly name: SettingName } {
  checkCode("client code", clientCode);
  if (propertyCode !== null) checkCode("property code", propertyCode);
  return { clientCode, propertyCode, name: settingNamed(name).name };
}

/** Whether the client code or property has received a batch or is granted to a client; otherwise it is probably misspelt. */
export async function isKnown(
  on: Queryable,
  { clientCode, propertyCode }: Omit<SettingOf, "name">,
): Promise<boolean> {
  const { rowCount } = await on.query({ ...isKnownStatement, values: [clientCode, propertyCode] });
  return rowCount === 1;
}

/** Stored settings of one client code or of all. */
export async function listSettings(on: Queryable, clientCode: string | null): Promise<StoredSetting[]> {
  const { rows } = await on.query<StoredSetting>({ ...listStatement, values: [clientCode] });
  return rows;
}

async function changed(
  on: Queryable,
  statement: Statement,
  { clientCode, propertyCode, name }: ReturnType<typeof checked>,
  after: string | null,
): Promise<SettingChange | undefined> {
  const values = [clientCode, propertyCode, name, ...(after === null ? [] : [after])];
  const [row] = (await on.query<ChangeRow>({ ...statement, values })).rows;
  if (row === undefined) return undefined;
  return { clientCode, propertyCode, name, before: row.before, after, settingsVersion: row.version };
}

/**
 * Stores a setting and increases the settings version; undefined if the value is unchanged. Throws SettingInputError for an invalid name,
 * code or value.
 */
export async function setSetting(
  on: Queryable,
  of: SettingOf,
  text: string,
): Promise<SettingChange | undefined> {
  const setting = checked(of);
  return changed(on, setStatement, setting, readSettingValue(settingNamed(setting.name), text));
}

/** Removes a setting, so that the client code's or the default applies; undefined if there was none. Throws as `setSetting`. */
export async function unsetSetting(on: Queryable, of: SettingOf): Promise<SettingChange | undefined> {
  return changed(on, unsetStatement, checked(of), null);
}

/** Stored settings of a client code: lists of its properties read them all. */
const SETTINGS_MAX = 20_000;
/** Those of its properties that every node keeps in memory, as they apply to records that arrive. */
const KEPT_MAX = 1_000;
const KEPT: readonly string[] = ["personalData", "negativeCounts"];
const countStatement = namedStatement(
  "count-settings",
  `select count(*)::integer as all, (count(*) filter (where name = any ($2) and property_code is not null))::integer as kept
  from bellhop.property_setting where client_code = $1`,
);

async function requireRoom(on: Queryable, { clientCode, propertyCode, name }: SettingOf): Promise<void> {
  const { rows } = await on.query<{ all: number; kept: number }>({
    ...countStatement,
    values: [clientCode, KEPT],
  });
  const { all = 0, kept = 0 } = rows[0] ?? {};
  if (all > SETTINGS_MAX)
    throw new InputError(`${clientCode} has ${SETTINGS_MAX} settings: unset some first.`);
  if (propertyCode !== null && KEPT.includes(name) && kept > KEPT_MAX)
    throw new InputError(
      `${clientCode} has ${KEPT_MAX} settings ${KEPT.join(" and ")} of properties: set ${name} for the client code instead.`,
    );
}

/** Stores a setting, or removes it if `text` is undefined, with its audit entry in the same transaction. Throws InputError. */
export function changeSetting(
  pool: pg.Pool,
  who: string,
  of: SettingOf,
  text: string | undefined,
): Promise<SettingChange | undefined> {
  return withTransaction(pool, async (client) => {
    const change = text === undefined ? await unsetSetting(client, of) : await setSetting(client, of, text);
    if (text !== undefined && change !== undefined) await requireRoom(client, of);
    const what = text === undefined ? "unset-setting" : "set-setting";
    if (change !== undefined) await recordAudit(client, { who, what, detail: { ...change } });
    return change;
  });
}
