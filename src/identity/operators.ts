import { createHash, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { originOf } from "../platform/http/networks.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import { AuthInputError } from "./admin.ts";
import type { LoginLimiter } from "./attempt-limiters.ts";
import { recordAudit } from "./audit.ts";
import { ROLES, type Role } from "./roles.ts";
import { checkOperatorGrants, EVERYTHING, Scope } from "./scope.ts";
import type { Sealer } from "./seal.ts";
import { useCode } from "./second-factor.ts";

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
export interface OperatorSummary {
  readonly name: string;
  readonly role: Role;
  /** As `Scope` takes them. */
  readonly grants: readonly string[];
  /** Of the account at the OpenID Connect provider. */
  readonly email: string | null;
  /** The account has logged in, or was named by its subject. */
  readonly isBound: boolean;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
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
function looksLikeOperatorName(text: string): boolean {
  return NAME_SHAPE.test(text);
}

/** What somebody who may change operators says of one. */
export interface OperatorRights {
  readonly role: Role;
  readonly grants: readonly string[];
}

/**
 * Makes an operator; the first one is an admin of everything unless `rights` say otherwise. Throws AuthInputError for a name that is
 * taken or cannot be, a password that is no good, or rights that are missing.
 */
export async function createOperator(
  { pool, who }: OperatorAdmin,
  name: string,
  password: string | undefined,
  rights: Partial<OperatorRights> & { readonly email?: string | undefined },
): Promise<void> {
  if (!looksLikeOperatorName(name)) {
    throw new AuthInputError(
      "An operator's name is 1 to 64 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit.",
    );
  }
  if (password !== undefined) checkPassword(password, name);
  const email = rights.email === undefined ? null : requireEmail(rights.email);
  if (password === undefined && email === null)
    throw new AuthInputError(
      "An operator has a password, or an email address of the OpenID Connect provider.",
    );
  const isFirst = (await listOperators(pool)).length === 0;
  const role = rights.role ?? (isFirst ? "admin" : undefined);
  if (role === undefined) throw new AuthInputError(`Name the operator's role: ${ROLES.join(", ")}.`);
  const grants = checkOperatorGrants(rights.grants ?? (isFirst ? [EVERYTHING] : []));
  const hash = password === undefined ? null : await hashPassword(password);
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...INSERT, values: [name, hash, role, grants, email] });
    if (rowCount !== 1)
      throw new AuthInputError(
        `There is an operator ${name} already${email === null ? "" : ", or one with this email"}.`,
      );
    const detail = { operator: name, role, grants, ...(email !== null && { email }) };
    await recordAudit(client, { who, what: "create-operator", detail });
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

/** Changes role and grants, in effect with the operator's next request. Throws AuthInputError. */
export async function setOperatorRights(
  { pool, who }: OperatorAdmin,
  name: string,
  rights: Partial<OperatorRights>,
): Promise<void> {
  const role = rights.role ?? null;
  const grants = rights.grants === undefined ? null : checkOperatorGrants(rights.grants);
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...SET_ROLE, values: [name, role, grants] });
    if (rowCount !== 1) throw noSuchOperator(name);
    const detail = { operator: name, ...(role && { role }), ...(grants && { grants }) };
    await recordAudit(client, { who, what: "set-operator-rights", detail });
  });
}

const EMAIL_SHAPE = /^[!-?A-~]{1,64}@[!-?A-~]{1,190}$/;

/** An address as operators have it, in small letters; undefined for what is none. ASCII alone: other letters fold to the same. */
export function readEmail(text: string): string | undefined {
  return EMAIL_SHAPE.test(text) ? text.toLowerCase() : undefined;
}

