import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import type { OperatorItem, Row } from "../console/answers.ts";
import { namedStatement, readStatement, type Statement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { NotFoundError } from "../platform/errors/operator-error.ts";
import { AuthInputError, demand, demandUnchanged, isWhole } from "./admin.ts";
import { recordAudit } from "./audit.ts";
import { isAllowed, ROLES, type Role } from "./roles.ts";
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
  order by name
  limit $1`,
);
const SET_ROLE = namedStatement(
  "set-operator-role",
  `update bellhop.operator set role = coalesce($2, role), grants = coalesce($3, grants) where name = $1`,
);
/** Another account; the one before is let in no more. */
const SET_ACCOUNT = namedStatement(
  "set-operator-account",
  `update bellhop.operator set email = $2, oidc_issuer = $3, oidc_subject = $4 where name = $1`,
);
const REMOVE = namedStatement("remove-operator", `delete from bellhop.operator where name = $1`);
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
export type OperatorSummary = Row<OperatorItem> & { readonly passwordChangedAt: Date };

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

/** What somebody who may change operators says of one. */
export interface OperatorRights {
  readonly role: Role;
  readonly grants: readonly string[];
}

/** Those that are named. */
type NamedRights = { readonly [Name in keyof OperatorRights]?: OperatorRights[Name] | undefined };

/**
 * Makes an operator; the first one is an admin of everything unless `rights` say otherwise. Throws AuthInputError for a name that is
 * taken or cannot be, a password that is no good, or rights that are missing.
 */
export async function createOperator(
  admin: OperatorAdmin,
  name: string,
  password: string | undefined,
  rights: NamedRights & { readonly email?: string | undefined },
): Promise<void> {
  demand(
    looksLikeOperatorName(name),
    "An operator's name is 1 to 64 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit.",
  );
  if (password !== undefined) checkNewPassword(password, name);
  const email = rights.email === undefined ? null : requireEmail(rights.email);
  demand(
    password !== undefined || email !== null,
    "An operator has a password, or an email address of the OpenID Connect provider.",
  );
  const isFirst = (await listOperators(admin.pool)).length === 0;
  const role = rights.role ?? (isFirst ? "admin" : undefined);
  demand(role !== undefined, `Name the operator's role: ${ROLES.join(", ")}.`);
  const grants = checkOperatorGrants(rights.grants ?? (isFirst ? [EVERYTHING] : []));
  const hash = password === undefined ? null : await hashPassword(password);
  const other = email === null ? "" : ", or one with this email";
  await changeOperator(admin, name, {
    what: "create-operator",
    statement: INSERT,
    values: [hash, role, grants, email],
    detail: { role, grants, ...(email !== null && { email }) },
    isNew: true,
    grants,
    refusal: `There is an operator ${name} already${other}.`,
  });
}

/** The operators by name, disabled ones included; a thousand at most. */
export async function listOperators(pool: Pool): Promise<OperatorSummary[]> {
  return (await pool.query<OperatorSummary>({ ...LIST, values: [OPERATORS_LISTED_MAX] })).rows;
}

/** Those who see nothing beyond the scope. */
export async function operatorsWithin(pool: Pool, scope: Scope): Promise<OperatorSummary[]> {
  return (await listOperators(pool)).filter(({ grants }) => scope.coversOperator(grants));
}

/**
 * Locks operator $1 and who acts ($2), the same one first for all: of two admins who disable each other at the same moment, the
 * second is none any more.
 */
const LOCK = namedStatement(
  "lock-operators",
  `select name, role, grants, disabled_at is null as "isActive" from bellhop.operator
  where name in ($1, $2) order by name for update`,
);

