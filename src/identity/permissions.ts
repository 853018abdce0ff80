import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";

/** The calling client and its current permissions. */
export interface Principal {
  readonly clientId: string;
  /** The token's scopes that the client still has. */
  readonly scopes: ReadonlySet<string>;
  readonly grants: Grants;
  /** Requests per second. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** Origins allowed in `ReplyTo`, such as `https://partner.example`. */
  readonly replyToOrigins: readonly string[];
  /** The client's open certification, which records evidence from its requests; null if there is none. */
  readonly certificationId: string | null;
}

/** Whether the principal may push and read this property. Codes are compared byte for byte. */
export function permits(principal: Principal, clientCode: string, propertyCode: string): boolean {
  return grantsInclude(principal.grants, clientCode, propertyCode);
}

/** Whether both the token and the client have the scope. */
export function hasScope(principal: Principal, scope: string): boolean {
  return principal.scopes.has(scope);
}

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
export function writeScopeOf(resource: string): string {
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

/** A property that a client may push and read; `propertyCode` "*" is every property of the client code. */
export interface Grant {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** Grants indexed for lookup: the property codes of each client code. */
export type Grants = ReadonlyMap<string, ReadonlySet<string>>;

const EVERY_PROPERTY = "*";

export function arrangeGrants(list: Iterable<Grant>): Grants {
  const byClient = [...Map.groupBy(list, ({ clientCode }) => clientCode)];
  return new Map(byClient.map(([code, grants]) => [code, new Set(grants.map((one) => one.propertyCode))]));
}

/** Whether the property is granted. A property whose code is literally "*" needs a grant of every property. */
export function grantsInclude(grants: Grants, clientCode: string, propertyCode: string): boolean {
  const properties = grants.get(clientCode);
  return properties !== undefined && (properties.has(EVERY_PROPERTY) || properties.has(propertyCode));
}

/**
 * Parses `CLIENTCODE/PROPERTYCODE` or `CLIENTCODE/*`, or returns an error message. Splits at the first slash, as property codes may contain
 * one. Refuses a wildcard client code, which would grant one partner access to the data of all others.
 */
export function parseGrant(text: string): Grant | string {
  const slash = text.indexOf("/");
  if (slash < 0)
    return `"${text}" is not a grant: write CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for every property.`;
  return checkGrant({ clientCode: text.slice(0, slash), propertyCode: text.slice(slash + 1) });
}

/** Returns the grant, or an error message. */
export function checkGrant(grant: Grant): Grant | string {
  for (const code of [grant.clientCode, grant.propertyCode]) {
    // PostgreSQL cannot store NUL in text; other control characters in a code are mistakes.
    if (
      code.length === 0 ||
      code.length > CODE_CHARACTERS_MAX ||
      /\p{Cc}/u.test(code) ||
      !code.isWellFormed()
    ) {
      return `A grant's codes have 1 to ${CODE_CHARACTERS_MAX} characters and no control characters.`;
    }
  }
  if (grant.clientCode === EVERY_PROPERTY)
    return "A grant must name a client code; only the property code may be *.";
  return grant;
}
