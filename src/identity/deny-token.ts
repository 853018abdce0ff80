import type { Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { changeAuth } from "./change.ts";

const DENY_TOKEN = namedStatement(
  "deny-token",
  `insert into bellhop.denied_token (jti, client_id, expires_at, changed_epoch)
  values ($1, $2, coalesce(to_timestamp($3::float8 / 1000), clock_timestamp() + make_interval(secs => $4)), $5)
  on conflict (jti) do nothing
  returning jti`,
);

/** The longest that any token issued until now can still be good. */
const LONGEST_LIFE_SECONDS = TOKEN_SECONDS + TOKEN_LEEWAY_SECONDS;

/**
 * Puts a token on the denylist, with an audit entry. Without `expiresAt` (seconds since 1970) the denial stands as long
 * as any token can live. False when it was there already.
 */
export async function denyToken(
  pool: Pool,
  token: { readonly tokenId: string; readonly clientId: string | undefined; readonly expiresAt?: number },
  who: string,
): Promise<boolean> {
  const { tokenId, clientId, expiresAt } = token;
  return changeAuth(pool, async (change) => {
    const expiresAtMs = expiresAt === undefined ? null : expiresAt * 1000;
    const values = [tokenId, clientId ?? null, expiresAtMs, LONGEST_LIFE_SECONDS, change.epoch];
    const denied = await change.connection.query({ ...DENY_TOKEN, values });
    if (denied.rowCount === 0) return false;
    await change.audit({ who, what: "revoke-token", clientId, detail: { tokenId } });
    return true;
  });
}
