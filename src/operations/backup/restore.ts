import { isDeepStrictEqual } from "node:util";
import type pg from "pg";
import { type ReplayReport, replay } from "../../apply/replay.ts";
import { dropStateSchema, type StateDigest } from "../../apply/state/state-schema.ts";
import type { ShowStep } from "../../cli/progress.ts";
import { decryptEachPayloadKey, type StoredPayloadKey } from "../../ingest/log/payload-keys.ts";
import type { SecretCipher } from "../../platform/crypto/secret-cipher.ts";
import { withSession } from "../../platform/db/connection.ts";
import {
  clearUnfinished,
  markUnfinished,
  migrate,
  readMigrations,
  readUnfinished,
  UNFINISHED_SCHEMA,
} from "../../platform/db/migrate.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import type { Logger } from "../../platform/telemetry/log.ts";
import type { ErasureListFile } from "../../privacy/erasure/erasure-list.ts";
import { carryOutList } from "../../privacy/erasure/run-erasure.ts";
import { analyzeTables, fillTable, moveIdentities, prepareTables } from "./fill-tables.ts";
import type { BackupHeader } from "./manifest.ts";
import { type BackupContent, type CopiedRow, readBackup, verifyBackup } from "./read-backup.ts";
import { settleFilled } from "./settle-filled.ts";

/** Advisory lock of the process that fills a database; an arbitrary constant. */
const FILLING_LOCK = 7_302_011;

/** Bellhop's schemas, including those of interrupted replays. */
const OUR_SCHEMAS = `select quote_ident(nspname) as name from pg_namespace
  where nspname in ('bellhop', 'bellhop_state', 'bellhop_migration', 'bellhop_unfinished', 'analytics')
    or nspname like 'bellhop\\_replay\\_%'`;

