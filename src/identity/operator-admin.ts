import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { AuthInputError } from "./admin.ts";
import { recordAudit } from "./audit.ts";
import { closeSessionsOf } from "./operator-session.ts";
import { checkPassword, hashPassword } from "./password.ts";

const INSERT = namedStatement(
  "insert-operator",
  `insert into bellhop.operator (name, password_hash) values ($1, $2)
  on conflict (name) do nothing`,
);
const LIST = namedStatement(
  "list-operators",
  `select name, created_at as "createdAt", password_changed_at as "passwordChangedAt", last_login_at as "lastLoginAt",
    disabled_at as "disabledAt"
  from bellhop.operator
  order by name
  limit $1`,
);
const SET_PASSWORD = namedStatement(
  "set-operator-password",
  `update bellhop.operator set password_hash = $2, password_changed_at = clock_timestamp() where name = $1`,
);
/** $2: disabled from now on, or able again. */
const DISABLE = namedStatement(
  "disable-operator",
  `update bellhop.operator
  set disabled_at = case when $2 then coalesce(disabled_at, clock_timestamp()) end
  where name = $1`,
);
const HAS_OPERATORS = namedStatement(
  "has-operators",
  `select exists (select from bellhop.operator where disabled_at is null) as found`,
);

/** A person who may log in to the console. Times are of the database's clock. */
export interface OperatorSummary {
  readonly name: string;
  readonly createdAt: Date;
  readonly passwordChangedAt: Date;
  readonly lastLoginAt: Date | null;
  readonly disabledAt: Date | null;
}

/** Who does it, for the audit, and where it is kept. */
export interface OperatorAdmin {
  readonly pool: Pool;
  readonly who: string;
}

const OPERATORS_LISTED_MAX = 1_000;
const NAME_SHAPE = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** True for text that could be an operator's name. */
export function looksLikeOperatorName(text: string): boolean {
  return NAME_SHAPE.test(text);
}

/** Makes an operator. Throws AuthInputError for a name that is taken or cannot be, or a password that is no good. */
export async function createOperator(
  { pool, who }: OperatorAdmin,
  name: string,
  password: string,
): Promise<void> {
  if (!looksLikeOperatorName(name)) {
    throw new AuthInputError(
      "An operator's name is 1 to 64 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit.",
    );
  }
  checkPassword(password, name);
  const hash = await hashPassword(password);
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...INSERT, values: [name, hash] });
    if (rowCount !== 1) throw new AuthInputError(`There is an operator ${name} already.`);
    await recordAudit(client, { who, what: "create-operator", detail: { operator: name } });
  });
}

/** The operators by name, disabled ones included; a thousand at most. */
export async function listOperators({ pool }: OperatorAdmin): Promise<OperatorSummary[]> {
  return (await pool.query<OperatorSummary>({ ...LIST, values: [OPERATORS_LISTED_MAX] })).rows;
}

/** Whether anybody can log in. */
export async function hasOperators(pool: Pool): Promise<boolean> {
  return (await pool.query<{ found: boolean }>(HAS_OPERATORS)).rows[0]?.found === true;
}

/**
 * Gives an operator another password and ends the operator's sessions, but for the one with the id `except` (the one in
 * which the password was changed). Throws AuthInputError.
 */
export async function setOperatorPassword(
  { pool, who }: OperatorAdmin,
  name: string,
  password: string,
  except?: string,
): Promise<void> {
  checkPassword(password, name);
  const hash = await hashPassword(password);
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...SET_PASSWORD, values: [name, hash] });
    if (rowCount !== 1) throw noSuchOperator(name);
    await closeSessionsOf(client, name, except);
    await recordAudit(client, { who, what: "set-operator-password", detail: { operator: name } });
  });
}

/** Lets an operator in no more, and ends all sessions of the operator at once; or lets the operator in again. */
export async function disableOperator(
  { pool, who }: OperatorAdmin,
  name: string,
  disabled: boolean,
): Promise<void> {
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...DISABLE, values: [name, disabled] });
    if (rowCount !== 1) throw noSuchOperator(name);
    if (disabled) await closeSessionsOf(client, name);
    const what = disabled ? "disable-operator" : "enable-operator";
    await recordAudit(client, { who, what, detail: { operator: name } });
  });
}

function noSuchOperator(name: string): AuthInputError {
  return new AuthInputError(
    `There is no operator ${JSON.stringify(name)}. \`bellhop operator list\` shows all there are.`,
  );
}
