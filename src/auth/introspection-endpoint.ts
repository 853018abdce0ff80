import type { AuthInternals } from "./authenticator.ts";
import { type AuthenticatedClient, authenticateClient, type ClientRequest } from "./client-authentication.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import { requireToken } from "./form.ts";
import { OAuthError } from "./oauth-error.ts";

/** What an operator's tool learns of a token (RFC 7662 §2.2); of one that is not good, nothing but that. */
export type Introspection =
  | { readonly active: false }
  | ({ readonly active: true } & Record<string, unknown>);

/** Says whether a token is good, to clients that have the scope `introspect` and to nobody else. */
export async function introspectToken(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<Introspection> {
  const asker = await authenticateClient(request, internals, failures);
  requireIntrospectScope(asker);
  const good = await internals.readToken(requireToken(request.form));
  if (good === undefined) return { active: false };
  const { issuer, audience } = await internals.parties();
  const { token, client } = good;
  return {
    active: true,
    token_type: "Bearer",
    client_id: token.clientId,
    sub: token.clientId,
    // As a data endpoint would see it: without the scopes that the client has lost since.
    scope: token.scopes.filter((scope) => client.scopes.includes(scope)).join(" "),
    iss: issuer,
    aud: audience,
    iat: token.issuedAt,
    exp: token.expiresAt,
    jti: token.tokenId,
  };
}

function requireIntrospectScope(client: AuthenticatedClient): void {
  if (client.scopes.includes("introspect")) return;
  throw new OAuthError("unauthorized_client", "This client may not introspect tokens.", { status: 403 });
}
