import type { Addresses } from "./authenticator.ts";
import { SCOPES } from "./scopes.ts";

const CLIENT_AUTHENTICATION = ["client_secret_basic", "client_secret_post"];

/** Paths of the OAuth endpoints, relative to the token server's address. */
export const AUTH_PATHS = {
  token: "/api/oauth2/token",
  revoke: "/api/oauth2/revoke",
  introspect: "/api/oauth2/introspect",
  keys: "/.well-known/jwks.json",
  metadata: "/.well-known/oauth-authorization-server",
} as const;

/**
 * The metadata document (RFC 8414 §2). Its `issuer` must be the address under which it is served (§3.3); see
 * docs/decisions/0002-token-issuer.md.
 */
export function describeAuthorizationServer({ authUrl }: Addresses): Record<string, unknown> {
  return {
    issuer: authUrl,
    token_endpoint: authUrl + AUTH_PATHS.token,
    jwks_uri: authUrl + AUTH_PATHS.keys,
    revocation_endpoint: authUrl + AUTH_PATHS.revoke,
    introspection_endpoint: authUrl + AUTH_PATHS.introspect,
    scopes_supported: SCOPES,
    // Required by RFC 8414; empty, because there is no authorization endpoint.
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
    revocation_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
    introspection_endpoint_auth_methods_supported: CLIENT_AUTHENTICATION,
  };
}
