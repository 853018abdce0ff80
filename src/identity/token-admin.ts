import { namedStatement } from "../platform/db/statement.ts";
import { type IssuedToken, signAccessToken, TOKEN_LEEWAY_SECONDS, TOKEN_SECONDS } from "./access-token.ts";
import { type AuthAdmin, demand, isWhole } from "./admin.ts";
import { changeAuth, recordAudit } from "./audit.ts";
import type { AuthInternals } from "./authenticator.ts";
import { showClient } from "./client-admin.ts";
import { chooseScopes, scopesForTokens } from "./scopes.ts";

/**
 * Signs a token for a client without its secret, for an operator's tests. It does not count against the client's limit; the audit records
 * its id. Throws AuthInputError.
 */
export async function mintToken(
  { internals, who }: AuthAdmin,
  wanted: {
    readonly clientId: string;
    readonly scopes?: readonly string[] | undefined;
    readonly seconds?: number | undefined;
  },
): Promise<IssuedToken> {
  const { seconds = TOKEN_SECONDS } = wanted;
  demand(isWhole(seconds, 1, TOKEN_SECONDS), `A token's lifetime must be 1 to ${TOKEN_SECONDS} seconds.`);
  const { client } = await showClient({ internals, who }, wanted.clientId);
  demand(client.revokedAt === null, `The client ${client.clientId} is revoked.`);
  const scopes = chooseScopes(wanted.scopes?.join(" "), client.scopes);
  const has = scopesForTokens(client.scopes).join(", ") || "none";
  demand(
    scopes !== undefined && scopes.length > 0,
    `The scopes that a token of this client can carry: ${has}.`,
  );
  await internals.directory.renew();
  const key = internals.directory.signingKey();
  demand(key !== undefined, "No signing key is active (see bellhop key list).");
  const grant = { clientId: client.clientId, scopes, seconds };
  const token = await signAccessToken(grant, await internals.parties(), key, internals.directory.now());
  const detail = { tokenId: token.tokenId, scopes, seconds };
  await recordAudit(internals.pool, { who, what: "mint-token", clientId: client.clientId, detail });
  return token;
}

/** A token's id (`jti`) in the denylist. */
const TOKEN_ID_SHAPE = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Revokes a token, given in full or by its id (`jti`), on this node at once and on others within a second. `already` if it was revoked
 * before. Throws AuthInputError if the text is neither a valid token of this installation nor an id.
 */
export async function revokeToken(
  { internals, who }: AuthAdmin,
  tokenOrId: string,
): Promise<{ tokenId: string; clientId: string | undefined; already: boolean }> {
  const text = tokenOrId.trim();
  const token = TOKEN_ID_SHAPE.test(text)
    ? { tokenId: text, clientId: undefined }
    : (await internals.readToken(text))?.token;
  demand(token !== undefined, "This is neither the id of a token (jti) nor a valid token.");
  const denied = await denyToken(internals, token, who);
  return { tokenId: token.tokenId, clientId: token.clientId, already: !denied };
}

const DENY_TOKEN = namedStatement(
  "deny-token",
  `insert into bellhop.denied_token (jti, client_id, expires_at, changed_epoch)
  values ($1, $2, coalesce(to_timestamp($3::float8 / 1000), clock_timestamp() + make_interval(secs => $4)), $5)
  on conflict (jti) do nothing
  returning jti`,
);

/** Maximum remaining lifetime of any issued token. */
const LONGEST_LIFE_SECONDS = TOKEN_SECONDS + TOKEN_LEEWAY_SECONDS;

/**
 * Adds a token to the denylist, with an audit entry. Without `expiresAt` (seconds since 1970) the denial lasts for the longest token
 * lifetime. False if it was listed already.
 */
export async function denyToken(
  internals: AuthInternals,
  token: { readonly tokenId: string; readonly clientId: string | undefined; readonly expiresAt?: number },
  who: string,
): Promise<boolean> {
  const { tokenId, clientId, expiresAt } = token;
  return changeAuth(internals, async (change) => {
    const expiresAtMs = expiresAt === undefined ? null : expiresAt * 1000;
    const values = [tokenId, clientId ?? null, expiresAtMs, LONGEST_LIFE_SECONDS, change.epoch];
    const denied = await change.connection.query({ ...DENY_TOKEN, values });
    if (denied.rowCount === 0) return false;
    await change.audit({ who, what: "revoke-token", clientId, detail: { tokenId } });
    return true;
  });
}