/** One change of an operator. */
interface OperatorChange {
  /** Its verb-noun in the audit. */
  readonly what: string;
  /** $1 is the name; `values` follow. */
  readonly statement: Statement;
  readonly values?: readonly unknown[];
  readonly detail?: Readonly<Record<string, unknown>>;
  /** What the form showed of what it replaces: refused where it is not so any more. */
  readonly shown?: Readonly<Record<string, unknown>>;
  /** There is no operator of the name yet. */
  readonly isNew?: boolean;
  /** What the operator may see from then on; undefined: as before. */
  readonly grants?: readonly string[] | undefined;
  /** Whether the operator's sessions end, but for the one with the id `except`. */
  readonly endsSessions?: boolean;
  readonly except?: string | undefined;
  /** The refusal where the statement finds nothing to change. */
  readonly refusal?: string;
}

/**
 * Makes a change of an operator, with its audit entry in the same transaction. At the console nobody changes, or gives, what sees more
 * than they do. Throws AuthInputError, NotFoundError, ConsoleError.
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
        message: "Your own account was changed at the same moment: nothing was done.",
      });
    const scope = new Scope(acting === undefined || actor === name ? [EVERYTHING] : acting.grants);
    const target = rows.find((row) => row.name === name);
    if (!change.isNew && (target === undefined || !scope.coversOperator(target.grants)))
      throw new NotFoundError(
        `There is no operator ${JSON.stringify(name)}. \`bellhop operator list\` and the console list all there are.`,
      );
    if (target !== undefined) demandUnchanged(target, change.shown ?? {});
    demand(
      grants === undefined || scope.coversOperator(grants),
      `You can give your own properties only: ${scope.grants.join(", ")}.`,
    );
    const { rowCount } = await client.query({ ...statement, values: [name, ...values] });
    demand(rowCount === 1, change.refusal ?? "Nothing was changed.");
    if (change.endsSessions) await client.query({ ...CLOSE_OF_OPERATOR, values: [name, change.except] });
    await recordAudit(client, { who, what, detail: { operator: name, ...change.detail } });
  });
}

/** Changes role and grants, in effect with the operator's next request. Throws AuthInputError. */
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

/** An address as operators have it, in small letters; undefined for what is none. ASCII alone: other letters fold to the same. */
export function readEmail(text: string): string | undefined {
  return EMAIL_SHAPE.test(text) ? text.toLowerCase() : undefined;
}

function requireEmail(text: string): string {
  const email = readEmail(text);
  demand(email !== undefined, `${JSON.stringify(text)} is no email address.`);
  return email;
}

/** An account at the OpenID Connect provider: by address until its first login, or by issuer and subject. */
interface OperatorAccount {
  readonly email?: string | undefined;
  readonly issuer?: string | undefined;
  readonly subject?: string | undefined;
}

const UNIQUE_VIOLATION = "23505";

/** Gives an operator another account (none: takes it away) and ends the sessions. Throws AuthInputError. */
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
    throw new AuthInputError("Another operator has this account already.", { cause });
  });
}

/** Removes an operator with every session; what the audit says of the operator stays. Throws AuthInputError. */
export function removeOperator(admin: OperatorAdmin, name: string): Promise<void> {
  return changeOperator(admin, name, { what: "remove-operator", statement: REMOVE });
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
  admin: OperatorAdmin,
  name: string,
  password: string,
  except?: string,
): Promise<void> {
  checkNewPassword(password, name);
  const values = [await hashPassword(password)];
  const change = { what: "set-operator-password", statement: SET_PASSWORD, values };
  await changeOperator(admin, name, { ...change, endsSessions: true, except });
}

/** Lets an operator in no more, and ends all sessions of the operator at once; or lets the operator in again. */
export function disableOperator(admin: OperatorAdmin, name: string, disabled: boolean): Promise<void> {
  return changeOperator(admin, name, {
    what: disabled ? "disable-operator" : "enable-operator",
    statement: DISABLE,
    values: [disabled],
    endsSessions: disabled,
  });
}

