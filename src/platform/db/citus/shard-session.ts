import type pg from "pg";
import { monotonicNow } from "../../runtime/shared-memory.ts";
import { sqlState } from "../database-errors.ts";
import { namesShards } from "../distribution.ts";
import { namedStatement, readStatement } from "../statement.ts";
import type { Queryable } from "../transaction.ts";
import { closeLogWriters, LOG_WRITER_SESSION } from "./log-writers.ts";
import { inShards, isShardAway, namedInShards, type ShardGroup, type ShardMap } from "./shard-groups.ts";

const findBacklog = readStatement(new URL("./find-backlog.sql", import.meta.url));
const FIND_ALL: OfAllGroups = {
  name: findBacklog.name,
  part: findBacklog.text,
  textOf: (parts) => `select * from (${parts}) as found order by yields, first`,
};
const readLogWriters = namedStatement(
  "read-log-writers",
  `select log_writer_id::text as log_writer_id, yields,
    (select max(log_writer_id)::text from bellhop.log_writer) as newest
  from bellhop.log_writer where retired_at is null`,
);
/** Whether the buckets $1 have entries of a log writer registered after $2. */
const findNewer = namedStatement(
  "find-newer-log-writers",
  "select from bellhop.accept_log as log where log.bucket = any ($1::smallint[]) and log.log_writer_id > $2::bigint limit 1",
);
/** Which of the clients $1 listen for applied requests (as write-outcomes). */
const findListeners = namedStatement(
  "find-listeners",
  `select client.client_id
  from bellhop.client as client
  where client.client_id = any ($1::text[]) and (
    client.reply_to_origins <> '{}'
    or exists (
      select from bellhop.webhook_endpoint as endpoint
      where endpoint.client_id = client.client_id and 'request.applied' = any (endpoint.events)
    )
  )`,
);
const findUnclosed = namedStatement(
  "find-unclosed-log-writers-of-node",
  `select log_writer_id::text as log_writer_id, backend_pid || ' ' || backend_start as backend
  from bellhop.log_writer where node = $1 and closed_at is null`,
);
/** A backend whose start is hidden (another role's) matches any backend with its pid. */
const LOG_WRITER_BACKENDS = `select pid || ' ' || coalesce(backend_start::text, '') as backend from pg_stat_activity
  where datname = current_database() and application_name = '${LOG_WRITER_SESSION}'`;

/** Maximum age of the cached log writers, by which entries of a new one are found later. */
const LOG_WRITERS_MS_MAX = 500;
/**
 * Up to this many buckets are read one by one. For more, a query finds those with a backlog, at the cost of reading about ten empty
 * groups. With log writers that yield to others, it is used for nearly any number.
 */
const BUCKETS_TRIED_MAX = { live: 12, beside: 2 };

/** The unretired log writers, as columns of a statement, and the newest of all. */
interface KnownLogWriters {
  readonly until: number;
  readonly newest: string;
  readonly hasYielding: boolean;
  readonly columns: readonly unknown[];
}

interface WaitingBucket {
  readonly bucket: number;
}

/** What is asked of a session whose statements name the shards of one group after another. */
interface NamedStatement {
  readonly text: string;
  readonly name?: string;
}

/** A statement over the rows that `part` reads of each shard group. */
export interface OfAllGroups {
  readonly name: string;
  readonly query_timeout?: number;
  readonly part: string;
  readonly textOf: (parts: string) => string;
}

/** A session at a worker. Runs statements for plain PostgreSQL on one shard group at a time, naming its shards. */
export class ShardSession {
  /** The coordinator, for statements without buckets. */
  readonly first: Queryable;
  readonly #client: pg.ClientBase;
  readonly #map: ShardMap;
  readonly #node: number;
  readonly #texts = new WeakMap<ShardGroup, Map<string, string>>();
  /** Statements about all groups, by their names, as long as the groups are these. */
  readonly #ofAll = new WeakMap<
    readonly ShardGroup[],
    Map<string, { readonly name: string; readonly text: string }>
  >();
  #namesGiven = 0;
  #current: ShardGroup | undefined;
  #logWriters: KnownLogWriters | undefined;
  /** Buckets found to have a backlog, the longest waiting first. */
  #found: number[] = [];

