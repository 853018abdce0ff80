import { createHash, randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import type { Pool } from "pg";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { demand } from "./admin.ts";
import type { OperatorSession } from "./operator-sessions.ts";
import { changeOperator, type OperatorAdmin } from "./operators.ts";

/** $2: a new secret, in effect once a code has proved that an app has it. */
const BEGIN = namedStatement(
  "begin-totp",
  `update bellhop.operator set encrypted_totp_secret = $2 where name = $1 and totp_since is null`,
);
const READ = namedStatement(
  "read-totp",
  `select encrypted_totp_secret as encrypted, totp_since is not null as "isOn" from bellhop.operator where name = $1`,
);
/** Only if the secret is still the one verified ($2). */
const TURN_ON = namedStatement(
  "turn-on-totp",
  `update bellhop.operator set totp_since = clock_timestamp(), totp_step = $3, recovery_digests = $4
  where name = $1 and encrypted_totp_secret = $2 and totp_since is null`,
);
const TURN_OFF = namedStatement(
  "turn-off-totp",
  `update bellhop.operator set encrypted_totp_secret = null, totp_since = null, totp_step = null, recovery_digests = '{}'
  where name = $1`,
);
/** Each code is valid once: uses up its step and all earlier ones. */
const USE_STEP = namedStatement(
  "use-totp-step",
  `update bellhop.operator set totp_step = $2 where name = $1 and totp_since is not null and totp_step < $2`,
);
const USE_RECOVERY_CODE = namedStatement(
  "use-recovery-code",
  `update bellhop.operator set recovery_digests = array_remove(recovery_digests, $2)
  where name = $1 and totp_since is not null and $2 = any (recovery_digests)`,
);

/** RFC 6238 with the parameters of common authenticator apps. */
const SHAPE = { algorithm: "SHA1", digits: 6, period: 30 } as const;
const SECRET_BYTES = 20;
/** Accepted steps (30 s) before and after the current one, for slow typing and clock differences. */
const STEPS_ASIDE = 1;
const RECOVERY_CODES = 10;
/** 80 bits cannot be guessed, so the SHA-256 needs no salt. */
const RECOVERY_BYTES = 10;

interface SecondFactorParts {
  readonly pool: Pool;
  readonly cipher: SecretCipher;
}

const BEGIN_ANEW = "Start again with a new secret.";
const totpSecretName = (name: string): string => `operator totp ${name}`;
const digestOf = (recoveryCode: string): Buffer =>
  createHash("sha256").update(recoveryCode.toLowerCase().replaceAll(/[\s-]/g, "")).digest();

/** Creates a secret for an authenticator app, replacing an unconfirmed one. Throws AuthInputError. */
export async function beginTotp(
  { pool, cipher }: SecondFactorParts,
  name: string,
): Promise<{ readonly secret: string; readonly uri: string }> {
  const plain = randomBytes(SECRET_BYTES);
  const encrypted = cipher.encrypt(totpSecretName(name), plain);
  const { rowCount } = await pool.query({ ...BEGIN, values: [name, encrypted] });
  demand(rowCount === 1, "An authenticator app is already set up. Remove it first.");
  const totp = totpOf(plain, name);
  return { secret: totp.secret.base32, uri: totp.toString() };
}

/**
 * Requires codes at every login from now on and ends the other sessions. Returns the recovery codes, which are shown once. Throws
 * AuthInputError.
 */
export async function confirmTotp(
  { pool, cipher }: SecondFactorParts,
  who: string,
  { id, name }: OperatorSession,
  code: string,
): Promise<string[]> {
  const { encrypted, isOn } = await read(pool, name);
  demand(encrypted !== null && !isOn, BEGIN_ANEW);
  const step = stepOf(cipher.decrypt(totpSecretName(name), encrypted), name, code);
  demand(step !== undefined, "The code is incorrect. Check the clock of the device.");
  const codes = Array.from({ length: RECOVERY_CODES }, () => randomBytes(RECOVERY_BYTES).toString("hex"));
  // The other sessions were opened with the password alone.
  const values = [encrypted, step, codes.map(digestOf)];
  const change = { what: "turn-on-totp", statement: TURN_ON, values, refusal: BEGIN_ANEW };
  await changeOperator({ pool, who }, name, { ...change, endsSessions: true, except: id });
  return codes.map((each) => (each.match(/.{5}/g) ?? []).join("-"));
}

/**
 * Turns codes off, voids the recovery codes, and ends all sessions except the one with id `except`, because a lost device may hold one.
 * Throws AuthInputError for an unknown operator.
 */
export function resetTotp(admin: OperatorAdmin, name: string, except?: string): Promise<void> {
  return changeOperator(admin, name, { what: "reset-totp", statement: TURN_OFF, endsSessions: true, except });
}

/** Whether the code is a valid one of the operator's app or a recovery code. Uses it up. */
export async function useCode(
  { pool, cipher }: SecondFactorParts,
  name: string,
  code: string,
): Promise<"app" | "recovery" | undefined> {
  const { encrypted, isOn } = await read(pool, name);
  if (encrypted === null || !isOn) return undefined;
  if (!/^\d{6}$/.test(code)) {
    const { rowCount } = await pool.query({ ...USE_RECOVERY_CODE, values: [name, digestOf(code)] });
    return rowCount === 1 ? "recovery" : undefined;
  }
  const step = stepOf(cipher.decrypt(totpSecretName(name), encrypted), name, code);
  if (step === undefined) return undefined;
  const { rowCount } = await pool.query({ ...USE_STEP, values: [name, step] });
  return rowCount === 1 ? "app" : undefined;
}

async function read(pool: Pool, name: string): Promise<{ encrypted: string | null; isOn: boolean }> {
  const { rows } = await pool.query<{ encrypted: string | null; isOn: boolean }>({ ...READ, values: [name] });
  return rows[0] ?? { encrypted: null, isOn: false };
}

function totpOf(plain: Buffer, name: string): TOTP {
  const secret = new Secret({ buffer: new Uint8Array(plain).buffer });
  return new TOTP({ ...SHAPE, issuer: "Bellhop", label: name, secret });
}

/** The step of the code; undefined if it is wrong. */
function stepOf(plain: Buffer, name: string, code: string): number | undefined {
  const timestamp = Date.now();
  const delta = totpOf(plain, name).validate({ token: code, timestamp, window: STEPS_ASIDE });
  return delta === null ? undefined : TOTP.counter({ period: SHAPE.period, timestamp }) + delta;
}
