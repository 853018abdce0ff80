/** What a token can allow, each named after the resource it opens (contract: "Whoever may push what"). */
export const TOKEN_SCOPES = [
  "inventories:write",
  "reservations:write",
  "groups:write",
  "read",
  "insight:read",
  "webhooks",
] as const;

/** What a client's own credentials can allow, without any token: asking whether a token is good (RFC 7662). */
const CREDENTIAL_SCOPES = ["introspect"] as const;

export const SCOPES = [...TOKEN_SCOPES, ...CREDENTIAL_SCOPES] as const;

export type Scope = (typeof SCOPES)[number];

const tokenScopes: ReadonlySet<string> = new Set(TOKEN_SCOPES);
const known: ReadonlySet<string> = new Set(SCOPES);

/** The scope that a client needs to send batches of a resource. */
export function writeScopeOf(resource: string): string {
  return `${resource}:write`;
}

/** True for a scope that can be given to a client. */
export function isKnownScope(scope: string): scope is Scope {
  return known.has(scope);
}

/** The scopes of a client that a token of it carries. */
export function scopesForTokens(scopes: Iterable<string>): string[] {
  return [...scopes].filter((scope) => tokenScopes.has(scope));
}

/**
 * Decides the scopes of a token (RFC 6749 §3.3). Nothing asked for means all the client has; a scope that is
 * unknown, not the client's or not one of tokens makes the whole request `undefined` (invalid_scope).
 */
export function chooseScopes(asked: string | undefined, granted: readonly string[]): string[] | undefined {
  const available = scopesForTokens(granted);
  if (asked === undefined) return available;
  const wanted = [...new Set(asked.split(" ").filter((scope) => scope !== ""))];
  if (wanted.length === 0) return available;
  return wanted.every((scope) => available.includes(scope)) ? wanted : undefined;
}
