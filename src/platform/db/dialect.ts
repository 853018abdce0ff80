import type pg from "pg";
import { type ApplyConnection, WorkersOfThread } from "./citus/apply.ts";
import { BucketClosedTimestamp } from "./citus/bucket-closed-timestamp.ts";
import {
  CitusLogWriter,
  type FlushItem,
  type LogWriterStatements,
  retireLogWritersOnCitus,
} from "./citus/log-writers.ts";
import { type OutcomeRow, writeOutcomesOfBucket } from "./citus/outcomes.ts";
import { OVERRIDES } from "./citus/overrides.ts";
import { placeTable } from "./citus/place.ts";
import { createRestorePointOfAll, inSnapshotOfAll } from "./citus/snapshot.ts";
import {
  createTriggersOnShards,
  dropTriggersOnShards,
  lockAtWorkers,
  readPlacement,
} from "./citus/windows.ts";
import {
  askWorkers,
  describeWorkers,
  durabilityGapsOf,
  readWorkers,
  type WorkerDescription,
  type WorkerRows,
} from "./citus/workers.ts";
import { withSession } from "./connection.ts";
import { DISTRIBUTED_TABLES } from "./distribute.ts";
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

export type { ApplyConnection } from "./citus/apply.ts";
export type { FlushAnswer, LogWriterBirth, LogWriterStatements } from "./citus/log-writers.ts";
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

/** Runs a statement about all of the items; on Citus, as `queryOfBucket`, once for the items of each bucket. */
export async function queryEachBucket<Row, Item extends Placed>(
  on: Queryable,
  asked: Asked,
  items: readonly Item[],
  values: (items: readonly Item[]) => readonly unknown[],
): Promise<Answer<Row>> {
  if (!(await isDistributed(on))) return ask(on, [asked], values(items));
  const rows: Row[] = [];
  let rowCount = 0;
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

/** Writes the outcomes of parts; on plain PostgreSQL by one statement for rows, arrivals and details. */
export async function writeOutcomeRows(
  on: Queryable,
  statement: Statement,
  rows: readonly OutcomeRow[],
  arrivals: readonly { readonly bucket: number }[],
  details: Buffer,
): Promise<void> {
  if (await isDistributed(on)) return writeOutcomesOfBucket(on, rows, arrivals, details);
  await ask(on, [statement], [JSON.stringify(rows), JSON.stringify(arrivals), details]);
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

/** How the log writer of this session registers and appends: by its own statements, or as Citus needs it. */
export async function logWriterStatements<Item extends FlushItem>(
  client: pg.Client,
  own: LogWriterStatements<Item>,
): Promise<LogWriterStatements<Item>> {
  return (await isDistributed(client)) ? new CitusLogWriter(client) : own;
}

/** Closes log writers in which nothing can appear any more, and retires those of them of which all is applied. */
export async function retireLogWriters(on: Queryable, asked: Asked): Promise<void> {
  if (await isDistributed(on)) await retireLogWritersOnCitus(on, asked);
  else await ask(on, [asked], []);
}

/** What the sessions of one thread that applies ask of all buckets; on Citus they know together which workers answer. */
export class ApplyStatements {
  readonly #workers = new WorkersOfThread();

  /**
   * On Citus the leases are read first, from the workers, and then compared with the sessions of the coordinator. A lease that has
   * changed in between has another epoch, at which nobody takes it.
   */
  async readClusterView<Row>(
    session: ApplyConnection,
    asked: Asked,
    values: readonly unknown[],
  ): Promise<Row | undefined> {
    const leases = (await isDistributed(session.client))
      ? [JSON.stringify(await this.#workers.readLeases(session))]
      : [];
    return (await query<Row>(session.client, asked, [...values, ...leases])).rows[0];
  }

  /** On Citus only while every worker is taken to answer. */
  async retireLogWriters(session: ApplyConnection, asked: Asked): Promise<void> {
    const retire = () => retireLogWriters(session.client, asked);
    if (await isDistributed(session.client)) await this.#workers.whenComplete(session, retire);
    else await retire();
  }

  /** On Citus what is next of one of the buckets, as a transaction has one there. */
  async readBacklog<Row extends pg.QueryResultRow>(
    client: pg.ClientBase,
    asked: Asked,
    values: readonly [readonly number[], ...unknown[]],
  ): Promise<readonly Row[]> {
    if (await isDistributed(client)) return this.#workers.readBacklog(client, asked, values);
    return (await ask<Row>(client, [asked], values)).rows;
  }

  /** A session that had taken these leases was closed. */
  leave(leases: Iterable<{ readonly bucket: number; readonly epoch: string }>): void {
    this.#workers.leave(leases);
  }
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

/** Settings of workers that let them acknowledge a commit that is not on their disks. */
export async function findDurabilityGaps(on: Queryable): Promise<string[]> {
  return (await isDistributed(on)) ? (await readWorkers(on)).flatMap(durabilityGapsOf) : [];
}

/** What is promised of a bucket where it lies; undefined where what is promised of all holds for it. */
export async function closedTimestampOf(
  on: Queryable,
  bucket: number,
): Promise<BucketClosedTimestamp | undefined> {
  return (await isDistributed(on)) ? new BucketClosedTimestamp(on, bucket) : undefined;
}
