import { readStatement } from "../../db/statement.ts";
import type { Queryable } from "../../db/transaction.ts";
import { RESOURCE_LETTERS, type ResourceLetter } from "../../state/version-tables.ts";
import { type Retained, settingOfTerm, writeTerm } from "./terms.ts";

const setTermStatement = readStatement(new URL("./sql/set-term.sql", import.meta.url));
const unsetTermStatement = readStatement(new URL("./sql/unset-term.sql", import.meta.url));

/** What a term is set of: all resources where none is named. */
export interface TermOf {
  readonly clientCode: string;
  readonly kind: Retained;
  readonly resource: ResourceLetter | undefined;
}

function namesOf({ kind, resource }: TermOf): string[] {
  const resources = resource === undefined ? RESOURCE_LETTERS : [resource];
  return resources.map((letter) => settingOfTerm(kind, letter));
}

/** Sets a term (milliseconds, Infinity for ever); the caller writes the audit entry in the same transaction. */
export async function setTerm(on: Queryable, of: TermOf, ms: number): Promise<void> {
  await on.query({ ...setTermStatement, values: [of.clientCode, namesOf(of), writeTerm(ms)] });
}

/** Takes a term back, so that the one of every client code holds, or none. Answers how many there were. */
export async function unsetTerm(on: Queryable, of: TermOf): Promise<number> {
  const { rowCount } = await on.query({ ...unsetTermStatement, values: [of.clientCode, namesOf(of)] });
  return rowCount ?? 0;
}
