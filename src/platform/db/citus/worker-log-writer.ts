import type pg from "pg";
import { sqlState } from "../database-errors.ts";
import { namedStatement, type Statement } from "../statement.ts";
import { withTransaction } from "../transaction.ts";
import type {
  FlushAnswer,
  FlushItem,
  FlushParameters,
  LogWriterRegistration,
  LogWriterStatements,
} from "./log-writers.ts";
import {
  inShards,
  isShardAway,
  namedInShards,
  type ShardGroup,
  type ShardMap,
  type WorkerShards,
} from "./shard-groups.ts";

/** As register-log-writer, of the session that is the backend $2 of the node $1 since $3. */
const registerAtNode = namedStatement(
  "register-log-writer-at-node",
  `insert into bellhop.log_writer (node, backend_pid, backend_start, yields)
  values ($1, $2, $3, $4)
  returning log_writer_id::text as log_writer_id, (extract(epoch from clock_timestamp()) * 1000)::float8 as database_now_ms`,
);

/** The shards of these buckets are moving: the flush wrote nothing. */
export class BucketsMoving extends Error {
  readonly buckets: ReadonlySet<number>;

  constructor(buckets: Iterable<number>, cause: unknown) {
    super("The shards of a flush are being moved.", { cause });
    this.buckets = new Set(buckets);
  }
}

/** A log writer with a session at the worker that stores its entries. */
export class WorkerLogWriter<Item extends FlushItem> implements LogWriterStatements<Item> {
  readonly #client: pg.Client;
  readonly #worker: WorkerShards;
  readonly #map: ShardMap;
  readonly #appendEntries: Statement;

  constructor(
    client: pg.Client,
    {
      worker,
      map,
      appendEntries,
    }: { readonly worker: WorkerShards; readonly map: ShardMap; readonly appendEntries: Statement },
  ) {
    this.#client = client;
    this.#worker = worker;
    this.#map = map;
    this.#appendEntries = appendEntries;
  }

  /** `first`: the coordinator session whose transaction holds the registration lock. */
  async register(yields: boolean, first: pg.ClientBase): Promise<LogWriterRegistration | undefined> {
    const floor = await this.#newestId();
    const { rows: backends } = await this.#client.query<{ pid: number; start: string }>(
      "select pid, backend_start::text as start from pg_stat_activity where pid = pg_backend_pid()",
    );
    const [backend] = backends;
    if (backend === undefined) return undefined;
    const { rows } = await first.query<Omit<LogWriterRegistration, "floor">>({
      ...registerAtNode,
      values: [this.#worker.node, backend.pid, backend.start, yields],
    });
    return rows[0] && { ...rows[0], floor };
  }

  /** Runs one statement per shard group, in one transaction. */
  async append(items: readonly Item[], parametersOf: FlushParameters<Item>): Promise<FlushAnswer> {
    const groups = this.#byGroup(items);
    if (groups.size === 1) {
      for (const [group, of] of groups) return { rows: await this.#appendTo(group, of, parametersOf) };
    }
    return await withTransaction(this.#client, async () => {
      const rows: FlushAnswer["rows"][number][] = [];
      for (const [group, of] of groups) rows.push(...(await this.#appendTo(group, of, parametersOf)));
      return { rows };
    });
  }

  async #appendTo(
    group: ShardGroup,
    items: readonly Item[],
    parametersOf: FlushParameters<Item>,
  ): Promise<FlushAnswer["rows"]> {
    try {
      const { rows } = await this.#client.query<FlushAnswer["rows"][number]>({
        ...namedInShards(this.#appendEntries, group),
        values: [...parametersOf(items), group.id],
      });
      return rows;
    } catch (error) {
      if (!isShardAway(sqlState(error))) throw error;
      this.#map.foundAway(group);
      throw new BucketsMoving(group.buckets, error);
    }
  }

  /** What holds the keys was there a moment ago; whatever fails here leaves the flush written, so the log writer ends with it. */
  async readKeys<Row extends object>(
    statement: Statement,
    wanted: readonly { readonly bucket: number }[],
  ): Promise<{ readonly rows: readonly Row[] }> {
    const rows: Row[] = [];
    for (const [group, some] of Map.groupBy(wanted, ({ bucket }) => this.#map.placeOf(bucket)?.group)) {
      if (group === undefined) throw new Error("The shard of a key is gone.");
      const answer = await this.#client.query<Row>({
        ...namedInShards(statement, group),
        values: [JSON.stringify(some)],
      });
      rows.push(...answer.rows);
    }
    return { rows };
  }

  /** The items of each group, with those of their entries that lie there; groups in the order of their numbers. */
  #byGroup(items: readonly Item[]): Map<ShardGroup, Item[]> {
    const groups = new Map<ShardGroup, Item[]>();
    for (const item of items) {
      const byGroup = Map.groupBy(item.append.entries, ({ bucket }) => this.#groupOf(bucket));
      for (const [group, entries] of byGroup) {
        const of = groups.get(group) ?? [];
        of.push(byGroup.size === 1 ? item : { ...item, append: { ...item.append, entries } });
        groups.set(group, of);
      }
    }
    return new Map([...groups].sort(([left], [right]) => Number(left.id) - Number(right.id)));
  }

  /** The placement may have changed since the item was sent here. */
  #groupOf(bucket: number): ShardGroup {
    const place = this.#map.placeOf(bucket);
    if (place === undefined || place.worker.node !== this.#worker.node)
      throw new BucketsMoving([bucket], new Error(`Bucket ${bucket} lies elsewhere.`));
    return place.group;
  }

  async #newestId(): Promise<string | null> {
    const ofGroup = (group: ShardGroup) =>
      `(${inShards("select request_id from bellhop.accept_log order by request_id desc limit 1", group)})`;
    const { rows } = await this.#client.query<{ request_id: string }>(
      `select request_id from (${this.#worker.groups.map(ofGroup).join(" union all ")}) as newest
      order by request_id desc limit 1`,
    );
    return rows[0]?.request_id ?? null;
  }
}
