import type { Config } from "../config.ts";
import { appliers } from "./checks/appliers.ts";
import { backups } from "./checks/backups.ts";
import { clock } from "./checks/clock.ts";
import { connections } from "./checks/connections.ts";
import { disk } from "./checks/disk.ts";
import { erasures } from "./checks/erasures.ts";
import { keys } from "./checks/keys.ts";
import { lanes } from "./checks/lanes.ts";
import { leftovers } from "./checks/leftovers.ts";
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
import type { Check } from "./finding.ts";
import type { DatabaseSubject } from "./subject.ts";

/** Of the settings alone. */
export const SETTINGS_CHECKS: readonly Check<Config>[] = [settings];

/** Of the server, whatever is in the database. */
export const SERVER_CHECKS: readonly Check<DatabaseSubject>[] = [
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
export const SCHEMA_CHECKS: readonly Check<DatabaseSubject>[] = [
  tables,
  partitions,
  keys,
  secrets,
  appliers,
  lanes,
  quarantine,
  erasures,
  retention,
  backups,
  webhooks,
  leftovers,
];
