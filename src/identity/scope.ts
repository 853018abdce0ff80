import { InputError } from "../platform/errors/operator-error.ts";
import { arrangeGrants, type Grant, type Grants, grantsInclude, parseGrant } from "./permissions.ts";
import { ROLES, type Role } from "./roles.ts";

/** Throws InputError for a word that is no role. */
export function readRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new InputError(`A role is one of ${ROLES.join(", ")}.`);
  return role;
}

/** The grant of every client code; only operators can have it. */
export const EVERYTHING = "*/*";
const GRANTS_MAX = 1_000;

/** The grants of an operator as those of a client, which cannot have that of everything. */
function grantsOf(texts: readonly string[]): Grant[] {
  return texts.map(parseGrant).filter((grant) => typeof grant !== "string");
}

/** Which properties an operator sees and changes. */
export class Scope {
  readonly grants: readonly string[];
  readonly isEverything: boolean;
  readonly #grants: Grants;

  /** `grants` as they are stored: `CLIENTCODE/PROPERTYCODE`, `CLIENTCODE/*` or that of everything. */
  constructor(grants: readonly string[]) {
    this.grants = grants;
    this.isEverything = grants.includes(EVERYTHING);
    this.#grants = arrangeGrants(grantsOf(grants));
  }

  permits(clientCode: string, propertyCode: string): boolean {
    return this.isEverything || grantsInclude(this.#grants, clientCode, propertyCode);
  }

  /** Whether every property of the client code is within. */
  permitsClientCode(clientCode: string): boolean {
    return this.permits(clientCode, "*");
  }

  /** Whether any property of the client code is within. */
  touches(clientCode: string): boolean {
    return this.isEverything || this.#grants.has(clientCode);
  }

  /** Whether somebody with these grants has nothing beyond this scope. Who has no grants yet may be given any: only everything covers that. */
  covers(grants: readonly Grant[]): boolean {
    if (this.isEverything) return true;
    return grants.length > 0 && grants.every((grant) => this.permits(grant.clientCode, grant.propertyCode));
  }

  /** `covers`, of the grants of another operator. */
  coversOperator(grants: readonly string[]): boolean {
    return this.isEverything || (this.covers(grantsOf(grants)) && !grants.includes(EVERYTHING));
  }

  /** The scope as a parameter of SQL, null for everything: see `isWithinKeys`. */
  get keys(): readonly string[] | null {
    return this.isEverything ? null : this.grants.map((grant) => grant.replace("/", "\n"));
  }
}

/** SQL: whether the codes of a table's row are within the scope whose `keys` are a parameter. No grant has a newline in a code. */
export function isWithinKeys(parameter: string, table = "property"): string {
  const [client, property] = [`${table}.client_code`, `${table}.property_code`];
  const is = (key: string) => `${client} || E'\\n' || ${key} = any (${parameter}::text[])`;
  return `(${parameter}::text[] is null or ${is("'*'")} or ${is(property)})`;
}

/** Checks the grants of an operator, and sorts them. Throws InputError. */
export function checkOperatorGrants(grants: readonly string[]): string[] {
  if (grants.length === 0)
    throw new InputError(`Name the properties: CLIENTCODE/PROPERTYCODE, CLIENTCODE/* or ${EVERYTHING}.`);
  if (grants.length > GRANTS_MAX) throw new InputError(`An operator has at most ${GRANTS_MAX} grants.`);
  if (grants.includes(EVERYTHING)) return [EVERYTHING];
  for (const grant of grants) {
    const read = parseGrant(grant);
    if (typeof read === "string") throw new InputError(read);
  }
  return [...new Set(grants)].sort();
}
