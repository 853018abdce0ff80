/** One statement of a migration, as the rules read it. */
export interface SqlStatement {
  /** Lower case, single spaces, without comments; a text is `'…'`, a dollar-quoted body `$$…$$`. */
  readonly text: string;
  /** The comments above it, without their dashes. */
  readonly comments: readonly string[];
}

/** What may stand in a migration, longest first: a comment, a text, a dollar-quoted body, a quoted name, the end of a statement. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|"(?:[^"]|"")*"|;|[^-/'$";]+|[-/$]/g;

/** The statements of a file, in order. */
export function statementsOf(sql: string): SqlStatement[] {
  const statements: SqlStatement[] = [];
  let text = "";
  let comments: string[] = [];
  const end = () => {
    const whole = text.replace(/\s+/g, " ").trim();
    if (whole !== "") {
      statements.push({ text: whole, comments });
      comments = [];
    }
    text = "";
  };
  for (const [token] of sql.matchAll(TOKEN)) {
    if (token.startsWith("--")) comments.push(token.slice(2).trim());
    else if (token.startsWith("/*")) comments.push(token.slice(2, -2).trim());
    else if (token === ";") end();
    else if (token.startsWith("'")) text += "'…'";
    else if (/^\$\w*\$/.test(token)) text += "$$…$$";
    else text += token.startsWith('"') ? token : token.toLowerCase();
  }
  end();
  return statements;
}

/** Parts of a text between commas that stand in no parentheses. */
export function splitAtCommas(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let part = "";
  for (const character of text) {
    if (character === "(" || character === "[") depth += 1;
    if (character === ")" || character === "]") depth -= 1;
    if (character === "," && depth === 0) {
      parts.push(part.trim());
      part = "";
    } else part += character;
  }
  return [...parts, part.trim()];
}
