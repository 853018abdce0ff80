import type { Pool } from "pg";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { originOf } from "../platform/http/networks.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import { recordAudit } from "./audit.ts";
import type { LoginLimiter } from "./login-limiter.ts";
import { type OperatorSession, openSession } from "./operator-sessions.ts";
import { looksLikeOperatorName } from "./operators.ts";
import { looksLikePassword, matchesPassword } from "./passwords.ts";
import { useCode } from "./second-factor.ts";

const READ_CREDENTIALS = namedStatement(
  "read-operator-credentials",
  `select password_hash as "passwordHash", disabled_at is not null as "isDisabled", totp_since is not null as "hasTotp" from bellhop.operator where name = $1`,
);

/** Dependencies of a login on one thread. */
export interface LoginParts {
  readonly pool: Pool;
  readonly limiter: LoginLimiter;
  /** Hashes one password at a time, because the pool's threads also decompress bodies; client networks take turns. */
  readonly hashing: Semaphore;
  readonly cipher: SecretCipher;
  readonly log: Logger;
}

/** Malformed names share one entry, so they do not evict real ones from the limiter's memory. */
const limitedName = (name: string): string => (looksLikeOperatorName(name) ? name : "");

interface Credentials {
  readonly passwordHash: string | null;
  readonly isDisabled: boolean;
  readonly hasTotp: boolean;
}

/**
 * Whether name and password are an operator's. An unknown name, a disabled operator and a wrong password get the same error after the same
 * work. The attempt is counted first, so that concurrent guesses count too.
 */
async function checkPassword(
  { pool, hashing }: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<{ readonly known: Credentials | undefined; readonly isRight: boolean }> {
  // Malformed names never reach the database.
  const { rows } = await pool.query<Credentials>({ ...READ_CREDENTIALS, values: [limitedName(name)] });
  const [known] = rows;
  const matches = await hashing.run(
    () => matchesPassword(looksLikePassword(password) ? password : "", known?.passwordHash ?? undefined),
    originOf(address).site,
  );
  return { known, isRight: matches && known?.isDisabled === false };
}

/** Throws ConsoleError if the limiter requires a wait. */
export function requireAttempt(waitSeconds: number): void {
  if (waitSeconds > 0)
    throw new ConsoleError("bellhop.console.TooManyAttempts", { retryAfterSeconds: waitSeconds });
}

/** Logs an operator in. Throws ConsoleError, and SemaphoreFull if too many passwords are waiting to be checked. */
export async function logIn(
  parts: LoginParts,
  address: string,
  name: string,
  password: string,
  code: string | undefined,
): Promise<OperatorSession> {
  requireAttempt(parts.limiter.take(address, limitedName(name)));
  const { pool, log } = parts;
  const { known, isRight } = await checkPassword(parts, address, name, password);
  const who = `console:${name}`;
  if (known === undefined || !isRight) {
    // Only existing names are audited, as invented ones would fill the audit. Not awaited: the time would disclose that the name exists.
    if (known !== undefined)
      recordAudit(pool, { who, what: "refuse-login", detail: { address } }).catch((error: unknown) =>
        log.error({ err: error, name }, "a refused login could not be audited"),
      );
    throw new ConsoleError("bellhop.console.LoginFailed");
  }
  const { passwordHash, hasTotp } = known;
  if (hasTotp) {
    if (code === undefined) throw new ConsoleError("bellhop.console.CodeNeeded");
    await confirmCode(parts, address, name, code);
  }
  parts.limiter.forget(address, name);
  const session = await openSession(pool, name, { passwordHash, hasTotp });
  if (session === undefined) throw new ConsoleError("bellhop.console.LoginFailed");
  await recordAudit(pool, { who, what: "log-in", detail: { address } });
  return session;
}

/**
 * Uses up the operator's code; throws ConsoleError if it is wrong. Reached only with the correct password, so failures count regardless of
 * the address.
 */
export async function confirmCode(
  parts: LoginParts,
  address: string,
  name: string,
  code: string,
): Promise<void> {
  requireAttempt(parts.limiter.takeCode(name));
  const used = await useCode(parts, name, code);
  const who = `console:${name}`;
  if (used === undefined) {
    await recordAudit(parts.pool, { who, what: "refuse-login", detail: { address, code: "wrong" } });
    throw new ConsoleError("bellhop.console.CodeWrong");
  }
  parts.limiter.forgetCodes(name);
  if (used === "recovery")
    await recordAudit(parts.pool, { who, what: "use-recovery-code", detail: { address } });
}

/** Throws ConsoleError unless the password is the operator's own. Limited like a login. */
export async function confirmPassword(
  parts: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<void> {
  requireAttempt(parts.limiter.take(address, name));
  const { isRight } = await checkPassword(parts, address, name, password);
  if (!isRight) throw new ConsoleError("bellhop.console.LoginFailed");
  parts.limiter.forget(address, name);
}
