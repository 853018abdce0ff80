import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { OperatorError } from "../errors/operator-error.ts";

/** The database and this version of the code do not belong together; the message says how, in one line. */
export class MigrationError extends OperatorError {}

/**
 * What an older version has to know of a migration (docs/upgrades.md):
 * - `expand`: nothing. It only adds, so the version before goes on working and may be started again.
 * - `contract`: it takes away what no version since `oldest` uses. Older ones are refused from then on.
 */
export type MigrationKind = "expand" | "contract";

export interface Migration {
  readonly name: string;
  readonly checksum: string;
  readonly sql: string;
  readonly kind: MigrationKind;
  /** Of a contract migration: the oldest version that works without what it takes away. */
  readonly oldest: string | null;
  /** The index that it builds while rows are written, outside a transaction; null for all others. */
  readonly concurrentIndex: string | null;
}

export const MIGRATIONS_DIRECTORY = new URL("../../../sql/migrations/", import.meta.url);

/** The migrations of this code, in order. Throws MigrationError for a name or number out of order, or a mark that says nothing. */
export async function readMigrations(directory: URL = MIGRATIONS_DIRECTORY): Promise<Migration[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(
    names.map(async (name, index) => {
      const number = Number(/^(\d{4})-[a-z0-9]+(?:-[a-z0-9]+)+\.sql$/.exec(name)?.[1]);
      if (number !== index + 1) {
        throw new MigrationError(
          `The migration ${name} is not named NNNN-verb-noun.sql with the next number.`,
        );
      }
      const sql = await readFile(new URL(name, directory), "utf8");
      const checksum = createHash("sha256").update(sql).digest("hex");
      return { name, sql, checksum, ...marksOf(name, sql) };
    }),
  );
}

function marksOf(name: string, sql: string): Pick<Migration, "kind" | "oldest" | "concurrentIndex"> {
  const [, mark] = /^-- (contract|concurrently)\b/.exec(sql) ?? [];
  if (mark === "contract") {
    const oldest = /^-- contract (\d+\.\d+\.\d+): /.exec(sql)?.[1];
    if (oldest !== undefined) return { kind: "contract", oldest, concurrentIndex: null };
    throw new MigrationError(
      `The migration ${name} does not begin with "-- contract 1.2.3: why", the oldest version that works after it.`,
    );
  }
  if (mark === "concurrently") {
    // PostgreSQL takes several statements in one message for a transaction, in which it builds no index so.
    const [, index, schema] =
      /^(?:--[^\n]*\n)+create (?:unique )?index concurrently (\w+)\s+on (\w+)\.\w[^;]*;?\s*$/i.exec(sql) ??
      [];
    if (index !== undefined) return { kind: "expand", oldest: null, concurrentIndex: `${schema}.${index}` };
    throw new MigrationError(
      `The migration ${name} is marked "-- concurrently" and is not one "create index concurrently name on schema.table".`,
    );
  }
  return { kind: "expand", oldest: null, concurrentIndex: null };
}
