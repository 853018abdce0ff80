import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type AuthAdmin, AuthInputError } from "./admin.ts";
import { changeAuth } from "./change.ts";
import { readForChange, type SecretSummary } from "./client-admin.ts";
import { checkSecretExpiry } from "./client-input.ts";
import { digestNewSecret, newClientSecret } from "./secrets.ts";

const LIST_SECRETS = readStatement(new URL("./sql/list-secrets.sql", import.meta.url));
const PUT_SECRET = readStatement(new URL("./sql/put-secret.sql", import.meta.url));
const EXPIRE_SECRET = namedStatement(
  "expire-secret",
  `update bellhop.client_secret
  set expires_at = least(coalesce(expires_at, 'infinity'), clock_timestamp() + make_interval(secs => $3))
  where client_id = $1 and slot = $2
  returning expires_at as "expiresAt"`,
);

/** A partner gets a day to put the new secret everywhere. */
const ROTATION_OVERLAP_SECONDS = 86_400;

const OVERLAP_SECONDS_MAX = 90 * 86_400;

/** What a rotation left behind. */
export interface RotatedSecret {
  readonly clientId: string;
  /** Shown here and never again. */
  readonly clientSecret: string;
  /** When the secret used until now ends; null when there was none alive. */
  readonly previousExpiresAt: Date | null;
  /** A still older secret that was alive and ended now, because two are the most a client may have. */
  readonly endedCreatedAt: Date | null;
}

/**
 * Gives a client a new secret. The one used until now stays good for `overlapSeconds`, so that nothing is refused
 * while the partner changes over; 0 ends it at once (it leaked). The new one ends by itself after `expiresSeconds`, or
 * never. Throws AuthInputError.
 */
export async function rotateSecret(
  { internals, who }: AuthAdmin,
  clientId: string,
  options: { readonly overlapSeconds?: number; readonly expiresSeconds?: number } = {},
): Promise<RotatedSecret> {
  const overlapSeconds = options.overlapSeconds ?? ROTATION_OVERLAP_SECONDS;
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > OVERLAP_SECONDS_MAX) {
    throw new AuthInputError("The overlap is 0 seconds to 90 days.");
  }
  const expiresSeconds = checkSecretExpiry(options.expiresSeconds);
  const clientSecret = newClientSecret();
  return changeAuth(internals.pool, async (change) => {
    await readForChange(change, clientId);
    const { rows } = await change.connection.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
    const live = rows.filter((secret) => secret.live);
    const previous = live.at(-1);
    const ended = live.length > 1 ? live[0] : undefined;
    const slot = previous?.slot === 1 ? 2 : 1;
    const { connection } = change;
    const peppers = { sealer: internals.sealer, known: internals.directory.peppers() };
    const { digest, pepper } = await digestNewSecret(connection, peppers, clientId, clientSecret);
    await connection.query({ ...PUT_SECRET, values: [clientId, slot, digest, expiresSeconds, pepper] });
    let previousExpiresAt: Date | null = null;
    if (previous !== undefined) {
      const expired = await change.connection.query<{ expiresAt: Date }>({
        ...EXPIRE_SECRET,
        values: [clientId, previous.slot, overlapSeconds],
      });
      previousExpiresAt = expired.rows[0]?.expiresAt ?? null;
    }
    const detail = { previousExpiresAt, endedCreatedAt: ended?.createdAt ?? null };
    await change.audit({ who, what: "rotate-secret", clientId, detail });
    return { clientId, clientSecret, ...detail };
  });
}

/**
 * Ends one secret of a client at once, whatever was agreed before: it leaked, or the partner has changed over. Tokens that
 * it was used for stay good. Throws AuthInputError when the client has no live secret in this slot.
 */
export async function endSecret(
  { internals, who }: AuthAdmin,
  clientId: string,
  slot: number,
): Promise<void> {
  await changeAuth(internals.pool, async (change) => {
    await readForChange(change, clientId);
    const { rows } = await change.connection.query<SecretSummary>({ ...LIST_SECRETS, values: [clientId] });
    if (!rows.some((secret) => secret.live && secret.slot === slot))
      throw new AuthInputError("The client has no such secret that is still good.");
    await change.connection.query({ ...EXPIRE_SECRET, values: [clientId, slot, 0] });
    await change.audit({ who, what: "end-secret", clientId, detail: { slot } });
  });
}
