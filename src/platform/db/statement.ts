import { readFileSync } from "node:fs";
import { basename } from "node:path";

/** One SQL statement in a file of its own. `name` makes it a prepared statement of the connection that runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Where the statement of each name stands. */
const places = new Map<string, string>();

/** Texts by the names under which statements have them; a function gets what follows `of`. */
export type Texts = Readonly<Record<string, string | ((of: string) => string)>>;

const HOLE = /\{([a-z./-]+)(?: of ([^{}]+))?\}/g;

/** The text of a file with its holes filled: see `readStatement`. */
export function composeText(url: URL, texts: Texts): string {
  return readFileSync(url, "utf8").replace(HOLE, (_, name: string, of: string | undefined) => {
    const text = texts[name];
    if (typeof text === "function") return text(of ?? "");
    return (
      text ?? `\n${composeText(new URL(`${name}.sql`, url), of === undefined ? texts : { ...texts, of })}`
    );
  });
}

/**
 * Reads a statement from a file: `readStatement(new URL("./sql/append.sql", import.meta.url))`. `{name}` is replaced by a text of `texts`,
 * or else by the file of that relative path; `{path of home.bucket}` sets `{of}` in that file. Throws if another file has the same name,
 * because statements are prepared under it.
 */
export function readStatement(url: URL, texts: Texts = {}): Statement {
  const name = basename(url.pathname, ".sql");
  const place = places.get(name);
  if (place !== undefined && place !== url.pathname)
    throw new Error(`Two statements are named ${name}: ${place} and ${url.pathname}.`);
  places.set(name, url.pathname);
  return { name, text: composeText(url, texts) };
}

/** A statement of at most ten lines; longer ones belong in a file (`readStatement`). */
export function namedStatement(name: string, text: string): Statement {
  return { name, text };
}
