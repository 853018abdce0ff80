/** Scopes of tokens, each named after the resource it opens (docs/contract.md, "Authorisation"). */
export const TOKEN_SCOPES = [
  "inventories:write",
  "reservations:write",
  "groups:write",
  "read",
  "insight:read",
  "webhooks",
] as const;

/** Scopes that a client uses with its credentials, without a token: introspection (RFC 7662). */
const CREDENTIAL_SCOPES = ["introspect"] as const;

export const SCOPES = [...TOKEN_SCOPES, ...CREDENTIAL_SCOPES] as const;

export type Scope = (typeof SCOPES)[number];

const tokenScopes: ReadonlySet<string> = new Set(TOKEN_SCOPES);
const known: ReadonlySet<string> = new Set(SCOPES);

/** The scope required to send batches of a resource. */
export function writeScopeOf<Name extends string>(resource: Name): `${Name}:write` {
  return `${resource}:write`;
}

/** Whether the scope can be given to a client. */
export function isKnownScope(scope: string): scope is Scope {
  return known.has(scope);
}

/** The client's scopes that its tokens carry. */
export function scopesForTokens(scopes: Iterable<string>): string[] {
  return [...scopes].filter((scope) => tokenScopes.has(scope));
}

/**
 * Chooses the scopes of a token (RFC 6749 §3.3). Without `asked`, all that the client has; `undefined` (invalid_scope) if one is unknown,
 * not the client's, or not for tokens.
 */
export function chooseScopes(asked: string | undefined, granted: readonly string[]): string[] | undefined {
  const available = scopesForTokens(granted);
  if (asked === undefined) return available;
  const wanted = [...new Set(asked.split(" ").filter((scope) => scope !== ""))];
  if (wanted.length === 0) return available;
  return wanted.every((scope) => available.includes(scope)) ? wanted : undefined;
}
