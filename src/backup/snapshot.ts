import pg from "pg";
import { endWithClient } from "../db/connection.ts";
import { isDistributed } from "../db/distribution.ts";
import { holdOffExclusiveWork } from "../db/exclusive-work.ts";
import { BackupError } from "./backup-error.ts";
import { describeTables, type TableDescription } from "./describe-tables.ts";

/** One state of the whole database, for as long as the client's transaction lasts. */
export interface Snapshot {
  readonly client: pg.Client;
  /** In an order in which they can be filled. */
  readonly tables: readonly TableDescription[];
}

const DISTRIBUTED =
  "The tables are distributed over workers of Citus, which have no snapshot in common: back up coordinator and workers with PostgreSQL's own tools (docs/backup.md).";

/**
 * Opens one snapshot of these tables for `work`, by a session of its own. The tables are locked, against changes of their shape only, before the
 * snapshot is taken: whoever put others in their place in between (retention, a replay's swap) would leave the snapshot with
 * tables that are empty in it. Throws BackupError where the tables are distributed, and
 * WorkUnderWay where somebody rewrites or replays the log.
 */
export async function withSnapshot<Result>(
  clientConfig: pg.ClientConfig,
  tables: readonly string[],
  work: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ ...clientConfig, application_name: "bellhop backup" });
  client.on("error", () => undefined);
  await client.connect();
  try {
    if (await isDistributed(client)) throw new BackupError(DISTRIBUTED);
    await endWithClient(client);
    await holdOffExclusiveWork(client);
    // Between two tables, and while the disk of the backup is slow, it is this session that waits.
    await client.query("set idle_in_transaction_session_timeout = 0; set tcp_user_timeout = 0");
    // As text, which a digest is made of, values are to be the same whatever the server's defaults are.
    await client.query("set bytea_output = 'hex'; set intervalstyle = 'postgres'");
    const described = await describeTables(client, tables);
    await client.query("begin isolation level repeatable read read only");
    await client.query(`lock table ${described.map(({ table }) => table).join(", ")} in access share mode`);
    // Partitions that came before the lock was had.
    return await work({ client, tables: await describeTables(client, tables) });
  } finally {
    await client.end().catch(() => undefined);
  }
}
