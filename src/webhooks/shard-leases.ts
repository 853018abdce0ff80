import pg from "pg";
import { endWithClient } from "../platform/db/connection.ts";
import { countPresent, enterPresence } from "../platform/db/presence.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";

/** Renews this session's leases for $1 seconds and answers them. */
const RENEW = namedStatement(
  "renew-webhook-shards",
  `update bellhop.webhook_shard as shard
  set leased_until = clock_timestamp() + make_interval(secs => $1)
  from pg_stat_activity as me
  where me.pid = pg_backend_pid() and shard.backend_pid = me.pid and shard.backend_start = me.backend_start
  returning shard.shard`,
);
const TAKE = readStatement(new URL("./sql/take-webhook-shards.sql", import.meta.url));
/** Gives up those of the shards $1 that this session holds. */
const GIVE_UP = namedStatement(
  "give-up-webhook-shards",
  `update bellhop.webhook_shard
  set owner = null, backend_pid = null, backend_start = null, leased_until = null
  where shard = any ($1::smallint[]) and backend_pid = pg_backend_pid()`,
);

/** Endpoints are divided by the last digit of their id, buckets by what is left of them. */
export const SHARDS = 16;
/**
 * A lease ends with its holder's backend, which a killed process takes with it at once. Of a node that hangs, or that the
 * network has forgotten, it ends after this time: longer than a busy machine keeps a loop from its turn, and below the time
 * of one try.
 */
const LEASE_SECONDS = 10;
const ANSWER_MS_MAX = 5_000;

interface ShardRow {
  readonly shard: number;
}

/**
 * Which shards of webhooks this node delivers for: its part of all, by leases that it renews once a second on a session of
 * its own. While it cannot, it has none.
 */
export class ShardLeases {
  readonly #clientConfig: pg.ClientConfig;
  readonly #owner: string;
  readonly #failed: (error: unknown) => void;
  #client: pg.Client | undefined;
  #held: readonly number[] = [];
  #leaving: ReadonlySet<number> = new Set();

  constructor(clientConfig: pg.ClientConfig, owner: string, failed: (error: unknown) => void) {
    this.#clientConfig = clientConfig;
    this.#owner = owner;
    this.#failed = failed;
  }

  /** Those that new work may be begun for. */
  get shards(): readonly number[] {
    return this.#held.filter((shard) => !this.#leaving.has(shard));
  }

  /** Renews what is held, takes what is free, and gives up what others are to have once nothing of it is under way. */
  async tend(isBusy: (shard: number) => boolean): Promise<void> {
    try {
      const client = this.#client ?? (await this.#connect());
      const renewed = await client.query<ShardRow>({ ...RENEW, values: [LEASE_SECONDS] });
      const held = renewed.rows.map(({ shard }) => shard).sort((left, right) => left - right);
      const nodes = Math.max(1, (await countPresent(client)).get("deliver") ?? 1);
      const share = Math.ceil(SHARDS / nodes);
      this.#leaving = new Set(held.slice(share));
      const idle = [...this.#leaving].filter((shard) => !isBusy(shard));
      if (idle.length > 0) await client.query({ ...GIVE_UP, values: [idle] });
      const kept = held.filter((shard) => !idle.includes(shard));
      const taken = kept.length < share ? await this.#take(client, share - kept.length) : [];
      this.#held = [...kept, ...taken];
    } catch (error) {
      await this.#drop();
      throw error;
    }
  }

  /** Gives everything up, so that another node has it at once. */
  async close(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    await this.#client?.query({ ...GIVE_UP, values: [held] }).catch(() => undefined);
    await this.#drop();
  }

  async #take(client: pg.Client, most: number): Promise<number[]> {
    const { rows } = await client.query<ShardRow>({ ...TAKE, values: [this.#owner, LEASE_SECONDS, most] });
    return rows.map(({ shard }) => shard);
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#clientConfig,
      application_name: "bellhop webhooks",
      query_timeout: ANSWER_MS_MAX,
    });
    client.on("error", this.#failed);
    client.on("end", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#held = [];
    });
    try {
      await client.connect();
      await endWithClient(client);
      await enterPresence(client, ["deliver"], this.#owner);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    return client;
  }

  async #drop(): Promise<void> {
    const lost = this.#client;
    this.#client = undefined;
    this.#held = [];
    await lost?.end().catch(() => undefined);
  }
}
