import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { OperatorRights, Role } from "./roles.ts";
import { Scope } from "./scope.ts";

const OPEN = readStatement(new URL("./sql/open-session.sql", import.meta.url));
/** $1 digest, $2 idle timeout in seconds. */
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
/** All sessions of an operator except the one with id $2 (null: all). */
export const CLOSE_OF_OPERATOR = namedStatement(
  "close-sessions-of-operator",
  `delete from bellhop.operator_session where operator_name = $1 and digest is distinct from sha256(convert_to($2::text, 'UTF8'))`,
);

/** Absolute lifetime of a session: a working day. */
const SESSION_SECONDS = 12 * 3_600;

/** Idle timeout. */
export const SESSION_IDLE_SECONDS = 3_600;

/** Opening another ends the oldest. */
const SESSIONS_OF_OPERATOR_MAX = 10;

/** 256 random bits in base64url. */
const SESSION_ID_SHAPE = /^[A-Za-z0-9_-]{43}$/;

/** A logged-in operator. */
export interface OperatorSession {
  /** Known only to the browser. */
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

/** What an operator logged in with, which may have changed during verification: a password and code, or an account. */
type Proof =
  | { readonly passwordHash: string | null; readonly hasTotp: boolean; readonly subject?: never }
  | { readonly subject: string; readonly passwordHash?: never; readonly hasTotp?: never };

/** Opens a session; undefined if the operator was disabled or removed, or the proof is no longer valid. */
export async function openSession(
  pool: Pool,
  name: string,
  { passwordHash, hasTotp, subject }: Proof,
): Promise<OperatorSession | undefined> {
  const id = randomBytes(32).toString("base64url");
  const bounds = [SESSION_SECONDS, SESSIONS_OF_OPERATOR_MAX];
  await pool.query({ ...OPEN, values: [digestOf(id), name, ...bounds, passwordHash, hasTotp, subject] });
  return findSession(pool, id, { isActive: false });
}

/**
 * The session with this id; undefined if it does not exist, has expired, is idle for too long, or its operator is disabled. Read from the
 * database each time, so that a session ends on every node at once. `isActive`: the operator acted; a page's automatic refresh does not
 * keep a session alive.
 */
export async function findSession(
  pool: Pool,
  id: string,
  { isActive }: { readonly isActive: boolean },
): Promise<OperatorSession | undefined> {
  if (!SESSION_ID_SHAPE.test(id)) return undefined;
  const digest = digestOf(id);
  const [row] = (await pool.query<SessionRow>({ ...FIND, values: [digest, SESSION_IDLE_SECONDS] })).rows;
  if (row === undefined) return undefined;
  // One update per minute is precise enough for the idle timeout and avoids a write per request.
  if (isActive && row.isUnseen) await pool.query({ ...TOUCH, values: [digest] });
  const { grants, isUnseen: _isUnseen, ...account } = row;
  return { id, ...account, scope: new Scope(grants) };
}

/** Ends a session and returns its operator's name. */
export async function closeSession(pool: Pool, id: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ name: string }>({ ...CLOSE, values: [digestOf(id)] });
  return rows[0]?.name;
}

/**
 * The CSRF token that a page sends with every change. Derived from the session's id, so it needs no storage; other sites cannot read the
 * response that carries it.
 */
export function csrfTokenOf({ id }: OperatorSession): string {
  return createHash("sha256").update(`csrf\0${id}`).digest("base64url");
}

export function isCsrfTokenOf(session: OperatorSession, token: string): boolean {
  const [right, given] = [Buffer.from(csrfTokenOf(session)), Buffer.from(token)];
  return right.length === given.length && timingSafeEqual(right, given);
}
