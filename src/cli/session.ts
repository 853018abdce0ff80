import { userInfo } from "node:os";
import type pg from "pg";
import { type Config, readConfig } from "../config.ts";
import { createSecretCipher, type SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { withSession } from "../platform/db/connection.ts";
import { findLockHolder } from "../platform/db/lock-waits.ts";
import { type Database, type DatabaseOptions, openDatabase } from "../platform/db/open-database.ts";
import { OperatorError } from "../platform/errors/operator-error.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import { createLogger, type Logger } from "../platform/telemetry/log.ts";
import type { Progress } from "./progress.ts";

const POOL_SIZE = 4;
const LOCK_CHECK_MS = 400;

/** An opened database. */
export interface Opened {
  readonly config: Config;
  readonly database: Database;
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly cipher: SecretCipher;
  /** The operator for the audit log: `cli:<user>`. */
  readonly who: string;
}

/** Opens what a command needs at first use, and closes it afterwards. */
export class Session {
  readonly environment: NodeJS.ProcessEnv;
  readonly #progress: Progress;
  readonly #openPayloads: (pool: pg.Pool, cipher: SecretCipher) => () => void;

  /** `openPayloads`: lets commands decrypt stored payloads, until the function that it returns is called. */
  constructor(
    environment: NodeJS.ProcessEnv,
    progress: Progress,
    openPayloads: (pool: pg.Pool, cipher: SecretCipher) => () => void,
  ) {
    this.environment = environment;
    this.#progress = progress;
    this.#openPayloads = openPayloads;
  }

  /** The operator for the audit log. A container's user may have no name. */
  get who(): string {
    try {
      return `cli:${userInfo().username}`;
    } catch {
      return `cli:uid ${process.getuid?.() ?? "unknown"}`;
    }
  }

  config(): Config {
    return readConfig(this.environment);
  }

  /** Logs warnings and errors to standard error, as standard output is the command's; shows other messages as progress. */
  #log(): Logger {
    const onInfo = (message: string) => this.#progress.show(message);
    return createLogger({ level: "info", pretty: process.stderr.isTTY === true, fileDescriptor: 2, onInfo });
  }

  /** The service's database, whether the service runs or not. Throws NoInstallation if none was ever started, unless `first`. */
  database<Result>(
    work: (opened: Opened) => Promise<Result>,
    { first = false }: { readonly first?: boolean } = {},
  ): Promise<Result> {
    return this.#use({ role: "command", existing: !first }, work);
  }

  /** A separate connection, for work that needs a session. */
  connection<Result>(
    name: string,
    work: (client: pg.Client, opened: Opened) => Promise<Result>,
    options?: { readonly first?: boolean },
  ): Promise<Result> {
    return this.database(
      (opened) => withSession(opened.database.clientConfig, name, (client) => work(client, opened)),
      options,
    );
  }

  /** Opens the database as the service does: fails if one is running and prevents starts. */
  asService<Result>(existing: boolean, work: (opened: Opened) => Promise<Result>): Promise<Result> {
    return this.#use({ role: "service", leavesSchema: true, existing }, work);
  }

  /** Opens the database given by an option, to fill it. Throws OperatorError that names the option. */
  named<Result>(
    option: string,
    databaseUrl: string,
    work: (opened: Opened) => Promise<Result>,
  ): Promise<Result> {
    const explain = async (cause: unknown) => {
      const { failureText } = await import("./failure-text.ts");
      const message = failureText(cause, { DATABASE_URL: databaseUrl });
      if (message === undefined) throw cause;
      throw new OperatorError(message.replaceAll("DATABASE_URL", option), { cause });
    };
    return this.#use({ leavesSchema: true }, work, { ...this.config(), databaseUrl }, explain);
  }

  /** Shows who holds a lock that the command waits for. Failed checks are ignored. */
  #watchLocks(pool: pg.Pool): Repeat {
    let isWaiting = false;
    const check = async () => {
      const holder = await findLockHolder(pool);
      if (holder !== undefined)
        this.#progress.wait(
          `a lock is held by ${holder.program} (process ${holder.processId} of the database).`,
        );
      else if (isWaiting) this.#progress.resume();
      isWaiting = holder !== undefined;
    };
    return new Repeat(check, LOCK_CHECK_MS, () => undefined);
  }

  /** `explain`: replaces an error of opening. */
  async #use<Result>(
    options: DatabaseOptions,
    work: (opened: Opened) => Promise<Result>,
    config = this.config(),
    explain?: (cause: unknown) => Promise<never>,
  ): Promise<Result> {
    const { databaseUrl, dataDir, keyEncryptionKey, keyEncryptionKeysPrevious } = config;
    const log = this.#log();
    const name =
      databaseUrl === undefined ? `the embedded database of ${dataDir}` : "the database of DATABASE_URL";
    this.#progress.show(`opening ${name}`);
    const opening = openDatabase(config, log, { ...options, poolSize: POOL_SIZE });
    const database = await (explain === undefined ? opening : opening.catch(explain));
    this.#progress.stepOver();
    const cipher = createSecretCipher(keyEncryptionKey, keyEncryptionKeysPrevious);
    const closePayloads = this.#openPayloads(database.pool, cipher);
    const lockWaits = this.#watchLocks(database.pool);
    try {
      return await work({ config, database, pool: database.pool, log, cipher, who: this.who });
    } finally {
      await lockWaits.stop();
      closePayloads();
      this.#progress.show(`closing ${name}`);
      await database.close();
    }
  }
}
