import { readFileSync } from "node:fs";
import { basename } from "node:path";

/** One SQL statement in a file of its own. `name` makes it a prepared statement of the connection that runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Where the statement of each name stands. */
const places = new Map<string, string>();

/** Texts by the names under which statements have them. */
export type Texts = Readonly<Record<string, string>>;

const HOLE = /\{([a-z./-]+)(?: of ([^}]+))?\}/g;

/** The text of a file with its holes filled: see `readStatement`. */
export function composeText(url: URL, texts: Texts): string {
  return readFileSync(url, "utf8").replace(
    HOLE,
    (_, name: string, of: string | undefined) =>
      texts[name] ??
      `\n${composeText(new URL(`${name}.sql`, url), of === undefined ? texts : { ...texts, of })}`,
  );
}

/**
 * Reads a statement that stands beside the module that uses it: `readStatement(new URL("../../db/sql/append.sql", import.meta.url))`.
 * In it `{name}` stands for a text that is given, and else for the file of that path (`{parts/name}`: seen from the file that says so).
 * `{parts/name of home.bucket}` gives that file the text `{of}`. Throws where another file of the process has the same name: a connection that ran the one would refuse the other.
 */
export function readStatement(url: URL, texts: Texts = {}): Statement {
  const name = basename(url.pathname, ".sql");
  const place = places.get(name);
  if (place !== undefined && place !== url.pathname)
    throw new Error(`Two statements are called ${name}: ${place} and ${url.pathname}.`);
  places.set(name, url.pathname);
  return { name, text: composeText(url, texts) };
}

/** A statement of at most ten lines that stands in the code that runs it; longer ones have a file (`readStatement`). */
export function namedStatement(name: string, text: string): Statement {
  return { name, text };
}
