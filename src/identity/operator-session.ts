import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Pool } from "pg";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

const OPEN = readStatement(new URL("./sql/open-session.sql", import.meta.url));
/** $1 digest, $2 seconds without a request after which a session ends. */
const FIND = namedStatement(
  "find-session",
  `select session.operator_name as name, session.expires_at as "expiresAt",
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
  readonly expiresAt: Date;
}

const digestOf = (id: string): Buffer => createHash("sha256").update(id).digest();

/** Opens a session of an operator who has proven to know the password. */
export async function openSession(pool: Pool, name: string): Promise<OperatorSession> {
  const id = randomBytes(32).toString("base64url");
  const { rows } = await pool.query<{ expiresAt: Date }>({
    ...OPEN,
    values: [digestOf(id), name, SESSION_SECONDS, SESSIONS_OF_OPERATOR_MAX],
  });
  return { id, name, expiresAt: rows[0]?.expiresAt ?? new Date() };
}

/**
 * The session of an id; undefined when there is none, it is over, idle for too long, or its operator is disabled. Asked of
 * the database each time, so that what ends a session ends it on every node at once. `isActive`: somebody did something;
 * a page that only looks again by itself does not keep a session alive.
 */
export async function findSession(
  pool: Pool,
  id: string,
  isActive: boolean,
): Promise<OperatorSession | undefined> {
  if (!SESSION_ID_SHAPE.test(id)) return undefined;
  const digest = digestOf(id);
  const { rows } = await pool.query<{ name: string; expiresAt: Date; isUnseen: boolean }>({
    ...FIND,
    values: [digest, SESSION_IDLE_SECONDS],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  // Once a minute is enough for an end to the minute, and spares a write for each click.
  if (isActive && row.isUnseen) await pool.query({ ...TOUCH, values: [digest] });
  return { id, name: row.name, expiresAt: row.expiresAt };
}

/** Ends a session; answers whose it was. */
export async function closeSession(pool: Pool, id: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ name: string }>({ ...CLOSE, values: [digestOf(id)] });
  return rows[0]?.name;
}

/** Ends the sessions of an operator, but for the one with the id `except`. */
export async function closeSessionsOf(connection: Queryable, name: string, except?: string): Promise<void> {
  const values = [name, except === undefined ? null : digestOf(except)];
  await connection.query({ ...CLOSE_OF_OPERATOR, values });
}

/**
 * What a page has to send with every change: it is told in an answer, which no other site can read, and follows from the
 * session's id, so that nothing more is stored.
 */
export function csrfTokenOf({ id }: OperatorSession): string {
  return createHash("sha256").update(`csrf\0${id}`).digest("base64url");
}

/** Whether the token is the one of the session. */
export function isCsrfTokenOf(session: OperatorSession, token: string): boolean {
  const [right, given] = [Buffer.from(csrfTokenOf(session)), Buffer.from(token)];
  return right.length === given.length && timingSafeEqual(right, given);
}
