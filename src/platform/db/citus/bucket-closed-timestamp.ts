import { setTimeout as delay } from "node:timers/promises";
import { namedStatement } from "../statement.ts";
import type { Queryable } from "../transaction.ts";
import { LOG_WRITER_SESSION } from "./log-writers.ts";

/** What is settled of the bucket $1 where tables are distributed. */
const lookAtBucketClosedTimestamp = namedStatement(
  "look-at-bucket-closed-timestamp",
  `select settled::text as settled from bellhop.bucket_closed_timestamp where bucket = $1`,
);
/** Promises of the bucket $1 up to $2, unless more is promised already. */
const promiseBucketReceipts = namedStatement(
  "promise-bucket-receipts",
  `update bellhop.bucket_closed_timestamp set promised = greatest(promised, $2::uuid) where bucket = $1`,
);
const settleBucketReceipts = namedStatement(
  "settle-bucket-receipts",
  `update bellhop.bucket_closed_timestamp set settled = greatest(settled, $2::uuid) where bucket = $1`,
);
/** What a worker holds prepared, and the transactions of its log writers. */
const UNDER_WAY = `
  select coalesce(json_agg(name), '[]') from (
    select gid from pg_prepared_xacts where database = current_database()
    union all
    select pid || ' ' || coalesce(xact_start::text, 'unknown') from pg_stat_activity
    where datname = current_database() and application_name = '${LOG_WRITER_SESSION}' and (xact_start is not null or backend_start is null)
  ) as transaction (name)`;

/**
 * What is under way at the worker that has the bucket $1: committed on the coordinator perhaps, and not to be seen yet, or an append of
 * its own. No other worker is asked (as run_command_on_workers would): one that hangs would hold up the answers of all.
 */
const findUnderWay = namedStatement(
  "find-under-way",
  `select answer.success, answer.result
  from pg_dist_shard_placement as home
  cross join lateral master_run_on_worker(
    array[home.nodename], array[home.nodeport::integer],
    array[$2::text], true
  ) as answer
  where home.shardid = get_shard_id_for_distribution_column('bellhop.bucket_closed_timestamp', $1::smallint)`,
);

/** Of a settled receipt that there is none. */
const NEVER = "00000000-0000-0000-0000-000000000000";
/** What is under way is waited for so often; most commits take some milliseconds. */
const LOOKS_MAX = 10;
const LOOK_AGAIN_MS = 25;

/**
 * What is promised of one bucket on Citus, beside the promise of all that lies on the coordinator: a flush of one bucket is one
 * statement of that bucket's worker, and looks there; any other looks at the coordinator. Both are promised the same.
 */
export class BucketClosedTimestamp {
  readonly #pool: Queryable;
  readonly #bucket: number;

  constructor(pool: Queryable, bucket: number) {
    this.#pool = pool;
    this.#bucket = bucket;
  }

  async settled(): Promise<string> {
    const { rows } = await this.#pool.query<{ settled: string }>({
      ...lookAtBucketClosedTimestamp,
      values: [this.#bucket],
    });
    return rows[0]?.settled ?? NEVER;
  }

  async promise(id: string): Promise<void> {
    await this.#pool.query({ ...promiseBucketReceipts, values: [this.#bucket, id] });
  }

  async settle(id: string): Promise<void> {
    await this.#pool.query({ ...settleBucketReceipts, values: [this.#bucket, id] });
  }

  /**
   * Whether all that had begun at the bucket's worker has ended and is to be seen: a worker that was away when the coordinator committed shows its
   * part once Citus has recovered it. False as well where the worker cannot be asked.
   */
  async haveAppendsEnded(): Promise<boolean> {
    const before = await this.#underWay();
    for (let look = 0; before !== undefined && before.size > 0 && look < LOOKS_MAX; look += 1) {
      await delay(LOOK_AGAIN_MS);
      const now = await this.#underWay();
      for (const transaction of before) if (now?.has(transaction) === false) before.delete(transaction);
    }
    return before?.size === 0;
  }

  async #underWay(): Promise<Set<string> | undefined> {
    const { rows } = await this.#pool.query<{ success: boolean; result: string }>({
      ...findUnderWay,
      values: [this.#bucket, UNDER_WAY],
    });
    const [answer] = rows;
    return answer?.success === true ? new Set(JSON.parse(answer.result) as string[]) : undefined;
  }
}
