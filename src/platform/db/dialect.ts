import type pg from "pg";
import { BucketClosedTimestamp } from "./citus/bucket-closed-timestamp.ts";
import {
  CitusLogWriter,
  type FlushItem,
  type LogWriterStatements,
  retireLogWritersOnCitus,
} from "./citus/log-writers.ts";
import { OVERRIDES } from "./citus/overrides.ts";
import { placeTable } from "./citus/place.ts";
import { atWorker, ShardMap, type WorkerShards } from "./citus/shard-groups.ts";
import { ShardSession, shardSessionOf } from "./citus/shard-session.ts";
import { createRestorePointOfAll, inSnapshotOfAll } from "./citus/snapshot.ts";
import {
  createTriggersOnShards,
  dropTriggersOnShards,
  lockAtWorkers,
  readPlacement,
} from "./citus/windows.ts";
import { WorkerLogWriter } from "./citus/worker-log-writer.ts";
import {
  askWorkers,
  describeWorkers,
  durabilityGapsOf,
  readWorkers,
  type WorkerDescription,
  type WorkerRows,
} from "./citus/workers.ts";
import { withSession } from "./connection.ts";
import { DISTRIBUTED_TABLES, GATHERED_KEYS, PLACED_KEYS } from "./distribute.ts";
import { isDistributed, oneBucketOf, type Placed } from "./distribution.ts";
import type { Statement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

/**
 * The one place that knows two databases: plain PostgreSQL, and Citus, where tables are distributed by bucket. Features write
 * statements for plain PostgreSQL and say which buckets they are about; what Citus needs beyond that stands in citus/.
 */

/** A statement and how it is sent. */
export interface Asked extends Omit<Statement, "name"> {
  /** Without one it is planned each time. */
  readonly name?: string;
  readonly rowMode?: "array";
  readonly query_timeout?: number;
}

export interface Answer<Row> {
  readonly rows: Row[];
  readonly rowCount: number;
}

export {
  type FlushAnswer,
  LOG_WRITER_SESSION,
  type LogWriterRegistration,
  type LogWriterStatements,
} from "./citus/log-writers.ts";
export { MAY_FLUSH } from "./citus/snapshot.ts";
export { BucketsMoving } from "./citus/worker-log-writer.ts";
export type { WorkerDescription } from "./citus/workers.ts";

/** Runs a statement that may be about any buckets. */
export async function query<Row>(
  on: Queryable,
  asked: Asked,
  values: readonly unknown[] = [],
): Promise<Answer<Row>> {
  return ask(on, (await isDistributed(on)) ? onCitus(asked) : [asked], values);
}

/**
 * Runs a statement about rows `of` one bucket. On Citus that bucket is its last parameter and stands where the text has
 * BUCKET_TERM, so that Citus sends the statement whole to the worker that has the bucket, whatever it is made of.
 */
export async function queryOfBucket<Row>(
  on: Queryable,
  asked: Asked,
  values: readonly unknown[],
  of: readonly Placed[],
): Promise<Answer<Row>> {
  if (!(await isDistributed(on))) return ask(on, [asked], values);
  // Without a bucket Citus would ask every worker, also one that has nothing to do with it.
  if (of.length === 0) return { rows: [], rowCount: 0 };
  return ask(on, onCitus(asked, values.length + 1), [...values, oneBucketOf(of)]);
}

/** Runs a statement about all of the items; on Citus, as `queryOfBucket`, once for the items of each bucket, at a worker of each shard group. */
export async function queryEachBucket<Row, Item extends Placed>(
  on: Queryable,
  asked: Asked,
  items: readonly Item[],
  values: (items: readonly Item[]) => readonly unknown[],
): Promise<Answer<Row>> {
  const rows: Row[] = [];
  let rowCount = 0;
  const shards = shardSessionOf(on);
  if (shards !== undefined) {
    await shards.eachGroup(
      items,
      (item) => oneBucketOf([item]),
      async (some) => {
        const answer = await ask<Row>(on, [asked], values(some));
        rows.push(...answer.rows);
        rowCount += answer.rowCount;
      },
    );
    return { rows, rowCount };
  }
  if (!(await isDistributed(on))) return ask(on, [asked], values(items));
  for (const ofBucket of Map.groupBy(items, (item) => oneBucketOf([item])).values()) {
    const answer = await queryOfBucket<Row>(on, asked, values(ofBucket), ofBucket);
    rows.push(...answer.rows);
    rowCount += answer.rowCount;
  }
  return { rows, rowCount };
}

/** Runs what `nested` took out of another statement; nothing where it was left in. */
export async function queryNested<Row>(
  on: Queryable,
  asked: Asked,
  about: () => { readonly values: readonly unknown[]; readonly of: readonly Placed[] },
): Promise<Answer<Row> | undefined> {
  if (!(await isDistributed(on))) return undefined;
  const { values, of } = about();
  return queryOfBucket(on, asked, values, of);
}

/** The statement for the database: on Citus with its bucket, which is the parameter `place` on both. */
export async function statementOfBucket(
  on: Queryable,
  statement: Statement,
  place: number,
): Promise<Statement> {
  return (await isDistributed(on)) ? { ...statement, text: inBucket(statement.text, place) } : statement;
}

/** Where a statement about one bucket says so, behind another term of a condition on the table `t`. */
export const BUCKET_TERM = "/* and its bucket */";

const NESTED = /\/\* nested \*\/[\s\S]*?\/\* or\s([\s\S]*?)\*\//g;

/**
 * A part of a statement that Citus cannot run nested (an INSERT, a lookup in a second table). On Citus `otherwise`
 * replaces it, and `queryNested` runs the part separately.
 */
export function nested(text: string, otherwise = ""): string {
  return `/* nested */${text}/* or ${otherwise}*/`;
}

/** The statements that stand for one on Citus, one after another; the last one's answer counts. */
function onCitus(asked: Asked, place?: number): readonly Asked[] {
  const { name = "" } = asked;
  const overrides = OVERRIDES[name];
  if (overrides !== undefined)
    return overrides.map((text, at) => ({ ...asked, text, name: at === 0 ? name : `${name}-${at}` }));
  const text = asked.text.replaceAll(NESTED, "$1");
  return [{ ...asked, text: place === undefined ? text : inBucket(text, place) }];
}

function inBucket(text: string, place: number): string {
  if (!text.includes(BUCKET_TERM))
    throw new Error(`The statement does not say where its bucket goes: ${text.slice(0, 200)}`);
  return text.replaceAll(BUCKET_TERM, `and t.bucket = $${place}::smallint`);
}

async function ask<Row>(
  on: Queryable,
  statements: readonly Asked[],
  values: readonly unknown[],
): Promise<Answer<Row>> {
  let answer: Answer<Row> = { rows: [], rowCount: 0 };
  for (const statement of statements) {
    const { rows, rowCount } = await on.query({ ...statement, values: values as unknown[] });
    answer = { rows: rows as Row[], rowCount: rowCount ?? 0 };
  }
  return answer;
}

/** A statement and what it is where something of the first server's is given to it as further parameters. */
export interface AskedWith {
  readonly own: Asked;
  readonly given: Asked;
}

/** Writes the outcomes of parts by one statement; `given`: with the clients that want to hear of applied requests. */
export async function writeOutcomeRows(
  on: Queryable,
  { own, given }: AskedWith,
  clientIds: readonly (string | undefined)[],
  values: readonly unknown[],
): Promise<void> {
  const shards = shardSessionOf(on);
  if (shards === undefined) await ask(on, [own], values);
  else await ask(on, [given], [...values, await shards.findListeners(clientIds)]);
}

/** Runs a statement about all buckets, or about those of the server that the session is at: `part` of it, once for each shard group. */
export async function queryAllBuckets<Row extends pg.QueryResultRow>(
  on: Queryable,
  { own, given }: AskedWith,
  part: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const shards = shardSessionOf(on);
  return shards === undefined
    ? (await ask<Row>(on, [own], values)).rows
    : await shards.queryAllGroups<Row>(given, part, values);
}

/** Reads what is next of some buckets; `given`: with the log writers, and what it answers is of one shard group. */
export async function readBacklogRows<Row extends pg.QueryResultRow>(
  on: Queryable,
  { own, given }: AskedWith,
  values: readonly [readonly number[], ...unknown[]],
): Promise<readonly Row[]> {
  const shards = shardSessionOf(on);
  return shards === undefined
    ? (await ask<Row>(on, [own], values)).rows
    : await shards.readBacklog<Row>(given, values);
}

/** Places new tables, each with a column `bucket`, where the buckets lie. */
export async function placeByBucket(on: Queryable, tables: readonly string[]): Promise<void> {
  if (!(await isDistributed(on))) return;
  for (const table of tables) await placeTable(on, table);
}

/**
 * Has the running transaction be one over all buckets: on Citus by one connection to each worker, so that what is read of a
 * bucket is of one snapshot there, and what is written follows what was written before it.
 */
export async function reachAllBuckets(on: Queryable): Promise<void> {
  if (!(await isDistributed(on))) return;
  await on.query("set local citus.max_adaptive_executor_pool_size = 1");
  await on.query("set local citus.multi_shard_modify_mode = 'sequential'");
  // Workers commit once the coordinator has, which a crash must not undo.
  await on.query("set local synchronous_commit to default");
  // What is set of this transaction from now on, such as `lock_timeout`, holds at the workers, too.
  await on.query("set local citus.propagate_set_commands = 'local'");
}

/** Takes an advisory lock alone on every server that has rows, until the transaction ends. */
export async function lockEverywhere(on: Queryable, key: number): Promise<void> {
  await reachAllBuckets(on);
  await on.query("select pg_advisory_xact_lock($1)", [key]);
  if (await isDistributed(on)) await lockAtWorkers(on, key);
}

/**
 * Runs `work` in a transaction of the client that `begin` opens, repeatable read: all that it reads is of one instant, of whatever server.
 * Throws OperatorError where that cannot be had.
 */
export async function inSnapshot<Result>(
  client: pg.Client,
  clientConfig: pg.ClientConfig,
  begin: () => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  if (await isDistributed(client))
    return withSession(clientConfig, "backup", (holder) => inSnapshotOfAll(client, holder, begin, work));
  await begin();
  return work();
}

/** Marks an instant in the write-ahead log of every server, up to which it can be recovered. */
export async function createRestorePoint(
  on: Queryable,
  clientConfig: pg.ClientConfig,
  name: string,
): Promise<void> {
  if (await isDistributed(on))
    await withSession(clientConfig, "restore point", (holder) => createRestorePointOfAll(on, holder, name));
  else await on.query("select pg_create_restore_point($1)", [name]);
}

/** Conditions that take a table apart into pieces, each of which a server answers without putting much aside. */
export async function slicesOf(on: Queryable, table: string): Promise<readonly string[]> {
  if (!(DISTRIBUTED_TABLES as readonly string[]).includes(table) || !(await isDistributed(on)))
    return ["true"];
  const { rows } = await on.query<{ bucket: number }>(
    "select bucket from bellhop.bucket_lease order by bucket",
  );
  return rows.map(({ bucket }) => `bucket = ${bucket}::smallint`);
}

/** Whether a trigger can keep sessions from writing to the log: on Citus they write to shards by their names. */
export async function canCloseLog(on: Queryable): Promise<boolean> {
  return !(await isDistributed(on));
}

/** The Idempotency-Keys, to be read as a table, as they lie on Citus or, not `isPlaced`, on one PostgreSQL. */
export async function keysAsPlaced(on: Queryable, isPlaced: boolean): Promise<string> {
  if ((await isDistributed(on)) === isPlaced) return "bellhop.idempotency_key";
  return isPlaced ? PLACED_KEYS : GATHERED_KEYS;
}

/** Says where the buckets lie: while the text is the same, none was moved. */
export async function placementOf(on: Queryable): Promise<string> {
  return (await isDistributed(on)) ? readPlacement(on) : "";
}

/** Has `into` note what is written to a table, by a trigger of that name. */
export async function noteWrites(on: Queryable, table: string, into: string, trigger: string): Promise<void> {
  if (await isDistributed(on)) return createTriggersOnShards(on, table, into, trigger);
  await on.query(
    `create trigger ${trigger} after insert or update on ${table}
    for each row execute function bellhop.note_late_version('${into}')`,
  );
}

/** Ends what `noteWrites` began; only one table is noted at a time. */
export async function stopNoting(on: Queryable, table: string, trigger: string): Promise<void> {
  if (await isDistributed(on)) await dropTriggersOnShards(on, trigger);
  else await on.query(`drop trigger if exists ${trigger} on ${table}`);
}

/** A server that has some of the buckets, beside the first one: a worker of Citus. */
export interface BucketServer {
  readonly key: string;
  readonly clientConfig: pg.ClientConfig;
  readonly worker: WorkerShards;
  readonly map: ShardMap;
}

/** Which servers have which buckets; on plain PostgreSQL the first one has all. */
export class BucketServers {
  readonly #clientConfig: pg.ClientConfig;
  readonly #map: ShardMap;

  private constructor(clientConfig: pg.ClientConfig, map: ShardMap) {
    this.#clientConfig = clientConfig;
    this.#map = map;
  }

  /** Undefined where the first server has all. */
  static async find(clientConfig: pg.ClientConfig): Promise<BucketServers | undefined> {
    if (!(await withSession(clientConfig, "shards", isDistributed))) return undefined;
    return new BucketServers(clientConfig, await ShardMap.draw(clientConfig));
  }

  get all(): readonly BucketServer[] {
    return this.#map.workers.map((worker) => this.#serverOf(worker));
  }

  /**
   * The server that has all of these buckets, in one shard group where one statement is to write to all of them; undefined where none
   * has: then the first one writes to them together.
   */
  having(buckets: readonly number[], inOneGroup: boolean): BucketServer | undefined {
    const places = buckets.map((bucket) => this.#map.placeOf(bucket));
    const [first] = places;
    const isTogether = places.every(
      (place) => place?.worker === first?.worker && (!inOneGroup || place?.group === first?.group),
    );
    return first === undefined || !isTogether ? undefined : this.#serverOf(first.worker);
  }

  /** Whether one of these buckets has just been found to be on its way to another server. */
  isMoving(buckets: readonly number[]): boolean {
    return buckets.some((bucket) => this.#map.isMoving(bucket));
  }

  /** A server is not to be reached: perhaps it has nothing any more. */
  refresh(): void {
    this.#map.refresh();
  }

  /** Asks the first server, on a session of the caller's there, which servers have which buckets now. */
  async look(client: pg.ClientBase): Promise<void> {
    await this.#map.follow(client);
  }

  #serverOf(worker: WorkerShards): BucketServer {
    return {
      key: `${worker.host}:${worker.port}`,
      clientConfig: atWorker(this.#clientConfig, worker),
      worker,
      map: this.#map,
    };
  }
}

/** Has the statements of a session at a server be about one shard group after another. `first`: where that is asked which belongs to no bucket. */
export function nameShards(client: pg.ClientBase, { map, worker }: BucketServer, first: Queryable): void {
  new ShardSession(client, first, map, worker.node);
}

/** What a transaction about these buckets begins with, beside its own statements; nothing on plain PostgreSQL. */
export function holdBuckets(client: pg.ClientBase, buckets: readonly number[]): string {
  return shardSessionOf(client)?.holding(buckets) ?? "";
}

/** What a session asks where that is which belongs to no bucket: itself on plain PostgreSQL. */
export function firstServerOf(on: Queryable): Queryable {
  return shardSessionOf(on)?.first ?? on;
}

/** A transaction about buckets failed with this: perhaps as their shard is on its way elsewhere, which is then looked for. */
export function noteFailure(client: pg.ClientBase, error: unknown): void {
  shardSessionOf(client)?.noteAway(error);
}

/** How the log writer of this session registers and appends: by its own statements, or as Citus needs it at the first server or a worker. */
export async function logWriterStatements<Item extends FlushItem>(
  client: pg.Client,
  own: LogWriterStatements<Item>,
  server?: BucketServer & { readonly appendEntries: Statement },
): Promise<LogWriterStatements<Item>> {
  if (server !== undefined) return new WorkerLogWriter(client, server);
  return (await isDistributed(client)) ? new CitusLogWriter(client) : own;
}

/** Closes log writers in which nothing can appear any more, and retires those of them of which all is applied. */
export async function retireLogWriters(on: Queryable, asked: Asked): Promise<void> {
  const shards = shardSessionOf(on);
  if (shards !== undefined) await shards.closeLogWriters();
  else if (await isDistributed(on)) await retireLogWritersOnCitus(on, asked);
  else await ask(on, [asked], []);
}

/** Whether an Idempotency-Key lies in a bucket of its batch. */
export async function placesKeys(client: pg.ClientBase, server?: BucketServer): Promise<boolean> {
  return server !== undefined || (await isDistributed(client));
}

/** What a statement of numbers answers at every worker beside the server of the session; nothing where there is none. */
export async function askOthers(
  on: Queryable,
  { text }: Statement,
  values: readonly unknown[] = [],
): Promise<readonly WorkerRows[]> {
  return (await isDistributed(on)) ? askWorkers(on, text, values) : [];
}

/** The workers that the tables are distributed over; undefined where they are not. */
export async function readWorkersOf(on: Queryable): Promise<readonly WorkerDescription[] | undefined> {
  return (await isDistributed(on)) ? (await on.query<WorkerDescription>(describeWorkers)).rows : undefined;
}

/** Settings of workers that let them acknowledge a commit that is not on their disks; `skipsAway`: of those that answer. */
export async function findDurabilityGaps(on: Queryable, skipsAway = false): Promise<string[]> {
  return (await isDistributed(on)) ? (await readWorkers(on, skipsAway)).flatMap(durabilityGapsOf) : [];
}

/** What is promised of a bucket where it lies; undefined where what is promised of all holds for it. */
export async function closedTimestampOf(
  on: Queryable,
  bucket: number,
): Promise<BucketClosedTimestamp | undefined> {
  return (await isDistributed(on)) ? new BucketClosedTimestamp(on, bucket) : undefined;
}
