import pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import { findRecords } from "./migration-records.ts";
import { readUnfinished } from "./unfinished.ts";

/** No service has started on this database yet; the message says what to do. */
export class NoInstallation extends OperatorError {
  constructor(where: string) {
    super(
      `There is no Bellhop in ${where} yet: start the service there first, or give this command the service's DATA_DIR or DATABASE_URL.`,
    );
  }
}

/**
 * Whoever works on an installation must not begin one: of a mistyped address there would be an empty one, and backups of that. Throws
 * NoInstallation for a database that has nothing of ours in it.
 */
export async function requireInstallation(config: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(config);
  client.on("error", () => undefined);
  await client.connect();
  try {
    if ((await findRecords(client)).length > 0 || (await readUnfinished(client)) !== undefined) return;
  } finally {
    await client.end();
  }
  throw new NoInstallation("the database");
}
