import { readStatement } from "../../db/statement.ts";
import type { Queryable } from "../../db/transaction.ts";
import { newSecret } from "./signature.ts";
import { WebhookInputError } from "./webhook-input-error.ts";

const LIST = readStatement(new URL("./sql/list-webhook-secrets.sql", import.meta.url));
const PUT = readStatement(new URL("./sql/put-webhook-secret.sql", import.meta.url));
const EXPIRE = readStatement(new URL("./sql/expire-webhook-secret.sql", import.meta.url));

/** Wraps secrets for the database and opens them again; `name` is bound in (src/auth/seal.ts has it). */
export interface SecretSealer {
  seal(name: string, plain: Buffer): string;
  open(name: string, sealed: string): Buffer;
}

/** A receiver has a day to put the new secret in place. */
const OVERLAP_SECONDS = 86_400;
const OVERLAP_SECONDS_MAX = 30 * 86_400;

interface SecretRow {
  readonly slot: number;
  readonly sealed: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const nameOf = (endpointId: string, slot: number) => `webhook secret ${endpointId}/${slot}`;

async function put(on: Queryable, sealer: SecretSealer, endpointId: string, slot: number): Promise<string> {
  const secret = newSecret();
  const sealed = sealer.seal(nameOf(endpointId, slot), Buffer.from(secret));
  await on.query({ ...PUT, values: [endpointId, slot, sealed] });
  return secret;
}

/** Gives a new endpoint its first secret, and answers it. */
export function putFirstSecret(on: Queryable, sealer: SecretSealer, endpointId: string): Promise<string> {
  return put(on, sealer, endpointId, 1);
}

/** The secrets that messages of an endpoint are signed with now, the newest first. */
export async function readLiveSecrets(
  on: Queryable,
  sealer: SecretSealer,
  endpointId: string,
): Promise<string[]> {
  const { rows } = await on.query<SecretRow>({ ...LIST, values: [endpointId] });
  return rows.map(({ slot, sealed }) => sealer.open(nameOf(endpointId, slot), sealed).toString());
}

/** What a rotation left behind. */
export interface RotatedWebhookSecret {
  /** Shown here and never again. */
  readonly secret: string;
  /** Until then messages are signed with the former secret too; null where there was none. */
  readonly previousExpiresAt: Date | null;
}

/**
 * Gives an endpoint a new secret. Messages are signed with it and, for `overlapSeconds` (a day, at most 30; 0 when it leaked),
 * with the former one. Part of the caller's transaction. Throws WebhookInputError.
 */
export async function rotateWebhookSecret(
  on: Queryable,
  sealer: SecretSealer,
  endpointId: string,
  overlapSeconds = OVERLAP_SECONDS,
): Promise<RotatedWebhookSecret> {
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > OVERLAP_SECONDS_MAX)
    throw new WebhookInputError("The overlap is 0 seconds to 30 days.");
  const { rows } = await on.query<SecretRow>({ ...LIST, values: [endpointId] });
  const [newest] = rows;
  const secret = await put(on, sealer, endpointId, newest?.slot === 1 ? 2 : 1);
  if (newest === undefined) return { secret, previousExpiresAt: null };
  const values = [endpointId, newest.slot, overlapSeconds];
  const expired = await on.query<{ expiresAt: Date }>({ ...EXPIRE, values });
  return { secret, previousExpiresAt: expired.rows[0]?.expiresAt ?? null };
}
