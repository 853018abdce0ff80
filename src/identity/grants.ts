import { CODE_CHARACTERS_MAX } from "#contract/schema/field.ts";

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
