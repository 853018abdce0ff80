import { BackupError } from "../backup/backup-error.ts";
import { type Database, type DatabaseConfig, openDatabase } from "../db/open-database.ts";
import type { Logger } from "../observe/log.ts";
import { operatorMessage } from "./operator-error.ts";

const POOL_SIZE = 4;

/**
 * Opens, as it is found, a database that an option of the command line names, to be filled. What is wrong with it is said of the
 * option. Throws BackupError.
 */
export async function openNamed(
  option: string,
  config: DatabaseConfig & { readonly databaseUrl: string },
  log: Logger,
): Promise<Database> {
  try {
    return await openDatabase(config, log, { poolSize: POOL_SIZE, leavesSchema: true });
  } catch (cause) {
    const message = operatorMessage(cause, { DATABASE_URL: config.databaseUrl });
    if (message === undefined) throw cause;
    throw new BackupError(message.replaceAll("DATABASE_URL", option), { cause });
  }
}