/** Drops partitions one by one first: a log of years has more than one transaction can lock. */
async function dropSchemas(client: pg.ClientBase, schemas: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select format('%I.%I', namespace.nspname, part.relname) as name
    from pg_class as part join pg_namespace as namespace on namespace.oid = part.relnamespace
    where part.relispartition and part.relkind = 'r' and quote_ident(namespace.nspname) = any ($1::text[])`,
    [schemas],
  );
  for (const { name } of rows) await client.query(`drop table ${name}`);
  await client.query(`drop schema ${schemas.join(", ")} cascade`);
}

/** Locks a database for filling until the session ends. Throws OperatorError if it is locked already. */
export async function lockFilling(client: pg.ClientBase): Promise<void> {
  const lock = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
    FILLING_LOCK,
  ]);
  if (lock.rows[0]?.taken !== true)
    throw new OperatorError("Another restore or move is filling this database: wait for its end.");
}

/**
 * Claims an empty database: until it is filled, every command that starts on it fails with `note`. Drops the remains of an interrupted
 * attempt; throws OperatorError if the database contains other Bellhop schemas.
 */
export async function claimDatabase(client: pg.ClientBase, note: string): Promise<void> {
  // Durability is only needed for the last commits (`settleFilled`), which wait for all earlier ones.
  await client.query("set synchronous_commit = off");
  const { rows } = await client.query<{ name: string }>(OUR_SCHEMAS);
  if (rows.length > 0) {
    const unfinished = await readUnfinished(client);
    if (unfinished?.isDisposable !== true)
      throw new OperatorError(
        "The database contains a Bellhop installation. Use an empty one (a new database, or another DATA_DIR).",
      );
    // Drop the mark that permits dropping last.
    const names = rows.map(({ name }) => name).filter((name) => name !== UNFINISHED_SCHEMA);
    await dropSchemas(client, [...names, UNFINISHED_SCHEMA]);
  }
  await markUnfinished(client, { note, isDisposable: true });
}

/** The tables whose rows a restore checks before it begins. */
const PAYLOAD_KEYS = "bellhop.payload_key";
const INSTANCE = "bellhop.instance";

function storedKeys(rows: readonly CopiedRow[]): StoredPayloadKey[] {
  return rows.map((row) => ({
    keyId: row["key_id"]?.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") ?? "",
    encrypted: row["encrypted_key"]?.toString() ?? "",
    isCurrent: row["retired_at"] === null,
  }));
}

/**
 * Throws OperatorError if the backup's current payload key cannot be decrypted, because the replay would fail on its batches, possibly
 * hours later.
 */
function checkPayloadKeys(keys: readonly CopiedRow[], cipher: SecretCipher, log: Logger): void {
  try {
    decryptEachPayloadKey(storedKeys(keys), cipher, (keyId) =>
      log.warn(
        { keyId },
        "a retired payload key cannot be decrypted: payloads encrypted under it cannot be restored",
      ),
    );
  } catch (cause) {
    const message = `Batches in the backup are encrypted and could not be read, so nothing was restored: ${(cause as Error).message}`;
    throw new OperatorError(message, { cause });
  }
}

/** Throws OperatorError for the list of another installation: a list contains the profile key of its own. */
function checkErasureList({ profileKey }: ErasureListFile, instance: readonly CopiedRow[]): void {
  const row = instance.find(({ name }) => name?.toString() === "privacy.list");
  if (row?.["value"]?.toString() !== profileKey)
    throw new OperatorError(
      "The erasure list belongs to another installation than the backup, so nothing was restored. Use the list that this installation exported.",
    );
}

/** Error of every command on a database that is being filled. */
export const FILLING_NOTE =
  "A bellhop restore or move that fills this database is running or was interrupted: run it again; it starts over.";

export interface RestoreOptions {
  readonly path: string;
  readonly clientConfig: pg.ClientConfig;
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Decrypts the keys that batches in the backup are encrypted with. */
  readonly cipher: SecretCipher;
  /** Finish even if the rebuilt state differs from the backup's. */
  readonly acceptDifference: boolean;
  /** Nothing was accepted after the backup, so cursors and positions remain valid. Requires a backup with state. */
  readonly nothingLost: boolean;
  /** Erasures to carry out as `who` after everything is restored and before the database can be used. */
  readonly erasures?: { readonly list: ErasureListFile; readonly who: string } | undefined;
  readonly onStep?: ShowStep;
}

export interface RestoreReport {
  readonly content: BackupContent;
  /** Digest of the state rebuilt from the log. */
  readonly rebuilt: StateDigest;
  /** Whether it, and the backup's state if included, equals the state at the time of the backup. */
  readonly equal: boolean;
  readonly parts: number;
  readonly finished: boolean;
}

/** The migrations of the backup's schema, which this version must know: the schema is created, filled, and then migrated. */
async function migrationsOf({ migrations }: BackupHeader): Promise<ReadonlySet<string>> {
  const ours = new Map((await readMigrations()).map(({ name, checksum }) => [name, checksum]));
  const other = migrations.find(({ name, checksum }) => ours.get(name) !== checksum);
  if (other !== undefined)
    throw new OperatorError(
      `The backup has the migration ${other.name}, which this version of Bellhop does not have in that form: restore it with the version that wrote it or a newer one.`,
    );
  return new Set(migrations.map(({ name }) => name));
}

async function fill(client: pg.Client, options: RestoreOptions): Promise<BackupContent> {
  const { path, clientConfig, log, onStep } = options;
  return readBackup(path, {
    async begin(header) {
      await migrate(clientConfig, log, { filling: await migrationsOf(header) });
      await prepareTables(client, header.tables);
    },
    table(description, parts, share) {
      onStep?.(`filling ${description.table}`, share);
      return fillTable(client, description, parts);
    },
  });
}

/** Runs this version's remaining migrations on the restored data. */
async function migrateRestored(
  client: pg.Client,
  options: RestoreOptions,
  { header }: BackupContent,
): Promise<void> {
  const { clientConfig, log, onStep } = options;
  await moveIdentities(client, header.tables);
  const all = new Set((await readMigrations()).map(({ name }) => name));
  await migrate(clientConfig, log, { filling: all });
  onStep?.("collecting statistics of the tables");
  await analyzeTables(client, header.tables);
}

/** Rebuilds the state from the log; it becomes the live state if the backup had none. */
async function rebuild(
  client: pg.Client,
  options: RestoreOptions,
  { header }: BackupContent,
): Promise<ReplayReport> {
  const { clientConfig, pool, onStep } = options;
  const swap = !header.withState;
  const report = await replay({ clientConfig, pool, swap, ...(onStep === undefined ? {} : { onStep }) });
  // The replaced state was empty.
  if (report.formerSchema !== null) await dropStateSchema(client, report.formerSchema);
  return report;
}

async function restoreInto(client: pg.Client, options: RestoreOptions): Promise<RestoreReport> {
  await lockFilling(client);
  await claimDatabase(client, FILLING_NOTE);
  const content = await fill(client, options);
  await migrateRestored(client, options, content);
  const { rebuilt, live, parts } = await rebuild(client, options, content);
  const { withState } = content.header;
  const expected = content.manifest.state;
  const equal = isDeepStrictEqual(rebuilt, expected) && (!withState || isDeepStrictEqual(live, expected));
  if (!equal && !options.acceptDifference) return { content, rebuilt, equal, parts, finished: false };
  const { erasures } = options;
  if (erasures !== undefined) await carryOutList(client, erasures.list, erasures.who);
  await settleFilled(client, options);
  await clearUnfinished(client);
  return { content, rebuilt, equal, parts, finished: true };
}

/**
 * Restores a backup to an empty database, rebuilds the state from its log, and compares its digest with the backup's. First reads and
 * checks the whole backup and tries its keys. Until it is finished the database is marked unusable, and another restore starts over. Throws
 * OperatorError, or DamagedBackupError for a file that is no complete backup.
 */
export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const { header, rows } = await verifyBackup(options.path, options.onStep, [PAYLOAD_KEYS, INSTANCE]);
  checkPayloadKeys(rows.get(PAYLOAD_KEYS) ?? [], options.cipher, options.log);
  if (options.erasures !== undefined) checkErasureList(options.erasures.list, rows.get(INSTANCE) ?? []);
  await migrationsOf(header);
  if (options.nothingLost && !header.withState)
    throw new OperatorError(
      "This backup has no change numbers: --nothing-lost needs a backup taken with --with-state.",
    );
  return withSession(options.clientConfig, "restore", (client) => restoreInto(client, options));
}
