import type pg from "pg";
import { monotonicNow } from "../../runtime/shared-memory.ts";
import { atServer, withSession } from "../connection.ts";
import { DISTRIBUTED_TABLES, SHARD_MOVED } from "../distribute.ts";
import { namedStatement } from "../statement.ts";
import type { Queryable } from "../transaction.ts";

/** The co-located shards of all tables for the same buckets: they are on one worker and move together. */
export interface ShardGroup {
  /** The shard of bucket_lease, which stands for all. */
  readonly id: string;
  /** The newest of its shards: another one where a table was replaced, as statements are then. */
  readonly newest: string;
  readonly buckets: readonly number[];
  /** By table, with its schema: the number of its shard. */
  readonly shards: Readonly<Record<string, string>>;
}

/** A Citus worker and its shard groups. */
export interface WorkerShards {
  /** Citus group id; the coordinator is 0. */
  readonly node: number;
  readonly host: string;
  readonly port: number;
  readonly groups: readonly ShardGroup[];
}

/**
 * Answers the shard groups by worker, as the coordinator knows them: no worker is asked. Tables are found by name in the statement's
 * snapshot: a session resolves regclass to the tables of before a replay until every worker has committed its swap.
 */
const findShardGroups = namedStatement(
  "find-shard-groups",
  `with home as materialized (
    select get_shard_id_for_distribution_column('bellhop.bucket_lease', bucket::smallint) as shardid, json_agg(bucket) as buckets
    from generate_series(0, 63) as bucket group by 1
  ), shard as (
    select first.shardid, max(other.shardid) as newest, json_object_agg(space.nspname || '.' || relation.relname, other.shardid::text) as shards
    from pg_dist_shard as first
    join pg_dist_shard as other on other.shardminvalue = first.shardminvalue
    join pg_class as relation on relation.oid = other.logicalrelid
    join pg_namespace as space on space.oid = relation.relnamespace
    where first.logicalrelid = 'bellhop.bucket_lease'::regclass and space.nspname || '.' || relation.relname = any ($1::text[])
    group by first.shardid
  )
  select node.groupid as node, node.nodename as host, node.nodeport as port,
    json_agg(json_build_object(
      'id', home.shardid::text, 'newest', shard.newest::text, 'buckets', home.buckets, 'shards', shard.shards
    ) order by home.shardid) as groups
  from home
  join shard using (shardid)
  join pg_dist_placement as placement using (shardid)
  join pg_dist_node as node on node.groupid = placement.groupid and node.noderole = 'primary' and node.metadatasynced
  group by node.groupid, node.nodename, node.nodeport
  order by node.groupid`,
);

/** Answers something else where a group was moved, a table replaced or a node changed, at a tenth of the price of find-shard-groups. */
const readPlaces = namedStatement(
  "read-places",
  `select concat(
    (
      select string_agg(shardid || ' ' || groupid, ',' order by shardid) from pg_dist_placement
      where shardid in (select shardid from pg_dist_shard where logicalrelid = 'bellhop.bucket_lease'::regclass)
    ),
    (select row(count(*), max(shardid)) from pg_dist_shard),
    (select string_agg(row(groupid, nodename, nodeport, noderole, metadatasynced)::text, ',' order by nodeid) from pg_dist_node)
  ) as places`,
);

/** Reads the placement of buckets at the coordinator. */
async function readShardGroups(client: Queryable): Promise<WorkerShards[]> {
  return (await client.query<WorkerShards>({ ...findShardGroups, values: [DISTRIBUTED_TABLES] })).rows;
}

const NAMES = new RegExp(
  `(?<![\\w.])(?:(bellhop|bellhop_state)\\.)?(${DISTRIBUTED_TABLES.map((table) => table.split(".")[1]).join("|")})(?!\\w)`,
  "g",
);
const SCHEMA_OF = new Map(DISTRIBUTED_TABLES.map((table) => table.split(".").reverse() as [string, string]));

/**
 * A statement about the buckets of one group, as it names the group's shards. Everything that is called as a table is one: a statement
 * calls nothing else so.
 */
export function inShards(text: string, { shards }: ShardGroup): string {
  return text.replace(NAMES, (_, schema: string | undefined, table: string) => {
    const shard = shards[`${SCHEMA_OF.get(table)}.${table}`];
    return `${schema === undefined ? "" : `${schema}.`}${table}_${shard}`;
  });
}

