import type { AuthInternals } from "./authenticator.ts";
import { authenticateClient, type ClientRequest } from "./client-authentication.ts";
import { denyToken } from "./deny-token.ts";
import type { FailureLimiter } from "./failure-limiter.ts";
import { requireToken } from "./form.ts";
import { OAuthError } from "./oauth-error.ts";

/**
 * Revokes one of the client's own tokens (RFC 7009). A token that is not good, or is good no more, counts as revoked
 * (§2.2); another client's is refused (§2.1). On this node it holds at once, on others within a second.
 */
export async function revokeByClient(
  request: ClientRequest,
  internals: AuthInternals,
  failures: FailureLimiter,
): Promise<void> {
  const client = await authenticateClient(request, internals, failures);
  const text = requireToken(request.form);
  const good = await internals.readToken(text);
  if (good === undefined) return;
  if (good.token.clientId !== client.clientId) {
    throw new OAuthError("unauthorized_client", "This token was not issued to this client.");
  }
  await denyToken(internals.pool, good.token, `client:${client.clientId}`);
  await internals.directory.renew();
}
