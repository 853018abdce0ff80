import pg from "pg";
import type { KeySealer } from "../accept/payload-keys.ts";
import { type ReplayReport, replay } from "../apply/replay.ts";
import { migrate } from "../db/migrate.ts";
import { readMigrations } from "../db/migration-files.ts";
import type { Logger } from "../observe/log.ts";
import { dropStateSchema, type StateDigest } from "../state/state-schema.ts";
import { BackupError } from "./backup-error.ts";
import { checkPayloadKeys, PAYLOAD_KEYS } from "./check-payload-keys.ts";
import { claimDatabase } from "./claim-database.ts";
import { analyzeTables, fillTable, moveIdentities, prepareTables } from "./fill-tables.ts";
import type { BackupHeader } from "./manifest.ts";
import { type BackupContent, readBackup, verifyBackup } from "./read-backup.ts";
import { settleFilled } from "./settle-filled.ts";

/** What a database says of itself that is being filled. */
export const FILLING_NOTE =
  "This database is being filled by bellhop restore or move, or one of them was cut off: run it again, it begins anew.";

export interface RestoreOptions {
  readonly path: string;
  readonly clientConfig: pg.ClientConfig;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Opens the keys that batches in the backup are sealed with. */
  readonly sealer: KeySealer;
  /** Finish also where the state that was rebuilt is not the one that the backup was taken of. */
  readonly acceptDifference: boolean;
  /** Nothing was accepted after the backup was taken: cursors and positions stay good. It has to hold the state. */
  readonly nothingLost: boolean;
  /** Run when everything is in place and before anybody may use it. */
  beforeUse?(client: pg.ClientBase): Promise<void>;
  /** Called with what is done now, and how far it is. */
  progress?(step: string): void;
}

export interface RestoreReport {
  readonly content: BackupContent;
  /** What the log was rebuilt to. */
  readonly rebuilt: StateDigest;
  /** Whether that, and the state itself where the backup held it, is the one that the backup was taken of. */
  readonly equal: boolean;
  readonly parts: number;
  readonly finished: boolean;
}

function sameState(one: StateDigest, other: StateDigest): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * The schema of the backup has to be one that this version has had: it is made first, filled, and brought up to date then.
 */
async function migrationsOf({ migrations }: BackupHeader): Promise<ReadonlySet<string>> {
  const ours = new Map((await readMigrations()).map(({ name, checksum }) => [name, checksum]));
  const other = migrations.find(({ name, checksum }) => ours.get(name) !== checksum);
  if (other !== undefined)
    throw new BackupError(
      `The backup has the migration ${other.name}, which this version of Bellhop does not know in that form: restore it with the version that wrote it or a newer one.`,
    );
  return new Set(migrations.map(({ name }) => name));
}

async function fill(client: pg.Client, options: RestoreOptions): Promise<BackupContent> {
  const { path, clientConfig, log, progress } = options;
  return readBackup(path, {
    async begin(header) {
      await migrate(clientConfig, log, { filling: await migrationsOf(header) });
      await prepareTables(client, header.tables);
    },
    table(description, parts) {
      progress?.(`filling ${description.table}`);
      return fillTable(client, description, parts);
    },
  });
}

/** Every migration of this version runs on what was filled in, as it would have on the database that was backed up. */
async function bringUpToDate(
  client: pg.Client,
  options: RestoreOptions,
  { header }: BackupContent,
): Promise<void> {
  const { clientConfig, log, progress } = options;
  await moveIdentities(client, header.tables);
  const all = new Set((await readMigrations()).map(({ name }) => name));
  await migrate(clientConfig, log, { filling: all });
  progress?.("counting what is in the tables");
  await analyzeTables(client, header.tables);
}

/** Rebuilds the state from the log; where the backup held none, that is the state from now on. */
async function rebuild(
  client: pg.Client,
  options: RestoreOptions,
  { header }: BackupContent,
): Promise<ReplayReport> {
  const { clientConfig, pool, progress } = options;
  const report = await replay({
    clientConfig,
    pool,
    swap: !header.withState,
    progress: (buckets, parts) => progress?.(`replaying the log: ${buckets} buckets, ${parts} parts`),
  });
  // What it replaced was empty.
  if (report.formerSchema !== null) await dropStateSchema(client, report.formerSchema);
  return report;
}

async function restoreInto(client: pg.Client, options: RestoreOptions): Promise<RestoreReport> {
  await claimDatabase(client, FILLING_NOTE);
  const content = await fill(client, options);
  await bringUpToDate(client, options, content);
  const { rebuilt, live, parts } = await rebuild(client, options, content);
  const { withState } = content.header;
  const expected = content.manifest.state;
  const equal = sameState(rebuilt, expected) && (!withState || sameState(live, expected));
  if (!equal && !options.acceptDifference) return { content, rebuilt, equal, parts, finished: false };
  await options.beforeUse?.(client);
  await settleFilled(client, options);
  return { content, rebuilt, equal, parts, finished: true };
}

/**
 * Fills an empty database with what a backup holds, rebuilds the state from its log, and compares it with the state that the
 * backup was taken of, by digest. The backup is read and checked whole, and its keys are tried, before anything is written. Until all is done the
 * database says of itself that it is not to be used, and a restore that is run again begins anew. Throws BackupError, and
 * DamagedBackupError for a file that is none or not whole.
 */
export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  options.progress?.("checking the backup");
  const { header, kept } = await verifyBackup(options.path, PAYLOAD_KEYS);
  if (kept !== undefined) checkPayloadKeys(kept, options.sealer, options.log);
  await migrationsOf(header);
  if (options.nothingLost && !header.withState)
    throw new BackupError(
      "Change numbers are of the state, which this backup does not hold: --nothing-lost is for one taken with --with-state.",
    );
  const client = new pg.Client({ ...options.clientConfig, application_name: "bellhop restore" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await restoreInto(client, options);
  } finally {
    await client.end().catch(() => undefined);
  }
}
