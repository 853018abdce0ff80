import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { lowestIdAt } from "../src/ingest/log/part-name.ts";
import { clientConfig } from "../src/platform/db/connection.ts";
import { isDistributed } from "../src/platform/db/distribution.ts";
import { ProcessMeter } from "./process-meter.ts";

/** One server of the database: its written WAL, and its processes if it runs on this machine. */
interface NodeState {
  readonly pid: number;
  readonly wal: string;
}

/** The first line of postmaster.pid is the server's process id; its children are found from there. */
const NODE_STATE = `select json_build_object('pid', split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::integer, 'wal', pg_current_wal_insert_lsn() - '0/0'::pg_lsn)`;

const DRAIN_MS_MAX = 300_000;
/** The maximum share of time spent on polling: each poll sums outcomes, on Citus over all shards. */
const LOOK_SHARE = 0.02;
const LOOK_MS_MIN = 20;

/** A measured database: one server, or a Citus coordinator with workers. */
export class ScaleDatabase {
  readonly #client: pg.Client;
  readonly workers: number;
  readonly #meters: readonly ProcessMeter[];

  private constructor(client: pg.Client, workers: number, meters: readonly ProcessMeter[]) {
    this.#client = client;
    this.workers = workers;
    this.#meters = meters;
  }

  /** Requires the service's tables. Measures the processes of servers with a loopback address. */
  static async open(url: string): Promise<ScaleDatabase> {
    const client = new pg.Client(clientConfig({ connectionString: url }));
    await client.connect();
    const workers = (await isDistributed(client)) ? await countWorkers(client) : 0;
    const isLocal = /@(127\.0\.0\.1|localhost)[:/]/.test(url) && ProcessMeter.supported;
    const nodes = isLocal ? await nodeStates(client, workers) : [];
    return new ScaleDatabase(
      client,
      workers,
      nodes.map(({ pid }) => new ProcessMeter(pid, true)),
    );
  }

  /** CPU seconds of the first server, and of the others together; NaN if they run elsewhere. */
  cpuSeconds(): { readonly first: number; readonly workers: number } {
    const [first = Number.NaN, ...others] = this.#meters.map((meter) => meter.cpuSeconds());
    return { first, workers: others.reduce((sum, each) => sum + each, 0) };
  }

  /** Bytes of WAL written by all servers. */
  async walBytes(): Promise<number> {
    const nodes = await nodeStates(this.#client, this.workers);
    return nodes.reduce((sum, { wal }) => sum + Number(wal), 0);
  }

  /** Waits until this many records received since a time have an outcome. Returns the time of the last, by the database's clock. */
  async untilApplied(records: number, sinceMs: number): Promise<number> {
    const deadline = Date.now() + DRAIN_MS_MAX;
    for (;;) {
      const lookAt = performance.now();
      const { rows } = await this.#client.query<{ decided: number; at_ms: number }>(
        `select coalesce(sum(length(outcomes)), 0)::float8 as decided, (extract(epoch from max(applied_at)) * 1000)::float8 as at_ms
        from bellhop.request_outcome where request_id >= $1`,
        [lowestIdAt(Math.floor(sinceMs))],
      );
      const [found] = rows;
      if (found !== undefined && found.decided >= records) return found.at_ms;
      if (Date.now() > deadline) throw new Error("The backlog was not drained in five minutes.");
      await delay(Math.max(LOOK_MS_MIN, (performance.now() - lookAt) / LOOK_SHARE));
    }
  }

  async close(): Promise<void> {
    await this.#client.end();
  }
}

async function countWorkers(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    "select count(distinct (nodename, nodeport))::integer as n from citus_shards where citus_table_type = 'distributed'",
  );
  return rows[0]?.n ?? 0;
}

async function nodeStates(client: pg.Client, workers: number): Promise<NodeState[]> {
  const own = await client.query<{ json_build_object: NodeState }>(NODE_STATE);
  const first = own.rows.map((row) => row.json_build_object);
  if (workers === 0) return first;
  const { rows } = await client.query<{ result: string }>("select result from run_command_on_workers($1)", [
    NODE_STATE,
  ]);
  return [...first, ...rows.map(({ result }) => JSON.parse(result) as NodeState)];
}