function requireEmail(text: string): string {
  const email = readEmail(text);
  if (email === undefined) throw new AuthInputError(`${JSON.stringify(text)} is no email address.`);
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
  { pool, who }: OperatorAdmin,
  name: string,
  account: OperatorAccount,
): Promise<void> {
  const email = account.email === undefined ? null : requireEmail(account.email);
  const { issuer = null, subject = null } = account;
  await withTransaction(pool, async (client) => {
    const values = [name, email, issuer, subject];
    const { rowCount } = await client.query({ ...SET_ACCOUNT, values }).catch((cause: unknown) => {
      if ((cause as { code?: string }).code !== UNIQUE_VIOLATION) throw cause;
      throw new AuthInputError("Another operator has this account already.", { cause });
    });
    if (rowCount !== 1) throw noSuchOperator(name);
    await closeSessionsOf(client, name);
    await recordAudit(client, {
      who,
      what: "set-operator-account",
      detail: { operator: name, email, subject },
    });
  });
}

/** Removes an operator with every session; what the audit says of the operator stays. Throws AuthInputError. */
export async function removeOperator({ pool, who }: OperatorAdmin, name: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...REMOVE, values: [name] });
    if (rowCount !== 1) throw noSuchOperator(name);
    await recordAudit(client, { who, what: "remove-operator", detail: { operator: name } });
  });
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

const READ_CREDENTIALS = namedStatement(
  "read-operator-credentials",
  `select password_hash as "passwordHash", disabled_at is not null as disabled, totp_since is not null as "hasTotp" from bellhop.operator where name = $1`,
);

/** What a login works with on one thread. */
export interface LoginParts {
  readonly pool: Pool;
  readonly limiter: LoginLimiter;
  /** One password at a time is hashed, as the pool's threads also inflate bodies; the networks that ask take turns. */
  readonly hashing: Semaphore;
  readonly sealer: Sealer;
}

/** The result of a login attempt; `waitSeconds`: until the next attempt is checked. */
type LoginResult =
  | { readonly kind: "in"; readonly session: OperatorSession }
  | { readonly kind: "refused" }
  /** The password was right; a code of the authenticator app is asked for, or another one. */
  | { readonly kind: "code-needed" }
  | { readonly kind: "code-wrong" }
  | { readonly kind: "limited"; readonly waitSeconds: number };

/** Names that cannot be are one, or they would push those that matter out of the limiter's memory. */
const limitedName = (name: string): string => (looksLikeOperatorName(name) ? name : "");

/**
 * Whether a name and password are an operator's. An unknown name, a disabled operator and a wrong password are refused
 * alike and after the same work; the attempt is counted before the work, so that guesses sent at once count too.
 */
