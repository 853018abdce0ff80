import pg from "pg";
import { bucketOf } from "../../src/ingest/log/part-name.ts";
import { BucketServers } from "../../src/platform/db/dialect.ts";

/** Locks that appends wait for, wherever log writers have their sessions. */
export interface HeldAppends {
  /** Whether an append waits, for so long. */
  isWaiting(ms?: number): Promise<boolean>;
  /** Ends the sessions of all log writers. */
  endSessions(): Promise<void>;
  release(): Promise<void>;
}

const OF_LOG_WRITERS =
  "from pg_stat_activity where datname = current_database() and application_name = 'bellhop accept'";

/** Holds every append up. */
export function holdAppends(config: pg.ClientConfig): Promise<HeldAppends> {
  return hold(config, async (holder, tables) => {
    await holder.query(`lock table ${tables.join(", ")} in access exclusive mode`);
  });
}

/** Ends the sessions of all log writers. */
export async function endLogWriters(config: pg.ClientConfig): Promise<void> {
  const held = await hold(config, async () => undefined);
  await held.endSessions();
  await held.release();
}

/** Holds up the append of a client's batch about one property that claims this key. */
export function holdKey(
  config: pg.ClientConfig,
  { clientId, key, of }: { clientId: string; key: string; of: { clientCode: string; propertyCode: string } },
): Promise<HeldAppends> {
  return hold(config, async (holder, tables, arePlaced) => {
    if (tables[0] !== ACCEPT_LOG) return;
    await holder.query(
      `insert into bellhop.idempotency_key (client_id, key, request_id, fingerprint, created_at, bucket)
      values ($1, $2, gen_random_uuid(), '', now(), $3)`,
      [clientId, key, arePlaced ? bucketOf(of.clientCode, of.propertyCode) : 0],
    );
  });
}

const ACCEPT_LOG = "bellhop.accept_log";

async function hold(
  config: pg.ClientConfig,
  lock: (holder: pg.Client, tables: readonly string[], arePlaced: boolean) => Promise<void>,
): Promise<HeldAppends> {
  const servers = await BucketServers.find(config);
  const atWorkers = (servers?.all ?? []).map(({ clientConfig, worker: { groups } }) => {
    const tables = groups.map(({ shards }) => `${ACCEPT_LOG}_${shards[ACCEPT_LOG]}`);
    return { clientConfig, tables };
  });
  const places = [...atWorkers, { clientConfig: config, tables: [ACCEPT_LOG] }];
  const holders: pg.Client[] = [];
  for (const { clientConfig, tables } of places) {
    const holder = new pg.Client(clientConfig);
    await holder.connect();
    holders.push(holder);
    await holder.query("begin; set local idle_in_transaction_session_timeout = 0");
    await lock(holder, tables, servers !== undefined);
  }
  const atEach = (sql: string) => Promise.all(holders.map((holder) => holder.query(sql)));
  return {
    isWaiting: async (ms = 0) => {
      // A transaction sees since when statements run as it first saw it, but who waits as it is.
      await atEach("select pg_stat_clear_snapshot()");
      const waiting = `select ${OF_LOG_WRITERS} and wait_event_type = 'Lock' and query_start <= clock_timestamp() - ${ms} * interval '1 ms'`;
      return (await atEach(waiting)).some(({ rowCount }) => rowCount !== 0);
    },
    endSessions: async () => void (await atEach(`select pg_terminate_backend(pid) ${OF_LOG_WRITERS}`)),
    release: async () => {
      await atEach("rollback");
      await Promise.all(holders.map((holder) => holder.end()));
    },
  };
}
