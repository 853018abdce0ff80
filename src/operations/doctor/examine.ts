import { type Config, ConfigError } from "../../config.ts";
import { sqlState } from "../../platform/db/database-errors.ts";
import { hasCluster } from "../../platform/db/embedded/home.ts";
import { readUnfinished } from "../../platform/db/migrate.ts";
import { type Database, openDatabase } from "../../platform/db/open-database.ts";
import { createLogger } from "../../platform/telemetry/log.ts";
import { type Check, type DatabaseSubject, error, type Finding, warning } from "./finding.ts";
import { SCHEMA_CHECKS } from "./schema-checks.ts";
import { SERVER_CHECKS } from "./server-checks.ts";
import { settings } from "./settings-check.ts";

/** Input of an examination. */
export interface Examined {
  /** Reads the settings as the service would; may throw ConfigError. */
  readConfig(): Config;
  /** Describes an error in one line for an operator. */
  explain(error: unknown): string;
}

/** Statement timeout: the database may be in trouble. */
const ANSWER_MS_MAX = 10_000;
const POOL_SIZE = 2;
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Checks settings, database and contents. Read-only: no migration, no new cluster; starts a stopped embedded server for the check. A check
 * that cannot run becomes a finding.
 */
export async function examine({ readConfig, explain }: Examined): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    return [
      error(
        "settings.readable",
        cause.message,
        "The service does not start.",
        "Set it to a valid value: docs/configuration.md.",
      ),
    ];
  }
  const ofSettings = await runAll([settings], config, explain);
  return [...ofSettings, ...(await examineDatabase(config, explain))];
}

async function examineDatabase(config: Config, explain: Examined["explain"]): Promise<readonly Finding[]> {
  let database: Database;
  try {
    if (config.databaseUrl === undefined && !(await hasCluster(config.dataDir)))
      return [
        warning(
          "database.reach",
          `${config.dataDir} contains no database yet.`,
          "The first start creates one. If one exists, DATA_DIR or DATABASE_URL differs from the service's.",
          "Start the service, or give this command the service's environment.",
        ),
      ];
    database = await openForExamination(config);
  } catch (cause) {
    return [
      error(
        "database.reach",
        explain(cause),
        "The service cannot work without its database: batches, reads and tokens are answered 503, and it does not start.",
        "Fix this, then run the command again: nothing else was checked.",
      ),
    ];
  }
  try {
    return await examineOpened({ config, database }, explain);
  } finally {
    await database.close();
  }
}

function openForExamination(config: Config): Promise<Database> {
  const log = createLogger({ level: "error", pretty: process.stderr.isTTY === true, fileDescriptor: 2 });
  // Unsafe durability must be a finding, not an error when opening.
  return openDatabase({ ...config, allowUnsafeDurability: true }, log, {
    role: "command",
    poolSize: POOL_SIZE,
    answerMsMax: ANSWER_MS_MAX,
    leavesSchema: true,
  });
}

async function examineOpened(
  subject: DatabaseSubject,
  explain: Examined["explain"],
): Promise<readonly Finding[]> {
  const ofServer = await runAll(SERVER_CHECKS, subject, explain);
  const { rows } = await subject.database.pool.query<{ there: boolean }>(
    "select to_regclass('bellhop.accept_log') is not null as there",
  );
  // The tables of an unfinished database are not checked: it is being filled, or was left by a move.
  const isFinished = (await readUnfinished(subject.database.pool)) === undefined;
  if (rows[0]?.there !== true || !isFinished) return ofServer;
  return [...ofServer, ...(await runAll(SCHEMA_CHECKS, subject, explain))];
}

/** Sequentially, to limit the load on a system in trouble. */
async function runAll<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  explain: Examined["explain"],
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const { name, run } of checks)
    try {
      const found = await run(subject);
      findings.push(...("id" in found ? [found] : found));
    } catch (cause) {
      const isForbidden = sqlState(cause) === INSUFFICIENT_PRIVILEGE;
      findings.push(
        (isForbidden ? warning : error)(
          `${name}.look`,
          `The check failed: ${explain(cause)}`,
          "Its state is unknown.",
          isForbidden
            ? "Make the service's role a member of pg_monitor."
            : "Fix the cause or the other findings. If the database lacks migrations, start the service first.",
        ),
      );
    }
  return findings;
}
