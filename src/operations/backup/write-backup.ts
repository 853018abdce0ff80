import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import type pg from "pg";
import { readReplayHorizon } from "../../apply/replay.ts";
import { digestState, STATE_SCHEMA } from "../../apply/state/state-schema.ts";
import type { ShowStep } from "../../cli/progress.ts";
import { ACCEPTING_MS_MAX } from "../../ingest/log/log-writer-session.ts";
import { CODE_VERSION } from "../../platform/db/code-version.ts";
import { endWithClient, reportProcess, withSession } from "../../platform/db/connection.ts";
import { holdOffExclusiveWork } from "../../platform/db/coordination.ts";
import { inSnapshot, query, reachAllBuckets } from "../../platform/db/dialect.ts";
import { readRecords } from "../../platform/db/migration-records.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ARCHIVE_END, entryBytes } from "./archive.ts";
import type { BackupSink } from "./backup-file.ts";
import { describeTables, type TableDescription } from "./describe-tables.ts";
import { copyTableOut } from "./fill-tables.ts";
import {
  type BackupHeader,
  type BackupManifest,
  FORMAT,
  HEADER_NAME,
  MANIFEST_NAME,
  PartsSum,
  partName,
  sha256,
  type TableSum,
  withDigest,
} from "./manifest.ts";
import { TABLE_CLASSES, tablesOf } from "./table-class.ts";

/** A consistent snapshot of the database, for the duration of the client's transaction. */
interface Snapshot {
  readonly client: pg.Client;
  /** ISO 8601. The snapshot contains everything accepted that was received before, even if its flush ended later. */
  readonly takenAt: string;
  /** In an order that satisfies foreign keys. */
  readonly tables: readonly TableDescription[];
}

/**
 * Opens a snapshot of these tables for `work` in a separate session. Locks them against DDL before the snapshot: tables that retention or a
 * replay swaps in afterwards would be empty in it. Throws OperatorError if the database cannot be backed up, WorkUnderWay while the log is
 * rewritten or replayed.
 */
export async function withSnapshot<Result>(
  clientConfig: pg.ClientConfig,
  tables: readonly string[],
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  return withSession(clientConfig, "backup", async (client) => {
    await endWithClient(client);
    await holdOffExclusiveWork(client);
    // The session idles between tables and while writing the backup is slow.
    await client.query("set idle_in_transaction_session_timeout = 0; set tcp_user_timeout = 0");
    // Digests are made of values as text, which must not depend on server defaults.
    await client.query("set bytea_output = 'hex'; set intervalstyle = 'postgres'");
    const described = await describeTables(client, tables);
    const takenAt = await readTakenAt(client);
    const begin = async () => {
      await client.query("begin isolation level repeatable read read only");
      await reachAllBuckets(client);
      await client.query(`lock table ${described.map(({ table }) => table).join(", ")} in access share mode`);
    };
    // Describe again: partitions may have been added before the lock was acquired.
    return await inSnapshot(client, clientConfig, begin, async () =>
      work({ client, takenAt, tables: await describeTables(client, tables) }),
    );
  });
}

/** Any batch in flight when a later snapshot is taken was received at or after this time. */
async function readTakenAt(client: pg.ClientBase): Promise<string> {
  const { rows } = await client.query<{ at: string }>(
    `select to_char(
      (clock_timestamp() - $1 * interval '1 millisecond') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'
    ) as at`,
    [ACCEPTING_MS_MAX],
  );
  return rows[0]?.at ?? "";
}

const compress = promisify(zstdCompress) as (
  bytes: Buffer,
  options: { params: Record<number, number> },
) => Promise<Buffer>;
/** Bodies are already compressed; level 1 reduces the rest to a fifth and keeps up with PostgreSQL's COPY. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

export interface BackupOptions {
  readonly clientConfig: pg.ClientConfig;
  /** Include the state; it is always included if a replay cannot rebuild it. */
  readonly withState: boolean;
  readonly sink: BackupSink;
  /** Called with the backend process id of the reading session before it reads. */
  opened?(backendPid: number): void;
  readonly onStep?: ShowStep;
}

