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
  const grants = new Map<string, Set<string>>();
  for (const { clientCode, propertyCode } of list) {
    const properties = grants.get(clientCode);
    if (properties === undefined) grants.set(clientCode, new Set([propertyCode]));
    else properties.add(propertyCode);
  }
  return grants;
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
