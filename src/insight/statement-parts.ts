import { readStatement, type Statement } from "../db/statement.ts";

const PART = /\/\* part: ([a-z-]+)(?: by ([a-z_, ]+))? \*\//g;
/** Which columns a moment is of differs from statement to statement. */
const MOMENT = /\bmoment\b/g;

/** Of the ledger itself, and no insight's. */
const RUNS_OF_EXCHANGE = "runs-of-exchange";

function placeOf(part: string): URL {
  const folder = part === RUNS_OF_EXCHANGE ? "../ledger/sql" : "./sql/parts";
  return new URL(`${folder}/${part}.sql`, import.meta.url);
}

function textOfPart(name: string, moment: string | undefined): string {
  const { text } = readWithParts(placeOf(name));
  return `\n${moment === undefined ? text : withoutComments(text).replace(MOMENT, moment)}`;
}

function withoutComments(text: string): string {
  return text.replaceAll(/^--.*\n/gm, "");
}

/**
 * Reads a statement that is made of parts which others have, too: a part of `sql/parts` (or the runs of exchanges), which may have
 * parts itself, stands where the statement names it by `part: its-name` in a comment; `by` says which columns it takes for its moment.
 */
export function readWithParts(url: URL): Statement {
  const { name, text } = readStatement(url);
  return {
    name,
    text: text.replaceAll(PART, (_, part: string, moment?: string) => textOfPart(part, moment)),
  };
}
