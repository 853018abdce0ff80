interface JsonLine {
  readonly at: number;
  readonly depth: number;
  /** RFC 6901 pointer of the value; `\0` for a closing bracket. */
  readonly pointer: string;
  readonly name?: string;
  readonly text: string;
}

/** A text that is truncated within a string ends it. */
const TOKEN = /\s+|"[^"\\]*(?:\\.[^"\\]*)*"?|[{}[\],:]|[^\s{}[\],:"]+/gy;

interface Level {
  readonly kind: "object" | "array";
  readonly pointer: string;
  index: number;
}

interface Token {
  readonly token: string;
  readonly at: number;
  /** The token after it. */
  readonly next: string | undefined;
}

function* tokensOf(text: string): Generator<Token> {
  let last: Omit<Token, "next"> | undefined;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.trim() === "") continue;
    if (last !== undefined) yield { ...last, next: token };
    last = { token, at: index };
  }
  if (last !== undefined) yield { ...last, next: undefined };
}

/**
 * Formats JSON text as lines with one pointer each, up to `linesMax`. Values stay verbatim; a truncated text is formatted up to its end.
 */
export function layOutJson(text: string, linesMax: number): { lines: JsonLine[]; isWhole: boolean } {
  const lines: JsonLine[] = [];
  const levels: Level[] = [];
  let name: { readonly text: string; readonly at: number } | undefined;
  for (const { token, at, next } of tokensOf(text)) {
    const top = levels.at(-1);
    const comma = next === "," ? "," : "";
    if (token === ":" || token === ",") {
      if (token === "," && top !== undefined) top.index += 1;
    } else if (token === "}" || token === "]") {
      levels.pop();
      const last = lines.at(-1);
      if (last !== undefined && /[{[]$/.test(last.text) && last.depth === levels.length)
        lines[lines.length - 1] = { ...last, text: `${last.text}${token}${comma}` };
      else lines.push({ at, depth: levels.length, pointer: "\0", text: token + comma });
    } else if (next === ":" && name === undefined && top?.kind === "object") {
      name = { text: token, at };
    } else {
      if (lines.length >= linesMax) return { lines, isWhole: false };
      const pointer = pointerOf(top, name?.text);
      const opens = token === "{" || token === "[";
      lines.push({
        at: name?.at ?? at,
        depth: levels.length,
        pointer,
        ...(name === undefined ? {} : { name: name.text }),
        text: opens ? token : token + comma,
      });
      if (opens) levels.push({ kind: token === "{" ? "object" : "array", pointer, index: 0 });
      name = undefined;
    }
  }
  return { lines, isWhole: true };
}

function pointerOf(level: Level | undefined, name: string | undefined): string {
  if (level === undefined) return "";
  if (level.kind === "array") return `${level.pointer}/${level.index}`;
  return `${level.pointer}/${escapeName(name ?? '""')}`;
}

/** RFC 6901, section 3: `~` is `~0` and `/` is `~1`. */
function escapeName(quoted: string): string {
  let name = quoted.slice(1, -1);
  try {
    name = JSON.parse(quoted) as string;
  } catch {
    // Truncated within a name: no pointer.
  }
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