  constructor(client: pg.ClientBase, first: Queryable, map: ShardMap, node: number) {
    this.#client = client;
    this.first = first;
    this.#map = map;
    this.#node = node;
    namesShards(client);
    sessions.set(client, this);
    const wrapped = client as unknown as { query(...parameters: unknown[]): unknown };
    const query = wrapped.query.bind(client);
    wrapped.query = (statement, ...parameters) => query(this.#named(statement), ...parameters);
  }

  get groups(): readonly ShardGroup[] {
    return this.#map.groupsAt(this.#node);
  }

  /** Runs `work` with the items of each group, as a transaction of that group; what is on its way elsewhere is left out. */
  async eachGroup<Item>(
    items: readonly Item[],
    bucketOf: (item: Item) => number,
    work: (items: readonly Item[]) => Promise<void>,
  ): Promise<void> {
    const isHere = (item: Item) => this.#map.placeOf(bucketOf(item))?.worker.node === this.#node;
    const here = items.filter(isHere);
    for (const some of Map.groupBy(here, (item) => this.#groupOf(bucketOf(item))).values()) {
      try {
        await this.#client.query(`begin; ${this.holding(some.map(bucketOf))}`);
        await work(some);
        await this.#client.query("commit");
      } catch (error) {
        await this.#client.query("rollback");
        if (!this.noteAway(error)) throw error;
      }
    }
  }

  /** A statement about this bucket, whichever shards the transaction holds. */
  statementOf(bucket: number, asked: NamedStatement): NamedStatement {
    return { ...asked, ...namedInShards(asked, this.#groupOf(bucket)) };
  }

  /** The statement by which a transaction holds the shards of these buckets where they are; those that follow name them. */
  holding(buckets: readonly number[]): string {
    const [group, ...others] = new Set(buckets.map((bucket) => this.#groupOf(bucket)));
    if (group === undefined || others.length > 0) throw new Error("A transaction has one shard group.");
    this.#current = group;
    return `select bellhop.hold_shard(${group.id})`;
  }

  /** Notes of an error that the shards held last are elsewhere; answers whether it says so. */
  noteAway(error: unknown): boolean {
    if (!isShardAway(sqlState(error))) return false;
    if (this.#current !== undefined) this.#map.foundAway(this.#current);
    return true;
  }

  /** The rows of a statement over all groups of this worker. */
  async queryAllGroups<Row extends pg.QueryResultRow>(
    { name, part, textOf, ...statement }: OfAllGroups,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const { groups } = this;
    if (groups.length === 0) return [];
    const ofAll =
      this.#ofAll.get(groups) ?? new Map<string, { readonly name: string; readonly text: string }>();
    this.#ofAll.set(groups, ofAll);
    let named = ofAll.get(name);
    if (named === undefined) {
      this.#namesGiven += 1;
      const parts = groups.map((group) => `(${inShards(part, group)})`).join(" union all ");
      named = { name: `${name}@${this.#namesGiven}`, text: textOf(parts) };
      ofAll.set(name, named);
    }
    return (await this.#client.query<Row>({ ...statement, ...named, values: [...values] })).rows;
  }

  /**
   * As read-backlog, of the buckets of one group: what is applied in one transaction lies in one. `asked` takes log writers behind
   * its other parameters. What was found for the others is remembered for the next times.
   */
  async readBacklog<Row extends pg.QueryResultRow>(
    asked: { readonly name?: string; readonly text: string; readonly query_timeout?: number },
    values: readonly [readonly number[], ...unknown[]],
  ): Promise<Row[]> {
    const [buckets, ...bounds] = values;
    const yieldsMs = values[4];
    const readFirstOf = async (wanted: number[]): Promise<Row[]> => {
      this.#found = wanted;
      const empty = new Set<ShardGroup>();
      for (let bucket = wanted.shift(); bucket !== undefined; bucket = wanted.shift()) {
        const group = this.#map.placeOf(bucket)?.group;
        if (group === undefined || empty.has(group) || !buckets.includes(bucket)) continue;
        empty.add(group);
        const together = group.buckets.filter((other) => buckets.includes(other));
        const rows = await this.#readOfAll<Row>(group, asked, [together, ...bounds]);
        if (rows.length > 0) return rows;
      }
      return [];
    };
    try {
      const remembered = await readFirstOf(this.#found);
      if (remembered.length > 0) return remembered;
      const { hasYielding } = await this.#readLogWriters();
      const triedMax = hasYielding ? BUCKETS_TRIED_MAX.beside : BUCKETS_TRIED_MAX.live;
      if (buckets.length <= triedMax) return await readFirstOf([...buckets]);
      return await readFirstOf(await this.#findBacklog(buckets, yieldsMs));
    } catch (error) {
      if (!isShardAway(sqlState(error))) throw error;
      // A replay or a move put other tables in the place of these: they are read the next time.
      await this.#map.look(this.first);
      return [];
    }
  }

  /**
   * Reads of a group in the order of receipt. Of a log writer that is not known yet something may be before what was found, which
   * is then read again.
   */
  async #readOfAll<Row extends pg.QueryResultRow>(
    group: ShardGroup,
    asked: NamedStatement & { readonly query_timeout?: number },
    values: readonly [readonly number[], ...unknown[]],
  ): Promise<Row[]> {
    for (;;) {
      const { columns, newest } = await this.#readLogWriters();
      const { rows } = await this.#client.query<Row>({
        ...asked,
        ...namedInShards(asked, group),
        values: [...values, ...columns],
      });
      if (rows.length === 0) return rows;
      const { rowCount } = await this.#client.query({
        ...namedInShards(findNewer, group),
        values: [values[0], newest],
      });
      if (rowCount === 0) return rows;
      this.#logWriters = undefined;
    }
  }

  async #findBacklog(buckets: readonly number[], yieldsMs: unknown): Promise<number[]> {
    const { columns } = await this.#readLogWriters();
    const found = await this.queryAllGroups<WaitingBucket>(FIND_ALL, [buckets, ...columns, yieldsMs]);
    return found.map(({ bucket }) => bucket);
  }

  /** Which of these clients want to hear of applied requests. */
  async findListeners(clientIds: readonly (string | undefined)[]): Promise<string[]> {
    const wanted = [...new Set(clientIds)].filter((id) => id !== undefined);
    if (wanted.length === 0) return [];
    const { rows } = await this.first.query<{ client_id: string }>({ ...findListeners, values: [wanted] });
    return rows.map(({ client_id }) => client_id);
  }

  /** Closes the log writers whose session at this worker is gone. Reads log writers before sessions, so that a new one is not closed. */
  async closeLogWriters(): Promise<void> {
    const { rows: unclosed } = await this.first.query<{ log_writer_id: string; backend: string }>({
      ...findUnclosed,
      values: [this.#node],
    });
    if (unclosed.length === 0) return;
    const { rows } = await this.#client.query<{ backend: string }>(LOG_WRITER_BACKENDS);
    const open = new Set(rows.map(({ backend }) => backend));
    const gone = unclosed.filter(
      ({ backend }) => !open.has(backend) && !open.has(`${backend.slice(0, backend.indexOf(" "))} `),
    );
    if (gone.length === 0) return;
    await this.first.query({ ...closeLogWriters, values: [gone.map(({ log_writer_id }) => log_writer_id)] });
  }

  async #readLogWriters(): Promise<KnownLogWriters> {
    if (this.#logWriters === undefined || monotonicNow() > this.#logWriters.until) {
      const { rows } = await this.first.query<{
        log_writer_id: string;
        yields: boolean;
        newest: string;
      }>(readLogWriters);
      this.#logWriters = {
        until: monotonicNow() + LOG_WRITERS_MS_MAX,
        newest: rows[0]?.newest ?? "0",
        hasYielding: rows.some(({ yields }) => yields),
        columns: [rows.map(({ log_writer_id }) => log_writer_id), rows.map(({ yields }) => yields)],
      };
    }
    return this.#logWriters;
  }

  #groupOf(bucket: number): ShardGroup {
    const place = this.#map.placeOf(bucket);
    if (place === undefined || place.worker.node !== this.#node)
      throw new Error(`Bucket ${bucket} lies at another server now.`);
    return place.group;
  }

  #named(statement: unknown): unknown {
    const group = this.#current;
    if (group === undefined) return statement;
    if (typeof statement === "string") return this.#textOf(statement, group);
    const asked = statement as NamedStatement;
    const text = this.#textOf(asked.text, group);
    if (text === asked.text) return statement;
    const named = { text, ...(asked.name === undefined ? {} : { name: `${asked.name}@${group.newest}` }) };
    // One that drives the connection directly is its own result.
    return "submit" in asked ? Object.assign(asked, named) : { ...asked, ...named };
  }

  #textOf(text: string, group: ShardGroup): string {
    const texts = this.#texts.get(group) ?? new Map<string, string>();
    this.#texts.set(group, texts);
    const named = texts.get(text) ?? inShards(text, group);
    texts.set(text, named);
    return named;
  }
}

const sessions = new WeakMap<object, ShardSession>();

/** The session of a connection that names shards; undefined for any other. */
export function shardSessionOf(client: object): ShardSession | undefined {
  return sessions.get(client);
}
