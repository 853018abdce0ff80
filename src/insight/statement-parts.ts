import { readStatement, type Statement } from "../db/statement.ts";

const PART = /\/\* part: ([a-z-]+)(?: by ([a-z_, ]+))? \*\//g;
/** Which columns a moment is of differs from statement to statement. */
const MOMENT = /\bmoment\b/g;

function textOfPart(name: string, moment: string | undefined): string {
  const { text } = readWithParts(new URL(`./sql/parts/${name}.sql`, import.meta.url));
  return `\n${moment === undefined ? text : withoutComments(text).replace(MOMENT, moment)}`;
}

function withoutComments(text: string): string {
  return text.replaceAll(/^--.*\n/gm, "");
}

/**
 * Reads a statement that is made of parts which others have, too: a part of `sql/parts`, which may have parts itself, stands where
 * the statement names it by `part: its-name` in a comment; `by` says which columns it takes for its moment.
 */
export function readWithParts(url: URL): Statement {
  const { name, text } = readStatement(url);
  return {
    name,
    text: text.replaceAll(PART, (_, part: string, moment?: string) => textOfPart(part, moment)),
  };
}
