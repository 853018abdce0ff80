import { readStatement, type Statement } from "../platform/db/statement.ts";

const PART = /\/\* part: ([a-z-]+)(?: by ([a-z_, ]+))?(?:, short ones where ([^*]+))? \*\//g;
/** Which columns a moment is of differs from statement to statement. */
const MOMENT = /\bmoment\b/g;
/** Where a part says which rows are of up to 31 nights, and of these not all may be asked for. */
const OF_SHORT_ONES = "/* and of short ones */";

/** Of the ledger itself, and no insight's. */
const RUNS_OF_DELTA = "runs-of-delta";

function placeOf(part: string): URL {
  const folder = part === RUNS_OF_DELTA ? "../apply/ledger/sql" : "./sql/parts";
  return new URL(`${folder}/${part}.sql`, import.meta.url);
}

function textOfPart(name: string, moment: string | undefined, condition: string | undefined): string {
  const { text } = readWithParts(placeOf(name));
  const asked = text.replaceAll(OF_SHORT_ONES, condition === undefined ? "" : `and ${condition}`);
  return `\n${moment === undefined ? asked : withoutComments(asked).replace(MOMENT, moment)}`;
}

function withoutComments(text: string): string {
  return text.replaceAll(/^--.*\n/gm, "");
}

/**
 * Reads a statement that is made of parts which others have, too: a part of `sql/parts` (or the runs of deltas), which may have
 * parts itself, stands where the statement names it by `part: its-name` in a comment; `by` says which columns it takes for its moment,
 * `short ones where` what else is to be true of rows of up to 31 nights.
 */
export function readWithParts(url: URL): Statement {
  const { name, text } = readStatement(url);
  return {
    name,
    text: text.replaceAll(PART, (_, part: string, moment?: string, condition?: string) =>
      textOfPart(part, moment, condition),
    ),
  };
}
