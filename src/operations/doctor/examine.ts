import { type Config, ConfigError } from "../../config.ts";
import { hasCluster } from "../../platform/db/embedded/home.ts";
import { type Database, openDatabase } from "../../platform/db/open-database.ts";
import { sqlState } from "../../platform/db/sql-state.ts";
import { readUnfinished } from "../../platform/db/unfinished.ts";
import { createLogger } from "../../platform/telemetry/log.ts";
import { appliers } from "./checks/appliers.ts";
import { backups } from "./checks/backups.ts";
import { clock } from "./checks/clock.ts";
import { connections } from "./checks/connections.ts";
import { disk } from "./checks/disk.ts";
import { erasures } from "./checks/erasures.ts";
import { keys } from "./checks/keys.ts";
import { leftovers } from "./checks/leftovers.ts";
import { logWriters } from "./checks/log-writers.ts";
import { migrations } from "./checks/migrations.ts";
import { partitions } from "./checks/partitions.ts";
import { quarantine } from "./checks/quarantine.ts";
import { replication } from "./checks/replication.ts";
import { retention } from "./checks/retention.ts";
import { rights } from "./checks/rights.ts";
import { secrets } from "./checks/secrets.ts";
import { server } from "./checks/server.ts";
import { settings } from "./checks/settings.ts";
import { tables } from "./checks/tables.ts";
import { transactions } from "./checks/transactions.ts";
import { webhooks } from "./checks/webhooks.ts";
import { writeAheadLog } from "./checks/write-ahead-log.ts";
import { type Check, type Finding, trouble } from "./finding.ts";
import type { DatabaseSubject } from "./subject.ts";

/** Of the settings alone. */
const SETTINGS_CHECKS: readonly Check<Config>[] = [settings];

/** Of the server, whatever is in the database. */
const SERVER_CHECKS: readonly Check<DatabaseSubject>[] = [
  server,
  rights,
  connections,
  transactions,
  replication,
  writeAheadLog,
  disk,
  clock,
  migrations,
];

/** Of the service's own tables, as the migrations of this version have made them. */
const SCHEMA_CHECKS: readonly Check<DatabaseSubject>[] = [
  tables,
  partitions,
  keys,
  secrets,
  appliers,
  logWriters,
  quarantine,
  erasures,
  retention,
  backups,
  webhooks,
  leftovers,
];

/** What an examination is begun with. */
export interface Examined {
  /** The settings as the service would read them; may throw ConfigError. */
  readConfig(): Config;
  /** An error in one line for an operator. */
  explain(error: unknown): string;
}

/** A look that takes longer is given up and told: the doctor comes to systems that are not well. */
const ANSWER_MS_MAX = 10_000;
const POOL_SIZE = 2;
const INSUFFICIENT_PRIVILEGE = "42501";

/**
 * Looks at the settings, the database and what the service keeps in it, and changes nothing: no migration, no new cluster.
 * (An embedded server that does not run is started for as long as it takes.) What cannot be looked at is a finding too.
 */
export async function examine({ readConfig, explain }: Examined): Promise<readonly Finding[]> {
  let config: Config;
  try {
    config = readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [
      trouble("fail", "settings.readable", {
        says: error.message,
        means: "The service does not start.",
        advice: "Set it to what it takes: docs/configuration.md.",
      }),
    ];
  }
  const ofSettings = await runAll(SETTINGS_CHECKS, config, explain);
  return [...ofSettings, ...(await examineDatabase(config, explain))];
}

async function examineDatabase(config: Config, explain: Examined["explain"]): Promise<readonly Finding[]> {
  if (config.databaseUrl === undefined && !(await hasCluster(config.dataDir)))
    return [
      trouble("warn", "database.reach", {
        says: `There is no database in ${config.dataDir} yet.`,
        means:
          "The first start makes one. Where there has been one, DATA_DIR or DATABASE_URL is not what the service has.",
        advice: "Start the service, or give this command the service's environment.",
      }),
    ];
  let database: Database;
  try {
    database = await openToLook(config);
  } catch (error) {
    return [
      trouble("fail", "database.reach", {
        says: explain(error),
        means:
          "The service cannot work without its database: batches, reads and tokens are answered 503, and it does not start.",
        advice: "Mend what the line says; then ask again, for all else has not been looked at.",
      }),
    ];
  }
  try {
    return await examineOpened({ config, database }, explain);
  } finally {
    await database.close();
  }
}

function openToLook(config: Config): Promise<Database> {
  const log = createLogger({ level: "error", pretty: process.stderr.isTTY === true, fileDescriptor: 2 });
  // Durability that is off is a finding, not the end of the look.
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
  // What lies in one that is not finished is nobody's yet, or nobody's any more.
  const isFinished = (await readUnfinished(subject.database.pool)) === undefined;
  if (rows[0]?.there !== true || !isFinished) return ofServer;
  return [...ofServer, ...(await runAll(SCHEMA_CHECKS, subject, explain))];
}

/** One after another: a system that is not well is not asked everything at once. */
async function runAll<Subject>(
  checks: readonly Check<Subject>[],
  subject: Subject,
  explain: Examined["explain"],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checks) findings.push(...(await runOne(check, subject, explain)));
  return findings;
}

async function runOne<Subject>(
  check: Check<Subject>,
  subject: Subject,
  explain: Examined["explain"],
): Promise<readonly Finding[]> {
  try {
    return await check.run(subject);
  } catch (error) {
    const isForbidden = sqlState(error) === INSUFFICIENT_PRIVILEGE;
    return [
      trouble(isForbidden ? "warn" : "fail", `${check.name}.look`, {
        says: `This could not be looked at: ${explain(error)}`,
        means: "Nothing is known of it.",
        advice: isForbidden
          ? "Make the service's role a member of pg_monitor."
          : "Mend what the line says, or what the other findings say; where the database is behind, start the service first.",
      }),
    ];
  }
}
