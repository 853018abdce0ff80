import { userInfo } from "node:os";
import { createSealer } from "../auth/seal.ts";
import { type Config, readConfig } from "../config.ts";
import { type Database, openDatabase } from "../db/open-database.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import { openSealedPayloads } from "../threads/payload-sealing.ts";

/** What a command works with. */
export interface CommandContext {
  readonly config: Config;
  readonly database: Database;
  readonly log: Logger;
  /** Who, for the audit: `cli:<user>`. */
  readonly who: string;
}

/** Who runs a command, for the audit: a container may run it as a user that has no name. */
export function currentUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return `cli:uid ${process.getuid?.() ?? "unknown"}`;
  }
}

/**
 * Opens the service's database for one command, whether the service runs or not, and closes it afterwards. The log goes
 * to standard error, warnings and worse only, so that standard output is the command's own. Throws NoInstallation where no service
 * has ever started on it, unless the command may be the `first` there.
 */
export async function openForCommand(
  environment: NodeJS.ProcessEnv,
  work: (context: CommandContext) => Promise<number>,
  { first = false }: { readonly first?: boolean } = {},
): Promise<number> {
  const config = readConfig(environment);
  const log = createLogger({ level: "warn", pretty: process.stderr.isTTY === true, fileDescriptor: 2 });
  const database = await openDatabase(config, log, { role: "command", poolSize: 4, existing: !first });
  const sealer = createSealer(config.keyEncryptionKey, config.keyEncryptionKeysPrevious);
  const closePayloads = openSealedPayloads(database.pool, sealer);
  try {
    return await work({ config, database, log, who: currentUser() });
  } finally {
    closePayloads();
    await database.close();
  }
}
