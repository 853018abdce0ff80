import { readFileSync } from "node:fs";
import { basename } from "node:path";

/** One SQL statement in a file of its own. `name` makes it a prepared statement of the connection that runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Reads a statement that stands beside the module that uses it: `readStatement(new URL("./sql/append.sql", import.meta.url))`. */
export function readStatement(url: URL): Statement {
  return { name: basename(url.pathname, ".sql"), text: readFileSync(url, "utf8") };
}
