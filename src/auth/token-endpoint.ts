import { type IssuedToken, signAccessToken } from "./access-token.ts";
import type { AuthInternals } from "./authenticator.ts";
import { type AuthenticatedClient, authenticateClient, type ClientRequest } from "./client-authentication.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import type { Form } from "./form.ts";
import { OAuthError } from "./oauth-error.ts";
import { chooseScopes, scopesForTokens } from "./scopes.ts";
import type { SigningKey } from "./signing-key.ts";
import { debitTokenBucket, type TokenAllowance } from "./token-bucket.ts";

/** A token and how many more its client may take. */
export interface TokenGrant {
  readonly token: IssuedToken;
  readonly allowance: TokenAllowance;
}

/** Hears how clients under certification take tokens. */
export interface TokenWatch {
  granted(certificationId: string, seconds: number): void;
  /** One too many was asked for. */
  limited(certificationId: string): void;
}

/**
 * Answers a token request: the client credentials grant (RFC 6749 §4.4; specification §4-5). The checks stand in the
 * order in which a caller sees them fail. The bucket is debited last, so a refused request costs the client nothing.
 */
export async function grantToken(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
  watch: TokenWatch | undefined,
): Promise<TokenGrant> {
  requireClientCredentialsGrant(request.form);
  const client = await authenticateClient(request, internals, failures);
  requireTokenScopes(client);
  const scopes = requireScopes(request.form, client);
  const key = await requireSigningKey(internals);
  const allowance = await requireAllowance(client, internals, watch);
  const { clientId, tokenSeconds, certificationId } = client;
  const grant = { clientId, scopes, ...(tokenSeconds === null ? {} : { seconds: tokenSeconds }) };
  const token = await signAccessToken(grant, await internals.parties(), key, internals.directory.now());
  if (certificationId !== null) watch?.granted(certificationId, token.expiresInSeconds);
  return { token, allowance };
}

function requireClientCredentialsGrant(form: Form): void {
  const grantType = form.get("grant_type");
  if (grantType === undefined)
    throw new OAuthError("invalid_request", "grant_type is missing: send client_credentials.");
  if (grantType !== "client_credentials") {
    throw new OAuthError("unsupported_grant_type", "The only grant_type is client_credentials.");
  }
}

function requireTokenScopes(client: AuthenticatedClient): void {
  if (scopesForTokens(client.scopes).length > 0) return;
  throw new OAuthError("unauthorized_client", "This client has no scope that a token could carry.");
}

function requireScopes(form: Form, client: AuthenticatedClient): string[] {
  const scopes = chooseScopes(form.get("scope"), client.scopes);
  if (scopes === undefined) {
    throw new OAuthError("invalid_scope", "A scope asked for is unknown or not granted to this client.");
  }
  return scopes;
}

async function requireSigningKey({ directory }: AuthInternals): Promise<SigningKey> {
  await directory.freshen();
  const key = directory.signingKey();
  if (key === undefined) throw new Error("no signing key is active: `bellhop key list` shows what there is");
  return key;
}

async function requireAllowance(
  client: AuthenticatedClient,
  internals: AuthInternals,
  watch: TokenWatch | undefined,
): Promise<TokenAllowance> {
  const { pool, config } = internals;
  const limit = { burst: client.tokenBurst ?? config.tokenBurst, strictHour: config.tokenStrictHour };
  const allowance = await debitTokenBucket(pool, client.clientId, limit);
  if (allowance.allowed) return allowance;
  if (client.certificationId !== null) watch?.limited(client.certificationId);
  throw new OAuthError("temporarily_unavailable", "rate limit exceeded", {
    headers: { "retry-after": String(allowance.waitSeconds), ...rateLimitHeaders(allowance) },
  });
}

/** The RateLimit fields of the IETF draft: the quota of an hour, what is left, and when one more comes back. */
export function rateLimitHeaders({ burst, remaining, waitSeconds }: TokenAllowance): Record<string, string> {
  return {
    "ratelimit-policy": `"token";q=${burst};w=3600`,
    ratelimit: `"token";r=${remaining};t=${waitSeconds}`,
  };
}
