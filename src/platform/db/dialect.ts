import type pg from "pg";
import { type ByteRows, readByteRows } from "./byte-rows.ts";
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
import { type OfAllGroups, ShardSession, shardSessionOf } from "./citus/shard-session.ts";
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
import { readStatement, type Statement, type Texts } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

/*
 * Isolates the differences between plain PostgreSQL and Citus, where tables are distributed by bucket. Features write statements for plain
 * PostgreSQL and pass their buckets; what else Citus needs is in citus/.
 */

export interface Asked extends Omit<Statement, "name"> {
  /** If absent, the statement is not prepared. */
  readonly name?: string;
  /** What stands for `text` on Citus: see `ofBucket`. */
  readonly onCitus?: OnCitus;
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

/** Runs a statement on any buckets. */
export async function query<Row>(
  on: Queryable,
  asked: Asked,
  values: readonly unknown[] = [],
): Promise<Answer<Row>> {
  return ask(on, (await isDistributed(on)) ? onCitus(asked) : [asked], values);
}

/** As `query`, but with rows in binary format. */
export async function queryBytes(on: Queryable, asked: Asked, values: readonly unknown[]): Promise<ByteRows> {
  const [statement = asked] = (await isDistributed(on)) ? onCitus(asked) : [];
  return readByteRows(on, statement, values);
}

/** Runs a statement (of `ofBucket`) on rows of one bucket. On Citus one worker runs all of it. */
export async function queryOfBucket<Row>(
  on: Queryable,
  asked: Asked,
  values: readonly unknown[],
  of: readonly Placed[],
): Promise<Answer<Row>> {
  requirePlace(asked, values.length + 1);
  if (!(await isDistributed(on))) return ask(on, [asked], values);
  // Without a bucket Citus would query every worker.
  if (of.length === 0) return { rows: [], rowCount: 0 };
  return ask(on, onCitus(asked), [...values, oneBucketOf(of)]);
}

/** Runs a statement on all items: on Citus once per bucket, in a worker session once per shard group. */
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

/** Runs what another statement has not done on Citus (`nested`); undefined where it has. */
export async function queryNested<Row>(
  on: Queryable,
  asked: Asked,
  about: () => { readonly values: readonly unknown[]; readonly of: readonly Placed[] },
): Promise<Answer<Row> | undefined> {
  if (!(await isDistributed(on))) return undefined;
  const { values, of } = about();
  return queryOfBucket(on, asked, values, of);
}

/** The statement for this database, of which the bucket is a parameter on both. */
export async function statementOfBucket(
  on: Queryable,
  { name, text, onCitus }: Asked & Statement,
): Promise<Statement> {
  return { name, text: onCitus !== undefined && (await isDistributed(on)) ? onCitus.text : text };
}

/** A statement's text for Citus; the bucket is parameter `place`, by default behind those of plain PostgreSQL. */
interface OnCitus {
  readonly text: string;
  readonly place: number;
}

/** What differs in the text of a statement about rows of one bucket. */
export interface BucketDialect {
  /** On Citus a condition on the bucket of table `t`, by which one worker is asked. Plain PostgreSQL finds the rows without it: "". */
  readonly andBucket: string;
  /** Text that Citus cannot run nested (an INSERT, a lookup in a second table). There `otherwise` stands for it: see `queryNested`. */
  readonly nested: (text: string, otherwise?: string) => string;
}

const PLAIN: BucketDialect = { andBucket: "", nested: (text) => text };

/** The texts of a statement about rows of one bucket, which is parameter `place` on Citus. */
export function ofBucket(
  place: number,
  compose: (dialect: BucketDialect) => string,
): Required<Pick<Asked, "text" | "onCitus">> {
  const text = compose({
    andBucket: `and t.bucket = $${place}::smallint`,
    nested: (_, otherwise = "") => otherwise,
  });
  return { text: compose(PLAIN), onCitus: { text, place } };
}

/** A statement in a file (`readStatement`) with `{and-bucket}`. */
export function readStatementOfBucket(
  url: URL,
  place: number,
  texts: (dialect: BucketDialect) => Texts = () => ({}),
): Required<Pick<Asked, "name" | "text" | "onCitus">> {
  let name = "";
  const composed = ofBucket(place, (dialect) => {
    const statement = readStatement(url, { "and-bucket": dialect.andBucket, ...texts(dialect) });
    name = statement.name;
    return statement.text;
  });
  return { name, ...composed };
}

/** The statements that replace one on Citus; the result is that of the last. */
function onCitus(asked: Asked): readonly Asked[] {
  const { name = "" } = asked;
  const overrides = OVERRIDES[name];
  if (overrides !== undefined)
    return overrides.map((text, at) => ({ ...asked, text, name: at === 0 ? name : `${name}-${at}` }));
  return [{ ...asked, text: asked.onCitus?.text ?? asked.text }];
}

function requirePlace({ onCitus, text }: Asked, place: number): void {
  if (onCitus?.place !== place)
    throw new Error(`The statement does not have its bucket at $${place} on Citus: ${text.slice(0, 200)}`);
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

/** A statement, and its variant with rows of the coordinator given as additional parameters. */
export interface AskedWith {
  readonly own: Asked;
  readonly given: Asked;
}

/** Writes the outcomes of parts; `given`: with the clients that listen for applied requests. */
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

/** Runs a statement on all buckets of the session's server. */
export async function queryAllBuckets<Row extends pg.QueryResultRow>(
  on: Queryable,
  { own, given }: { readonly own: Asked; readonly given: OfAllGroups },
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const shards = shardSessionOf(on);
  return shards === undefined
    ? (await ask<Row>(on, [own], values)).rows
    : await shards.queryAllGroups<Row>(given, values);
}

/** Reads the next parts of buckets. `given` takes the log writers as parameters, and returns parts of one shard group. */
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

/** Reads rows of one bucket outside the transaction that holds its shards. */
export async function readOfBucket<Row extends pg.QueryResultRow>(
  on: Queryable,
  asked: Asked,
  bucket: number,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const statement = shardSessionOf(on)?.statementOf(bucket, asked) ?? asked;
  return (await ask<Row>(on, [statement], values)).rows;
}

/** On Citus, distributes new tables by their column `bucket`. */
export async function placeByBucket(on: Queryable, tables: readonly string[]): Promise<void> {
  if (!(await isDistributed(on))) return;
  for (const table of tables) await placeTable(on, table);
}

/** Prepares the transaction to access all buckets: on Citus by one connection per worker, for one snapshot each and ordered writes. */
export async function reachAllBuckets(on: Queryable): Promise<void> {
  if (!(await isDistributed(on))) return;
  await on.query("set local citus.max_adaptive_executor_pool_size = 1");
  await on.query("set local citus.multi_shard_modify_mode = 'sequential'");
  // Workers commit after the coordinator, whose commit must survive a crash.
  await on.query("set local synchronous_commit to default");
  // Later `set local` commands, such as `lock_timeout`, apply to the workers too.
  await on.query("set local citus.propagate_set_commands = 'local'");
}

/** Takes an exclusive advisory lock on every server with rows, until the transaction ends. */
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

/** Creates a restore point in the write-ahead log of every server. */
export async function createRestorePoint(
  on: Queryable,
  clientConfig: pg.ClientConfig,
  name: string,
): Promise<void> {
  if (await isDistributed(on))
    await withSession(clientConfig, "restore point", (holder) => createRestorePointOfAll(on, holder, name));
  else await on.query("select pg_create_restore_point($1)", [name]);
}

/** Conditions that split a table into pieces, so that a server need not buffer all of it. */
export async function slicesOf(on: Queryable, table: string): Promise<readonly string[]> {
  if (!(DISTRIBUTED_TABLES as readonly string[]).includes(table) || !(await isDistributed(on)))
    return ["true"];
  const { rows } = await on.query<{ bucket: number }>(
    "select bucket from bellhop.bucket_lease order by bucket",
  );
  return rows.map(({ bucket }) => `bucket = ${bucket}::smallint`);
}

/** Whether a trigger can block writes to the log. Not on Citus, where sessions write to shards by name. */
export async function canCloseLog(on: Queryable): Promise<boolean> {
  return !(await isDistributed(on));
}

/** A relation of the idempotency keys, placed as on Citus (`isPlaced`) or as on plain PostgreSQL. */
export async function keysAsPlaced(on: Queryable, isPlaced: boolean): Promise<string> {
  if ((await isDistributed(on)) === isPlaced) return "bellhop.idempotency_key";
  return isPlaced ? PLACED_KEYS : GATHERED_KEYS;
}

/** A text that changes when a bucket is moved. */
export async function placementOf(on: Queryable): Promise<string> {
  return (await isDistributed(on)) ? readPlacement(on) : "";
}

/** Creates a trigger that records in `into` what is written to a table. */
export async function noteWrites(on: Queryable, table: string, into: string, trigger: string): Promise<void> {
  if (await isDistributed(on)) return createTriggersOnShards(on, table, into, trigger);
  await on.query(
    `create trigger ${trigger} after insert or update on ${table}
    for each row execute function bellhop.note_late_version('${into}')`,
  );
}

/** Drops the trigger of `noteWrites`; only one table has it at a time. */
export async function stopNoting(on: Queryable, table: string, trigger: string): Promise<void> {
  if (await isDistributed(on)) await dropTriggersOnShards(on, trigger);
  else await on.query(`drop trigger if exists ${trigger} on ${table}`);
}

/** A Citus worker that has buckets. */
export interface BucketServer {
  readonly key: string;
  readonly clientConfig: pg.ClientConfig;
  readonly worker: WorkerShards;
  readonly map: ShardMap;
}

/** The placement of buckets on Citus workers. */
export class BucketServers {
  readonly #clientConfig: pg.ClientConfig;
  readonly #map: ShardMap;

  private constructor(clientConfig: pg.ClientConfig, map: ShardMap) {
    this.#clientConfig = clientConfig;
    this.#map = map;
  }

  /** Undefined on plain PostgreSQL. */
  static async find(clientConfig: pg.ClientConfig): Promise<BucketServers | undefined> {
    if (!(await withSession(clientConfig, "shards", isDistributed))) return undefined;
    return new BucketServers(clientConfig, await ShardMap.draw(clientConfig));
  }

  get all(): readonly BucketServer[] {
    return this.#map.workers.map((worker) => this.#serverOf(worker));
  }

  /** The worker that has all of these buckets (`inOneGroup`: in one shard group). Undefined if there is none: use the coordinator. */
  having(buckets: readonly number[], inOneGroup: boolean): BucketServer | undefined {
    const places = buckets.map((bucket) => this.#map.placeOf(bucket));
    const [first] = places;
    const isTogether = places.every(
      (place) => place?.worker === first?.worker && (!inOneGroup || place?.group === first?.group),
    );
    return first === undefined || !isTogether ? undefined : this.#serverOf(first.worker);
  }

  /** Whether one of these buckets was just found to be moving. */
  isMoving(buckets: readonly number[]): boolean {
    return buckets.some((bucket) => this.#map.isMoving(bucket));
  }

  /** Reads the placement again, for example after failing to reach a worker. */
  refresh(): void {
    this.#map.refresh();
  }

  /** Reads the placement on the caller's session at the coordinator. */
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

/** Makes the statements of a worker session name shards. `first`: the coordinator, for statements without buckets. */
export function nameShards(client: pg.ClientBase, { map, worker }: BucketServer, first: Queryable): void {
  new ShardSession(client, first, map, worker.node);
}

/** The first statement of a transaction on these buckets in a worker session; "" on plain PostgreSQL. */
export function holdBuckets(client: pg.ClientBase, buckets: readonly number[]): string {
  return shardSessionOf(client)?.holding(buckets) ?? "";
}

/** The connection for statements without buckets: the coordinator's, or on plain PostgreSQL the session itself. */
export function firstServerOf(on: Queryable): Queryable {
  return shardSessionOf(on)?.first ?? on;
}

/** Reports the error of a transaction on buckets. If their shard is moving, the placement is read again. */
export function noteFailure(client: pg.ClientBase, error: unknown): void {
  shardSessionOf(client)?.noteAway(error);
}

/** The log writer statements of a session: its own, or those for a Citus coordinator or worker. */
export async function logWriterStatements<Item extends FlushItem>(
  client: pg.Client,
  own: LogWriterStatements<Item>,
  server?: BucketServer & { readonly appendEntries: Statement },
): Promise<LogWriterStatements<Item>> {
  if (server !== undefined) return new WorkerLogWriter(client, server);
  return (await isDistributed(client)) ? new CitusLogWriter(client) : own;
}

/** Closes log writers whose backend is gone, and retires closed ones that are completely applied. */
export async function retireLogWriters(on: Queryable, asked: Asked): Promise<void> {
  const shards = shardSessionOf(on);
  if (shards !== undefined) await shards.closeLogWriters();
  else if (await isDistributed(on)) await retireLogWritersOnCitus(on, asked);
  else await ask(on, [asked], []);
}

/** Whether an Idempotency-Key is stored in a bucket of its batch. */
export async function placesKeys(client: pg.ClientBase, server?: BucketServer): Promise<boolean> {
  return server !== undefined || (await isDistributed(client));
}

/** Runs a statement at every worker; [] on plain PostgreSQL. */
export async function askOthers(
  on: Queryable,
  { text }: Statement,
  values: readonly unknown[] = [],
): Promise<readonly WorkerRows[]> {
  return (await isDistributed(on)) ? askWorkers(on, text, values) : [];
}

/** The workers over which the tables are distributed; undefined on plain PostgreSQL. */
export async function readWorkersOf(on: Queryable): Promise<readonly WorkerDescription[] | undefined> {
  return (await isDistributed(on)) ? (await on.query<WorkerDescription>(describeWorkers)).rows : undefined;
}

/** Settings with which workers acknowledge commits that are not on disk. `skipsAway`: ignores unreachable workers. */
export async function findDurabilityGaps(on: Queryable, skipsAway = false): Promise<string[]> {
  return (await isDistributed(on)) ? (await readWorkers(on, skipsAway)).flatMap(durabilityGapsOf) : [];
}

/** The closed timestamp of a bucket on Citus; undefined on plain PostgreSQL, where one applies to all buckets. */
export async function closedTimestampOf(
  on: Queryable,
  bucket: number,
): Promise<BucketClosedTimestamp | undefined> {
  return (await isDistributed(on)) ? new BucketClosedTimestamp(on, bucket) : undefined;
}