const OPEN = readStatement(new URL("./sql/open-session.sql", import.meta.url));
/** $1 digest, $2 seconds without a request after which a session ends. */
const FIND = namedStatement(
  "find-session",
  `select operator.name, operator.role, operator.grants, operator.password_hash is not null as "hasPassword",
    operator.totp_since is not null as "hasTotp", session.expires_at as "expiresAt",
    session.last_seen_at < clock_timestamp() - interval '1 minute' as "isUnseen"
  from bellhop.operator_session as session
  join bellhop.operator as operator on operator.name = session.operator_name
  where session.digest = $1 and session.expires_at > clock_timestamp()
    and session.last_seen_at > clock_timestamp() - make_interval(secs => $2)
    and operator.disabled_at is null`,
);
const TOUCH = namedStatement(
  "touch-session",
  `update bellhop.operator_session set last_seen_at = clock_timestamp() where digest = $1`,
);
const CLOSE = namedStatement(
  "close-session",
  `delete from bellhop.operator_session where digest = $1 returning operator_name as name`,
);
/** All of an operator's but that of the id $2 (null: all). */
const CLOSE_OF_OPERATOR = namedStatement(
  "close-sessions-of-operator",
  `delete from bellhop.operator_session where operator_name = $1 and digest is distinct from sha256(convert_to($2::text, 'UTF8'))`,
);

/** A working day: a session ends then, whatever is done in it. */
const SESSION_SECONDS = 12 * 3_600;

/** Without a request for so long it ends sooner. */
export const SESSION_IDLE_SECONDS = 3_600;

/** Somebody's browsers; with one more the oldest session ends. */
const SESSIONS_OF_OPERATOR_MAX = 10;

/** 256 random bits in base64url. */
const SESSION_ID_SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** Somebody who is logged in. */
export interface OperatorSession {
  /** Known to the browser alone. */
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly scope: Scope;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly expiresAt: Date;
}

type SessionRow = Omit<OperatorSession, "id" | "scope"> & OperatorRights & { readonly isUnseen: boolean };

const digestOf = (id: string): Buffer => createHash("sha256").update(id).digest();

/** What an operator has logged in with, which may have changed while it was checked: a password and, if asked for, a code, or an account. */
type Proof =
  | { readonly passwordHash: string | null; readonly hasTotp: boolean; readonly subject?: never }
  | { readonly subject: string; readonly passwordHash?: never; readonly hasTotp?: never };

/** Opens a session; undefined where the operator was disabled or removed, or the proof holds no more. */
export async function openSession(
  pool: Pool,
  name: string,
  { passwordHash, hasTotp, subject }: Proof,
): Promise<OperatorSession | undefined> {
  const id = randomBytes(32).toString("base64url");
  const bounds = [SESSION_SECONDS, SESSIONS_OF_OPERATOR_MAX];
  await pool.query({ ...OPEN, values: [digestOf(id), name, ...bounds, passwordHash, hasTotp, subject] });
  return findSession(pool, id, false);
}

/**
 * The session of an id; undefined when there is none, it is over, idle for too long, or its operator is disabled. Read from the
 * database each time, so that a session ends on every node at once. `isActive`: the operator acted; a page's automatic refresh
 * does not keep a session alive.
 */
export async function findSession(
  pool: Pool,
  id: string,
  isActive: boolean,
): Promise<OperatorSession | undefined> {
  if (!SESSION_ID_SHAPE.test(id)) return undefined;
  const digest = digestOf(id);
  const [row] = (await pool.query<SessionRow>({ ...FIND, values: [digest, SESSION_IDLE_SECONDS] })).rows;
  if (row === undefined) return undefined;
  // One update a minute ends idle sessions to the minute without a write per click.
  if (isActive && row.isUnseen) await pool.query({ ...TOUCH, values: [digest] });
  const { grants, isUnseen: _isUnseen, ...account } = row;
  return { id, ...account, scope: new Scope(grants) };
}

/** Ends a session; answers whose it was. */
export async function closeSession(pool: Pool, id: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ name: string }>({ ...CLOSE, values: [digestOf(id)] });
  return rows[0]?.name;
}

/**
 * The token that a page sends with every change. The page gets it in a response, which no other site can read; it is derived
 * from the session's id, so it needs no storage.
 */