/** The same of a named statement, which is prepared anew where a table was replaced. */
export function namedInShards(
  { name, text }: { readonly name?: string | undefined; readonly text: string },
  group: ShardGroup,
) {
  return { name: `${name}@${group.newest}`, text: inShards(text, group) };
}

/**
 * Citus lets a session write to a shard by its name only where it asks for that. Each shard group has statements of its own, so a session
 * has as many as all groups together: planned for its parameters, as the first five times by default, each would be planned six times.
 */
const BY_SHARD = "-c citus.enable_manual_changes_to_shards=on -c plan_cache_mode=force_generic_plan";
const LOCK_NOT_AVAILABLE = "55P03";

/** The service's sessions at a worker: with the user, password and database of the coordinator's. */
export function atWorker(config: pg.ClientConfig, { host, port }: WorkerShards): pg.ClientConfig {
  return atServer(config, { host, port, options: BY_SHARD });
}

/** The shard had been dropped behind a move, or with a table that another has replaced, before the statement could hold it. */
const UNDEFINED_TABLE = "42P01";

/** Whether a statement failed because its shard was moved or is moving. */
export function isShardAway(state: string | undefined): boolean {
  return state === SHARD_MOVED || state === LOCK_NOT_AVAILABLE || state === UNDEFINED_TABLE;
}

/** The placement of a bucket. */
export interface Place {
  readonly worker: WorkerShards;
  readonly group: ShardGroup;
}

/** Minimum interval between reads of the placement, during which a moving shard is not tried again. */
const LOOK_MS_MIN = 1_000;

/** The cached placement of buckets, read again when a transaction finds a shard moved. */
export class ShardMap {
  readonly #config: pg.ClientConfig;
  #places = new Map<number, Place>();
  #known = "";
  #placesKnown: string | undefined;
  #workers: readonly WorkerShards[] = [];
  readonly #awayUntil = new Map<string, number>();
  #looking: Promise<void> | undefined;
  #lookAt = 0;

  private constructor(config: pg.ClientConfig) {
    this.#config = config;
  }

  /** Throws if the coordinator cannot be reached. */
  static async draw(config: pg.ClientConfig): Promise<ShardMap> {
    const map = new ShardMap(config);
    await map.look();
    return map;
  }

  get workers(): readonly WorkerShards[] {
    return this.#workers;
  }

  /** The shard groups of a worker. */
  groupsAt(node: number): readonly ShardGroup[] {
    return this.#workers.find((worker) => worker.node === node)?.groups ?? [];
  }

  /** Undefined if the bucket cannot be reached directly. */
  placeOf(bucket: number): Place | undefined {
    return this.#places.get(bucket);
  }

  /** Whether a bucket was just found to be moving. */
  isMoving(bucket: number): boolean {
    const group = this.#places.get(bucket)?.group;
    return group !== undefined && monotonicNow() < (this.#awayUntil.get(group.id) ?? 0);
  }

  /** Reports that a transaction found the group moved. */
  foundAway({ id }: ShardGroup): void {
    this.#awayUntil.set(id, monotonicNow() + LOOK_MS_MIN);
    this.refresh();
  }

  /** Reads the placement in the background. A failure keeps the old one until the next call. */
  refresh(): void {
    if (this.#looking !== undefined || monotonicNow() < this.#lookAt) return;
    this.#lookAt = monotonicNow() + LOOK_MS_MIN / 2;
    this.#looking = this.look()
      .catch(() => undefined)
      .finally(() => {
        this.#looking = undefined;
      });
  }

  /** Asks the coordinator, on a session there, whether a group was moved since, and draws the map anew then. */
  async follow(client: Queryable): Promise<void> {
    const { rows } = await client.query<{ places: string }>(readPlaces);
    if (rows[0]?.places === this.#placesKnown) return;
    await this.look(client);
    this.#placesKnown = rows[0]?.places;
  }

  /** Asks the coordinator, by a session that the caller has there or one of its own. */
  async look(client?: Queryable): Promise<void> {
    const workers =
      client === undefined
        ? await withSession(this.#config, "shards", readShardGroups)
        : await readShardGroups(client);
    // Statements are kept by group, so one that stays is to stay the same.
    const known = JSON.stringify(workers);
    if (known === this.#known) return;
    this.#known = known;
    this.#workers = workers;
    this.#awayUntil.clear();
    this.#places = new Map(
      this.#workers.flatMap((worker) =>
        worker.groups.flatMap((group) => group.buckets.map((bucket) => [bucket, { worker, group }] as const)),
      ),
    );
  }
}
