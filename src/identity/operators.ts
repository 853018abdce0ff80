import type { Pool } from "pg";
import type { Row } from "../platform/db/row.ts";
import { namedStatement, type Statement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { NotFoundError } from "../platform/errors/operator-error.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import { AuthInputError, demand, demandUnchanged } from "./admin.ts";
import { recordAudit } from "./audit.ts";
import type { OperatorItem } from "./console-answers.ts";
import { CLOSE_OF_OPERATOR } from "./operator-sessions.ts";
import { checkNewPassword, hashPassword } from "./passwords.ts";
import { isAllowed, type OperatorRights, ROLES } from "./roles.ts";
import { checkOperatorGrants, EVERYTHING, Scope } from "./scope.ts";

const INSERT = namedStatement(
  "insert-operator",
  `insert into bellhop.operator (name, password_hash, role, grants, email) values ($1, $2, $3, $4, $5)
  on conflict do nothing`,
);
const LIST = namedStatement(
  "list-operators",
  `select name, role, grants, email, oidc_subject is not null as "isBound", password_hash is not null as "hasPassword",
    totp_since is not null as "hasTotp", created_at as "createdAt", password_changed_at as "passwordChangedAt",
    last_login_at as "lastLoginAt", disabled_at as "disabledAt"
  from bellhop.operator
  where $2::text[] is null or cardinality(grants) > 0 and not exists (
    select from unnest(grants) as held
    where held = $3 or not (regexp_replace(held, '/', E'\\n') = any ($2) or split_part(held, '/', 1) || E'\\n*' = any ($2))
  )
  order by name
  limit $1`,
);
const SET_ROLE = namedStatement(
  "set-operator-role",
  `update bellhop.operator set role = coalesce($2, role), grants = coalesce($3, grants) where name = $1`,
);
/** Changes the operator's account; the previous one can no longer log in. */
const SET_ACCOUNT = namedStatement(
  "set-operator-account",
  `update bellhop.operator set email = $2, oidc_issuer = $3, oidc_subject = $4 where name = $1`,
);
const REMOVE = namedStatement("remove-operator", `delete from bellhop.operator where name = $1`);
const SET_PASSWORD = namedStatement(
  "set-operator-password",
  `update bellhop.operator set password_hash = $2, password_changed_at = clock_timestamp() where name = $1`,
);
/** $2: whether the operator is disabled. */
const DISABLE = namedStatement(
  "disable-operator",
  `update bellhop.operator
  set disabled_at = case when $2 then coalesce(disabled_at, clock_timestamp()) end
  where name = $1`,
);
const HAS_ANY = namedStatement("has-any-operator", `select exists (select from bellhop.operator) as found`);
const HAS_OPERATORS = namedStatement(
  "has-operators",
  `select exists (select from bellhop.operator where disabled_at is null) as found`,
);

/** A person who may log in to the console. Times are by the database's clock. */
export type OperatorSummary = Row<OperatorItem> & { readonly passwordChangedAt: Date };

/** The database and the actor for the audit. */
export interface OperatorAdmin {
  readonly pool: Pool;
  readonly who: string;
  /** In a service: hashes new passwords in turn with those of logins (`LoginParts`). */
  readonly hashing?: Semaphore;
}

const OPERATORS_LISTED_MAX = 1_000;
/** How many an admin of some properties may have within them, and of how many grants each, because the list of an admin of all has them. */
const OPERATORS_OF_SCOPE_MAX = 200;
const GRANTS_OF_SCOPE_MAX = 100;
const NAME_SHAPE = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** Whether the text has the form of an operator's name. */
export function looksLikeOperatorName(text: string): boolean {
  return NAME_SHAPE.test(text);
}

/** The rights to change; omitted ones are unchanged. */
type NamedRights = { readonly [Name in keyof OperatorRights]?: OperatorRights[Name] | undefined };

/**
 * Creates an operator; by default the first one is an admin of everything. Throws AuthInputError for a name that is taken or invalid, an
 * unsuitable password, or missing rights.
 */
export async function createOperator(
  admin: OperatorAdmin,
  name: string,
  password: string | undefined,
  rights: NamedRights & { readonly email?: string | undefined },
): Promise<void> {
  demand(
    looksLikeOperatorName(name),
    "An operator's name must have 1 to 64 characters (a-z, 0-9, dot, dash, underscore) and begin with a letter or digit.",
  );
  if (password !== undefined) checkNewPassword(password, name);
  const email = rights.email === undefined ? null : requireEmail(rights.email);
  demand(
    password !== undefined || email !== null,
    "An operator needs a password, or an email address at the OpenID Connect provider.",
  );
  const isFirst = (await admin.pool.query<{ found: boolean }>(HAS_ANY)).rows[0]?.found === false;
  const role = rights.role ?? (isFirst ? "admin" : undefined);
  demand(role !== undefined, `Name the operator's role: ${ROLES.join(", ")}.`);
  const grants = checkOperatorGrants(rights.grants ?? (isFirst ? [EVERYTHING] : []));
  const hash = password === undefined ? null : await hashInTurn(admin, password);
  const other = email === null ? "" : ", or one with this email";
  await changeOperator(admin, name, {
    what: "create-operator",
    statement: INSERT,
    values: [hash, role, grants, email],
    detail: { role, grants, ...(email !== null && { email }) },
    isNew: true,
    grants,
    refusal: `An operator ${name}${other} already exists.`,
  });
}

/** Up to 1,000 operators by name, including disabled ones, whose grants are within the scope (undefined: all). */
export async function listOperators(on: Queryable, scope?: Scope): Promise<OperatorSummary[]> {
  const values = [OPERATORS_LISTED_MAX, scope?.keys ?? null, EVERYTHING];
  return (await on.query<OperatorSummary>({ ...LIST, values })).rows;
}

/** Locks operator $1 and the acting operator ($2) in a fixed order: if two admins disable each other at once, the second is refused. */
const LOCK = namedStatement(
  "lock-operators",
  `select name, role, grants, disabled_at is null as "isActive" from bellhop.operator
  where name in ($1, $2) order by name for update`,
);

/** A change of an operator. */
interface OperatorChange {
  /** Its action name in the audit. */
  readonly what: string;
  /** $1 is the name; `values` follow. */
  readonly statement: Statement;
  readonly values?: readonly unknown[];
  readonly detail?: Readonly<Record<string, unknown>>;
  /** Previous values as shown in the form; the change is refused if they differ now. */
  readonly shown?: Readonly<Record<string, unknown>>;
  /** The operator does not exist yet. */
  readonly isNew?: boolean;
  /** The operator's new grants; undefined: unchanged. */
  readonly grants?: readonly string[] | undefined;
  /** Whether to end the operator's sessions, except the one with id `except`. */
  readonly endsSessions?: boolean;
  readonly except?: string | undefined;
  /** Error message if the statement changes nothing. */
  readonly refusal?: string;
}

/**
 * Changes an operator, with its audit entry in the same transaction. A console operator cannot change, or create, one with more grants than
 * their own. Throws AuthInputError, NotFoundError, ConsoleError.
 */
export async function changeOperator(
  { pool, who }: OperatorAdmin,
  name: string,
  change: OperatorChange,
): Promise<void> {
  const { what, statement, values = [], grants } = change;
  const actor = who.startsWith("console:") ? who.slice("console:".length) : null;
  await withTransaction(pool, async (client) => {
    const { rows } = await client.query<OperatorRights & { name: string; isActive: boolean }>({
      ...LOCK,
      values: [name, actor],
    });
    const acting = rows.find((row) => row.name === actor);
    const mayAct = acting?.isActive && (actor === name || isAllowed(acting.role, "manage-operators"));
    if (actor !== null && !mayAct)
      throw new ConsoleError("bellhop.console.NotAllowed", {
        message: "Your own account was changed concurrently. Nothing was changed.",
      });
    const scope = new Scope(acting === undefined || actor === name ? [EVERYTHING] : acting.grants);
    const target = rows.find((row) => row.name === name);
    if (!change.isNew && (target === undefined || !scope.coversOperator(target.grants)))
      throw new NotFoundError(`No operator is named ${JSON.stringify(name)} (see bellhop operator list).`);
    if (target !== undefined) demandUnchanged(target, change.shown ?? {});
    demand(
      grants === undefined || scope.coversOperator(grants),
      `You can grant only your own properties: ${scope.grants.join(", ")}.`,
    );
    demand(
      scope.isEverything || (grants?.length ?? 0) <= GRANTS_OF_SCOPE_MAX,
      `At most ${GRANTS_OF_SCOPE_MAX} grants: use CLIENTCODE/*, or ask an admin of all properties.`,
    );
    const isFull = async () => (await listOperators(client, scope)).length >= OPERATORS_OF_SCOPE_MAX;
    demand(
      !change.isNew || scope.isEverything || !(await isFull()),
      `Your properties have ${OPERATORS_OF_SCOPE_MAX} operators: remove one first, or ask an admin of all properties.`,
    );
    const { rowCount } = await client.query({ ...statement, values: [name, ...values] });
    demand(rowCount === 1, change.refusal ?? "Nothing was changed.");
    if (change.endsSessions) await client.query({ ...CLOSE_OF_OPERATOR, values: [name, change.except] });
    await recordAudit(client, { who, what, detail: { operator: name, ...change.detail } });
  });
}

/** Changes role and grants, effective with the operator's next request. Throws AuthInputError. */
export function setOperatorRights(
  admin: OperatorAdmin,
  name: string,
  { role, grants }: NamedRights,
  shown: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const checked = grants && checkOperatorGrants(grants);
  return changeOperator(admin, name, {
    what: "set-operator-rights",
    statement: SET_ROLE,
    values: [role, checked],
    grants: checked,
    shown,
    detail: { role, grants: checked },
  });
}

const EMAIL_SHAPE = /^[!-?A-~]{1,64}@[!-?A-~]{1,190}$/;

/** An email address in lower case; undefined if it is invalid. ASCII only, because other letters may fold to the same text. */
export function readEmail(text: string): string | undefined {
  return EMAIL_SHAPE.test(text) ? text.toLowerCase() : undefined;
}

function requireEmail(text: string): string {
  const email = readEmail(text);
  demand(email !== undefined, `${JSON.stringify(text)} is not an email address.`);
  return email;
}

/** An account at the OpenID Connect provider: identified by email until its first login, or by issuer and subject. */
interface OperatorAccount {
  readonly email?: string | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
}

const UNIQUE_VIOLATION = "23505";

/** Changes or removes an operator's account and ends the sessions. Throws AuthInputError. */
export async function setOperatorAccount(
  admin: OperatorAdmin,
  name: string,
  account: OperatorAccount,
): Promise<void> {
  const email = account.email === undefined ? null : requireEmail(account.email);
  const { issuer = null, subject = null } = account;
  const change = {
    what: "set-operator-account",
    statement: SET_ACCOUNT,
    values: [email, issuer, subject],
    detail: { email, subject },
    endsSessions: true,
  };
  await changeOperator(admin, name, change).catch((cause: unknown) => {
    if ((cause as { code?: string }).code !== UNIQUE_VIOLATION) throw cause;
    throw new AuthInputError("Another operator already has this account.", { cause });
  });
}

/** Deletes an operator with all sessions; its audit entries remain. Throws AuthInputError. */
export function removeOperator(admin: OperatorAdmin, name: string): Promise<void> {
  return changeOperator(admin, name, { what: "remove-operator", statement: REMOVE });
}

export async function hasOperators(pool: Pool): Promise<boolean> {
  return (await pool.query<{ found: boolean }>(HAS_OPERATORS)).rows[0]?.found === true;
}

/**
 * Sets an operator's password and ends the sessions, except the one with id `except` (in which the password was changed). Throws
 * AuthInputError.
 */
export async function setOperatorPassword(
  admin: OperatorAdmin,
  name: string,
  password: string,
  except?: string,
): Promise<void> {
  checkNewPassword(password, name);
  const values = [await hashInTurn(admin, password)];
  const change = { what: "set-operator-password", statement: SET_PASSWORD, values };
  await changeOperator(admin, name, { ...change, endsSessions: true, except });
}

/** Disables an operator and ends all sessions at once. */
export function disableOperator(admin: OperatorAdmin, name: string): Promise<void> {
  const change = { what: "disable-operator", statement: DISABLE, values: [true] };
  return changeOperator(admin, name, { ...change, endsSessions: true });
}

/** Enables an operator again. */
export function enableOperator(admin: OperatorAdmin, name: string): Promise<void> {
  const change = { what: "enable-operator", statement: DISABLE, values: [false] };
  return changeOperator(admin, name, { ...change, endsSessions: false });
}

/** Operators take turns, and client networks at logins. Throws SemaphoreFull. */
function hashInTurn({ hashing, who }: OperatorAdmin, password: string): Promise<string> {
  return hashing === undefined ? hashPassword(password) : hashing.run(() => hashPassword(password), who);
}
