import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { WebhookInputError } from "./endpoint-address.ts";
import { newSecret } from "./signature.ts";

/** The live secrets of endpoint $1, newest first. */
const LIST = namedStatement(
  "list-webhook-secrets",
  `select slot, encrypted_secret as encrypted
  from bellhop.webhook_secret
  where endpoint_id = $1 and (expires_at is null or expires_at > clock_timestamp())
  order by created_at desc, slot desc`,
);
/** Stores the encrypted secret $3 in slot $2 of endpoint $1. */
const PUT = namedStatement(
  "put-webhook-secret",
  `insert into bellhop.webhook_secret (endpoint_id, slot, encrypted_secret) values ($1, $2, $3)
  on conflict (endpoint_id, slot) do update
  set encrypted_secret = excluded.encrypted_secret, created_at = clock_timestamp(), expires_at = null`,
);
/** Expires the secret in slot $2 of endpoint $1 in $3 seconds, unless it expires sooner. */
const EXPIRE = namedStatement(
  "expire-webhook-secret",
  `update bellhop.webhook_secret
  set expires_at = least(expires_at, clock_timestamp() + make_interval(secs => $3))
  where endpoint_id = $1 and slot = $2
  returning expires_at as "expiresAt"`,
);

/** Default overlap: a receiver has a day to deploy the new secret. */
const OVERLAP_SECONDS = 86_400;
const OVERLAP_SECONDS_MAX = 30 * 86_400;

const nameOf = (endpointId: string, slot: number) => `webhook secret ${endpointId}/${slot}`;

/** Creates a secret for an endpoint and returns it. A new endpoint's goes into slot 1. */
export async function putSecret(
  on: Queryable,
  cipher: SecretCipher,
  endpointId: string,
  slot = 1,
): Promise<string> {
  const secret = newSecret();
  const encrypted = cipher.encrypt(nameOf(endpointId, slot), Buffer.from(secret));
  await on.query({ ...PUT, values: [endpointId, slot, encrypted] });
  return secret;
}

async function liveSecrets(on: Queryable, endpointId: string) {
  return (await on.query<{ slot: number; encrypted: string }>({ ...LIST, values: [endpointId] })).rows;
}

/** The secrets that sign an endpoint's messages, newest first. */
export async function readLiveSecrets(
  on: Queryable,
  cipher: SecretCipher,
  endpointId: string,
): Promise<string[]> {
  const live = await liveSecrets(on, endpointId);
  return live.map(({ slot, encrypted }) => cipher.decrypt(nameOf(endpointId, slot), encrypted).toString());
}

/**
 * Creates a new secret and returns it; it is not shown again. For `overlapSeconds` (0 to 30 days, default one) messages are also signed
 * with the previous one. Uses the caller's transaction. Throws WebhookInputError.
 */
export async function rotateWebhookSecret(
  on: Queryable,
  cipher: SecretCipher,
  endpointId: string,
  overlapSeconds = OVERLAP_SECONDS,
): Promise<{ readonly secret: string; readonly previousExpiresAt: Date | null }> {
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > OVERLAP_SECONDS_MAX)
    throw new WebhookInputError("overlapSeconds must be 0 seconds to 30 days.");
  const [newest] = await liveSecrets(on, endpointId);
  const secret = await putSecret(on, cipher, endpointId, newest?.slot === 1 ? 2 : 1);
  if (newest === undefined) return { secret, previousExpiresAt: null };
  const values = [endpointId, newest.slot, overlapSeconds];
  const expired = await on.query<{ expiresAt: Date }>({ ...EXPIRE, values });
  return { secret, previousExpiresAt: expired.rows[0]?.expiresAt ?? null };
}