export function csrfTokenOf({ id }: OperatorSession): string {
  return createHash("sha256").update(`csrf\0${id}`).digest("base64url");
}

/** Whether the token is the one of the session. */
export function isCsrfTokenOf(session: OperatorSession, token: string): boolean {
  const [right, given] = [Buffer.from(csrfTokenOf(session)), Buffer.from(token)];
  return right.length === given.length && timingSafeEqual(right, given);
}

/**
 * OWASP's second choice for scrypt: 32 MiB and about 0.2 s of a thread of the pool for each password, so that a hundred
 * guesses at once do not take the memory that batches need. Stored with each hash, so they can be raised later.
 */
const COST = { logN: 15, blockSize: 8, parallelism: 3 } as const;

const SALT_BYTES = 16;
const KEY_BYTES = 32;
const PASSWORD_CHARACTERS_MIN = 12;
const PASSWORD_CHARACTERS_MAX = 256;

interface StoredPassword {
  readonly logN: number;
  readonly blockSize: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly key: Buffer;
}

/** A password nobody can guess, for an operator who brings none: 144 random bits. */
export function newPassword(): string {
  return randomBytes(18).toString("base64url");
}

/** Throws AuthInputError for a password that is too easy to guess or cannot be one. */
export function checkNewPassword(password: string, name: string): void {
  const [least, most] = [PASSWORD_CHARACTERS_MIN, PASSWORD_CHARACTERS_MAX];
  demand(isWhole([...password].length, least, most), `A password has ${least} to ${most} characters.`);
  const isPlain = password.isWellFormed() && !/\p{Cc}/u.test(password);
  demand(isPlain, "A password has no control characters.");
  const isVaried = !password.toLowerCase().includes(name) && new Set(password).size >= 5;
  demand(isVaried, "A password is not made of the name, nor of a few characters over and over.");
}

/** True for text that could be a password at all; anything else is not worth the work of a hash. */
export function looksLikePassword(text: string): boolean {
  return text !== "" && text.length <= 2 * PASSWORD_CHARACTERS_MAX && text.isWellFormed();
}

/** The hash of a password, with a salt of its own, as it is stored: `scrypt$15$8$3$<salt>$<key>`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const key = await derive(password, { ...COST, salt, key: Buffer.alloc(KEY_BYTES) });
  const { logN, blockSize, parallelism } = COST;
  return ["scrypt", logN, blockSize, parallelism, salt.toString("base64url"), key.toString("base64url")].join(
    "$",
  );
}

/** What a password is compared with where there is no operator of the name: as much work, and never right. */
const NOBODY: StoredPassword = { ...COST, salt: Buffer.alloc(SALT_BYTES), key: Buffer.alloc(KEY_BYTES) };

/** Whether the password is the one of the stored hash; undefined (no such operator) takes as long and is false. */
export async function matchesPassword(password: string, stored: string | undefined): Promise<boolean> {
  const against = stored === undefined ? NOBODY : readStored(stored);
  const key = await derive(password, against);
  return timingSafeEqual(key, against.key) && stored !== undefined;
}

function readStored(stored: string): StoredPassword {
  const [kind, logN, blockSize, parallelism, salt = "", key = ""] = stored.split("$");
  if (kind !== "scrypt") throw new Error("A stored password is of no kind that this version knows.");
  return {
    logN: Number(logN),
    blockSize: Number(blockSize),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64url"),
    key: Buffer.from(key, "base64url"),
  };
}

/** Typed on one machine and on another the same letters may come composed or not: NFC makes them one. */
function derive(
  password: string,
  { logN, blockSize, parallelism, salt, key }: StoredPassword,
): Promise<Buffer> {
  const options: ScryptOptions = {
    N: 2 ** logN,
    r: blockSize,
    p: parallelism,
    maxmem: 256 * 2 ** logN * blockSize,
  };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize("NFC"), salt, key.length, options, (error, derived) =>
      error === null ? resolve(derived) : reject(error),
    );
  });
}