export interface BackupReport {
  readonly name: string;
  readonly bytes: number;
  readonly header: BackupHeader;
  readonly manifest: BackupManifest;
}

/** A replay cannot rebuild the state if retention has deleted its source from the log. */
async function isStateNeeded(client: pg.ClientBase): Promise<boolean> {
  const { logMs, versionsMs } = await readReplayHorizon(client);
  return logMs !== null || versionsMs !== null;
}

async function describeSnapshot(
  { client, takenAt, tables }: Snapshot,
  withState: boolean,
): Promise<BackupHeader> {
  const { rows } = await client.query<Pick<BackupHeader, "postgres">>(
    "select current_setting('server_version') as postgres",
  );
  const records = await readRecords(client);
  return {
    format: FORMAT,
    version: CODE_VERSION,
    takenAt,
    postgres: rows[0]?.postgres ?? "",
    migrations: records.map(({ name, checksum }) => ({ name, checksum })),
    withState,
    tables: withState ? tables : tables.filter(({ table }) => TABLE_CLASSES[table] === "kept"),
  };
}

/** Bytes on disk, in table order. */
const tableSizes = namedStatement(
  "read-table-sizes",
  `select pg_table_size(named.name::regclass)
    + (select coalesce(sum(pg_table_size(part.relid)), 0) from pg_partition_tree(named.name::regclass) as part)::bigint as bytes
  from unnest($1::text[]) with ordinality as named (name, place) order by named.place`,
);

async function readTableSizes(
  client: pg.ClientBase,
  tables: readonly TableDescription[],
): Promise<readonly number[]> {
  const { rows } = await query<{ bytes: number }>(client, tableSizes, [tables.map(({ table }) => table)]);
  return rows.map(({ bytes }) => Number(bytes));
}

async function writeSnapshot(snapshot: Snapshot, options: BackupOptions): Promise<BackupReport> {
  const { client } = snapshot;
  const { sink, opened, onStep } = options;
  const header = await describeSnapshot(snapshot, options.withState || (await isStateNeeded(client)));
  reportProcess(client, (processId) => opened?.(processId));
  let bytes = 0;
  const write = async (written: Buffer) => {
    await sink.write(written);
    bytes += written.length;
  };
  const atMs = Date.parse(header.takenAt);
  const add = (name: string, content: Buffer) => write(entryBytes({ name, content }, atMs));
  const headerText = withDigest(header);
  await add(HEADER_NAME, headerText);
  const tables: TableSum[] = [];
  const sizes = await readTableSizes(client, header.tables);
  const allBytes = sizes.reduce((sum, size) => sum + size, 0);
  let doneBytes = 0;
  const share = () => doneBytes / allBytes;
  for (const [at, description] of header.tables.entries()) {
    const { table } = description;
    onStep?.(`copying ${table}`, share);
    const size = sizes[at] ?? 0;
    const endBytes = doneBytes + size;
    const sum = new PartsSum();
    const copy = await copyTableOut(client, description);
    for await (const part of copy.parts) {
      sum.add(part);
      // Copied data may be larger than on disk.
      doneBytes = Math.min(doneBytes + part.length, endBytes);
      await add(partName(table, sum.parts), await compress(part, ZSTD));
    }
    tables.push(sum.of(table, await copy.rows));
    doneBytes = endBytes;
  }
  onStep?.("computing the digest of the state");
  const state = await digestState(client, STATE_SCHEMA);
  const manifest = { headerSha256: sha256(headerText), tables, state };
  await add(MANIFEST_NAME, withDigest(manifest));
  await write(ARCHIVE_END);
  return { name: sink.name, bytes, header, manifest };
}

/**
 * Writes a consistent copy of the service's data from one snapshot while the service runs: tables that are `kept` (table-class.ts) and, if
 * requested or needed, the state. Memory use does not depend on size. Throws OperatorError and PostgreSQL errors; the backup is then
 * deleted.
 */
export async function writeBackup(options: BackupOptions): Promise<BackupReport> {
  const { clientConfig, sink } = options;
  try {
    const report = await withSnapshot(clientConfig, tablesOf("kept", "state"), (snapshot) =>
      writeSnapshot(snapshot, options),
    );
    await sink.finish();
    return report;
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}