async function isRight(
  { pool, hashing }: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<{ readonly isKnown: boolean; readonly right: boolean; readonly hasTotp: boolean }> {
  // Text that no name can be never reaches the database.
  const asked = looksLikeOperatorName(name) ? name : "";
  const { rows } = await pool.query<{ passwordHash: string | null; disabled: boolean; hasTotp: boolean }>({
    ...READ_CREDENTIALS,
    values: [asked],
  });
  const row = rows[0];
  const { subnet, site } = originOf(address);
  const matches = await hashing.run(
    () => matchesPassword(looksLikePassword(password) ? password : "", row?.passwordHash ?? undefined),
    site?.network ?? subnet,
  );
  const right = matches && row?.disabled === false;
  return { isKnown: row !== undefined, right, hasTotp: row?.hasTotp === true };
}

/** Logs an operator in. Throws SemaphoreFull when too many passwords wait to be checked. */
export async function logIn(
  parts: LoginParts,
  address: string,
  name: string,
  password: string,
  code: string | undefined,
): Promise<LoginResult> {
  const waitSeconds = parts.limiter.take(address, limitedName(name));
  if (waitSeconds > 0) return { kind: "limited", waitSeconds };
  const { isKnown, right, hasTotp } = await isRight(parts, address, name, password);
  if (!right) {
    // Only existing names are audited: invented ones would fill the audit.
    if (isKnown)
      await recordAudit(parts.pool, { who: `console:${name}`, what: "refuse-login", detail: { address } });
    return { kind: "refused" };
  }
  if (hasTotp) {
    if (code === undefined) return { kind: "code-needed" };
    const known = await confirmCode(parts, address, name, code);
    if (known === "wrong") return { kind: "code-wrong" };
    if (known !== "right") return { kind: "limited", waitSeconds: known.waitSeconds };
  }
  parts.limiter.forget(address, name);
  const session = await openSession(parts.pool, name);
  // Disabled or removed in this moment.
  if (session === undefined) return { kind: "refused" };
  await recordAudit(parts.pool, { who: `console:${name}`, what: "log-in", detail: { address } });
  return { kind: "in", session };
}

/** Whether a code is the operator's, and uses it up. Only who knows the password gets here: wrong ones count from wherever they come. */
export async function confirmCode(
  parts: LoginParts,
  address: string,
  name: string,
  code: string,
): Promise<"right" | "wrong" | { readonly waitSeconds: number }> {
  const waitSeconds = parts.limiter.takeCode(name);
  if (waitSeconds > 0) return { waitSeconds };
  const used = await useCode(parts, name, code);
  if (used !== undefined) {
    parts.limiter.forgetCodes(name);
    if (used === "recovery")
      await recordAudit(parts.pool, {
        who: `console:${name}`,
        what: "use-recovery-code",
        detail: { address },
      });
    return "right";
  }
  await recordAudit(parts.pool, {
    who: `console:${name}`,
    what: "refuse-login",
    detail: { address, code: "wrong" },
  });
  return "wrong";
}

/** Whether the password is the operator's own, limited and refused as a login is. */
export async function confirmPassword(
  parts: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<"right" | "wrong" | { readonly waitSeconds: number }> {
  const waitSeconds = parts.limiter.take(address, name);
  if (waitSeconds > 0) return { waitSeconds };
  if (!(await isRight(parts, address, name, password)).right) return "wrong";
  parts.limiter.forget(address, name);
  return "right";
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
/** All of an operator's but one ($2; null: all). */
const CLOSE_OF_OPERATOR = namedStatement(
  "close-sessions-of-operator",
  `delete from bellhop.operator_session where operator_name = $1 and ($2::bytea is null or digest <> $2)`,
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

interface SessionRow extends OperatorRights {
  readonly name: string;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly expiresAt: Date;
  readonly isUnseen: boolean;
}

const digestOf = (id: string): Buffer => createHash("sha256").update(id).digest();

/** Opens a session of an operator who has proven to know the password. */
export async function openSession(pool: Pool, name: string): Promise<OperatorSession | undefined> {
  const id = randomBytes(32).toString("base64url");
  await pool.query({ ...OPEN, values: [digestOf(id), name, SESSION_SECONDS, SESSIONS_OF_OPERATOR_MAX] });
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
  const { rows } = await pool.query<SessionRow>({
    ...FIND,
    values: [digest, SESSION_IDLE_SECONDS],
  });
  const row = rows[0];
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

/** Ends the sessions of an operator, but for the one with the id `except`. */
async function closeSessionsOf(connection: Queryable, name: string, except?: string): Promise<void> {
  const values = [name, except === undefined ? null : digestOf(except)];
  await connection.query({ ...CLOSE_OF_OPERATOR, values });
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
export function checkPassword(password: string, name: string): void {
  const characters = [...password].length;
  if (characters < PASSWORD_CHARACTERS_MIN || characters > PASSWORD_CHARACTERS_MAX) {
    throw new AuthInputError(
      `A password has ${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters.`,
    );
  }
  if (!password.isWellFormed() || /\p{Cc}/u.test(password))
    throw new AuthInputError("A password has no control characters.");
  if (password.toLowerCase().includes(name) || new Set(password).size < 5)
    throw new AuthInputError("A password is not made of the name, nor of a few characters over and over.");
}

/** True for text that could be a password at all; anything else is not worth the work of a hash. */
function looksLikePassword(text: string): boolean {
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
