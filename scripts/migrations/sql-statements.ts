/** One statement of a migration, normalized for the rules. */
export interface SqlStatement {
  /** Lower case, single spaces, no comments; string literals as `'…'`, dollar-quoted bodies as `$$…$$`. */
  readonly text: string;
  /** The comments above it, without their dashes. */
  readonly comments: readonly string[];
}

/** The tokens of a migration, longest first: comment, string, dollar-quoted body, quoted name, end of statement. */
const TOKEN =
  /--[^\n]*|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|"(?:[^"]|"")*"|;|[^-/'$";]+|[-/$]/g;

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

/** Splits a text at commas outside parentheses. */
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
