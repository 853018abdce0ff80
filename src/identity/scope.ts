import { InputError } from "../platform/errors/operator-error.ts";
import { arrangeGrants, type Grant, type Grants, grantsInclude, parseGrant } from "./grants.ts";
import { ROLES, type Role } from "./roles.ts";

/** Throws InputError unless the text is a role. */
export function readRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw new InputError(`A role must be one of ${ROLES.join(", ")}.`);
  return role;
}

/** The grant of every client code. Only operators can hold it, not clients. */
export const EVERYTHING = "*/*";
const GRANTS_MAX = 1_000;

/** An operator's grants in the form of client grants, without EVERYTHING. */
function grantsOf(texts: readonly string[]): Grant[] {
  return texts.map(parseGrant).filter((grant) => typeof grant !== "string");
}

/** The properties that an operator may read and change. */
export class Scope {
  readonly grants: readonly string[];
  readonly isEverything: boolean;
  readonly #grants: Grants;

  /** `grants` as stored: `CLIENTCODE/PROPERTYCODE`, `CLIENTCODE/*` or EVERYTHING. */
  constructor(grants: readonly string[]) {
    this.grants = grants;
    this.isEverything = grants.includes(EVERYTHING);
    this.#grants = arrangeGrants(grantsOf(grants));
  }

  permits(clientCode: string, propertyCode: string): boolean {
    return this.isEverything || grantsInclude(this.#grants, clientCode, propertyCode);
  }

  /** Whether the scope includes every property of the client code. */
  permitsClientCode(clientCode: string): boolean {
    return this.permits(clientCode, "*");
  }

  /** The client codes that the scope includes wholly, and its properties of others. Does not know of EVERYTHING. */
  get parts(): { readonly wholly: readonly string[]; readonly single: readonly Grant[] } {
    const wholly = [...this.#grants.keys()].filter((clientCode) => this.permitsClientCode(clientCode));
    const others = [...this.#grants].filter(([clientCode]) => !this.permitsClientCode(clientCode));
    const single = others.flatMap(([clientCode, properties]) =>
      [...properties].map((propertyCode) => ({ clientCode, propertyCode })),
    );
    return { wholly, single };
  }

  /** Whether the scope includes any property of the client code. */
  touches(clientCode: string): boolean {
    return this.isEverything || this.#grants.has(clientCode);
  }

  /** Whether the scope includes all these grants. Only EVERYTHING covers an empty list, because its holder may get any grant later. */
  covers(grants: readonly Grant[]): boolean {
    if (this.isEverything) return true;
    return grants.length > 0 && grants.every((grant) => this.permits(grant.clientCode, grant.propertyCode));
  }

  /** `covers` for another operator's grants. */
  coversOperator(grants: readonly string[]): boolean {
    return this.isEverything || (this.covers(grantsOf(grants)) && !grants.includes(EVERYTHING));
  }

  /** The scope as an SQL parameter (`isWithinKeys`); null means everything. */
  get keys(): readonly string[] | null {
    return this.isEverything ? null : this.grants.map((grant) => grant.replace("/", "\n"));
  }
}

/** Grants in the form of `Scope.keys`. */
export const keysOf = (grants: Grants): string[] =>
  [...grants].flatMap(([clientCode, properties]) =>
    [...properties].map((propertyCode) => `${clientCode}\n${propertyCode}`),
  );

/** SQL condition: the codes of a table's row are within the scope passed as `parameter`. Codes in grants contain no newline. */
export function isWithinKeys(parameter: string, table = "property"): string {
  const [client, property] = [`${table}.client_code`, `${table}.property_code`];
  const is = (key: string) => `${client} || E'\\n' || ${key} = any (${parameter}::text[])`;
  return `(${parameter}::text[] is null or ${is("'*'")} or ${is(property)})`;
}

/** Validates and sorts an operator's grants. Throws InputError. */
export function checkOperatorGrants(grants: readonly string[]): string[] {
  if (grants.length === 0)
    throw new InputError(`Name the properties: CLIENTCODE/PROPERTYCODE, CLIENTCODE/* or ${EVERYTHING}.`);
  if (grants.length > GRANTS_MAX) throw new InputError(`An operator can have at most ${GRANTS_MAX} grants.`);
  if (grants.includes(EVERYTHING)) return [EVERYTHING];
  for (const grant of grants) {
    const read = parseGrant(grant);
    if (typeof read === "string") throw new InputError(read);
  }
  return [...new Set(grants)].sort();
}
