import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { originOf } from "../platform/http/networks.ts";
import type { Gate } from "../platform/runtime/gate.ts";
import { recordAudit } from "./audit.ts";
import type { LoginLimiter } from "./login-limiter.ts";
import { looksLikeOperatorName } from "./operator-admin.ts";
import { type OperatorSession, openSession } from "./operator-session.ts";
import { looksLikePassword, matchesPassword } from "./password.ts";

const READ_CREDENTIALS = namedStatement(
  "read-operator-credentials",
  `select password_hash as "passwordHash", disabled_at is not null as disabled from bellhop.operator where name = $1`,
);

/** What a login works with on one thread. */
export interface LoginParts {
  readonly pool: Pool;
  readonly limiter: LoginLimiter;
  /** One password at a time is hashed, as the pool's threads also inflate bodies; the networks that ask take turns. */
  readonly hashing: Gate;
}

/** What became of an attempt; `waitSeconds` until another is looked at. */
export type LoginResult =
  | { readonly kind: "in"; readonly session: OperatorSession }
  | { readonly kind: "refused" }
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
): Promise<{ readonly isKnown: boolean; readonly right: boolean }> {
  // Text that no name can be never reaches the database.
  const asked = looksLikeOperatorName(name) ? name : "";
  const { rows } = await pool.query<{ passwordHash: string; disabled: boolean }>({
    ...READ_CREDENTIALS,
    values: [asked],
  });
  const row = rows[0];
  const { subnet, site } = originOf(address);
  const matches = await hashing.run(
    () => matchesPassword(looksLikePassword(password) ? password : "", row?.passwordHash),
    site?.network ?? subnet,
  );
  return { isKnown: row !== undefined, right: matches && row?.disabled === false };
}

/** Logs an operator in. Throws GateFull when too many passwords wait to be looked at. */
export async function logIn(
  parts: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<LoginResult> {
  const waitSeconds = parts.limiter.take(address, limitedName(name));
  if (waitSeconds > 0) return { kind: "limited", waitSeconds };
  const { isKnown, right } = await isRight(parts, address, name, password);
  if (!right) {
    // Of names that nobody has nothing is kept: whoever invents them would write the audit.
    if (isKnown)
      await recordAudit(parts.pool, { who: `console:${name}`, what: "refuse-login", detail: { address } });
    return { kind: "refused" };
  }
  parts.limiter.forget(address, name);
  const session = await openSession(parts.pool, name);
  await recordAudit(parts.pool, { who: `console:${name}`, what: "log-in", detail: { address } });
  return { kind: "in", session };
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
