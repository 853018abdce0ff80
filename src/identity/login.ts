import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { originOf } from "../platform/http/networks.ts";
import type { Semaphore } from "../platform/runtime/semaphore.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import type { LoginLimiter } from "./attempt-limiters.ts";
import { recordAudit } from "./audit.ts";
import {
  looksLikeOperatorName,
  looksLikePassword,
  matchesPassword,
  type OperatorSession,
  openSession,
} from "./operators.ts";
import { useCode } from "./second-factor.ts";
import type { SecretCipher } from "./secret-cipher.ts";

const READ_CREDENTIALS = namedStatement(
  "read-operator-credentials",
  `select password_hash as "passwordHash", disabled_at is not null as "isDisabled", totp_since is not null as "hasTotp" from bellhop.operator where name = $1`,
);

/** What a login works with on one thread. */
export interface LoginParts {
  readonly pool: Pool;
  readonly limiter: LoginLimiter;
  /** One password at a time is hashed, as the pool's threads also inflate bodies; the networks that ask take turns. */
  readonly hashing: Semaphore;
  readonly cipher: SecretCipher;
  readonly log: Logger;
}

/** Names that cannot be are one, or they would push those that matter out of the limiter's memory. */
const limitedName = (name: string): string => (looksLikeOperatorName(name) ? name : "");

interface Credentials {
  readonly passwordHash: string | null;
  readonly isDisabled: boolean;
  readonly hasTotp: boolean;
}

/**
 * Whether a name and password are an operator's. An unknown name, a disabled operator and a wrong password are refused
 * alike and after the same work; the attempt is counted before the work, so that guesses sent at once count too.
 */
async function checkPassword(
  { pool, hashing }: LoginParts,
  address: string,
  name: string,
  password: string,
): Promise<{ readonly known: Credentials | undefined; readonly isRight: boolean }> {
  // Text that no name can be never reaches the database.
  const { rows } = await pool.query<Credentials>({ ...READ_CREDENTIALS, values: [limitedName(name)] });
  const [known] = rows;
  const matches = await hashing.run(
    () => matchesPassword(looksLikePassword(password) ? password : "", known?.passwordHash ?? undefined),
    originOf(address).site,
  );
  return { known, isRight: matches && known?.isDisabled === false };
}

/** Throws ConsoleError where a limiter has attempts wait. */
export function requireAttempt(waitSeconds: number): void {
  if (waitSeconds > 0)
    throw new ConsoleError("bellhop.console.TooManyAttempts", { retryAfterSeconds: waitSeconds });
}

/** Logs an operator in. Throws ConsoleError, and SemaphoreFull when too many passwords wait to be checked. */
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
    // Only existing names are audited: invented ones would fill the audit. Nobody waits for the entry, whose time would tell that the name exists.
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
 * Uses up a code of the operator's; throws ConsoleError for any other. Only who knows the password gets here: wrong ones count from
 * wherever they come.
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

/** Throws ConsoleError unless the password is the operator's own, limited and refused as a login is. */
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
