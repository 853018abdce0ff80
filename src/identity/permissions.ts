/** Who is calling, and what that client may do at this moment. */
export interface Principal {
  readonly clientId: string;
  /** The token's scopes that the client still has. */
  readonly scopes: ReadonlySet<string>;
  readonly grants: Grants;
  /** Requests a second. */
  readonly requestRate: number;
  readonly requestBurst: number;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** Origins to which the client may have answers sent (`ReplyTo`), such as `https://partner.example`. */
  readonly replyToOrigins: readonly string[];
  /** The certification of the client that is open: what it does on the wire is noted. Null where none is. */
  readonly certificationId: string | null;
}

/** True when the principal may push and read this property. Compared byte for byte, as codes are. */
export function permits(principal: Principal, clientCode: string, propertyCode: string): boolean {
  return grantsInclude(principal.grants, clientCode, propertyCode);
}

/** True when both the token and the client have the scope. */
export function hasScope(principal: Principal, scope: string): boolean {
  return principal.scopes.has(scope);
}

/** What a token can allow, each named after the resource it opens (docs/contract.md, "Authorisation"). */
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

/** One pair of codes a client may push and read; `propertyCode` "*" is every property of the client code. */
export interface Grant {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** Grants arranged for asking: the property codes of each client code. */
export type Grants = ReadonlyMap<string, ReadonlySet<string>>;

const EVERY_PROPERTY = "*";

/** The longest code a record may carry (contract: "codes and ids 128"). */
const CODE_CHARACTERS_MAX = 128;

/** Arranges a list of grants for `grantsInclude`. */
export function arrangeGrants(list: Iterable<Grant>): Grants {
  const byClient = [...Map.groupBy(list, ({ clientCode }) => clientCode)];
  return new Map(byClient.map(([code, grants]) => [code, new Set(grants.map((one) => one.propertyCode))]));
}

/**
 * True when the pair is granted. A record whose property code is itself "*" is never covered by a wildcard's own
 * spelling: only a grant of every property covers it, which is what the star means anyway.
 */
export function grantsInclude(grants: Grants, clientCode: string, propertyCode: string): boolean {
  const properties = grants.get(clientCode);
  return properties !== undefined && (properties.has(EVERY_PROPERTY) || properties.has(propertyCode));
}

/**
 * Reads `CLIENTCODE/PROPERTYCODE` or `CLIENTCODE/*`. The first slash divides, so a property code may hold one.
 * Returns what is wrong as text. A wildcard client code is refused: it would give one partner every other's data.
 */
export function parseGrant(text: string): Grant | string {
  const slash = text.indexOf("/");
  if (slash < 0)
    return `"${text}" is not a grant: write CLIENTCODE/PROPERTYCODE, or CLIENTCODE/* for every property.`;
  return checkGrant({ clientCode: text.slice(0, slash), propertyCode: text.slice(slash + 1) });
}

/** Gives the grant back, or says what is wrong with it. */
export function checkGrant(grant: Grant): Grant | string {
  for (const code of [grant.clientCode, grant.propertyCode]) {
    // PostgreSQL cannot store NUL in text, and a control character in a code is never meant.
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
    return "A grant names its client code; only the property code may be *.";
  return grant;
}
