import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { readStatement } from "../db/statement.ts";

const lookAtBucketPromise = readStatement(new URL("./sql/look-at-bucket-promise.sql", import.meta.url));
const promiseBucketReceipts = readStatement(new URL("./sql/promise-bucket-receipts.sql", import.meta.url));
const settleBucketReceipts = readStatement(new URL("./sql/settle-bucket-receipts.sql", import.meta.url));
const findPrepared = readStatement(new URL("./sql/find-prepared.sql", import.meta.url));

/** Of a promise or a settled receipt that there is none. */
export const NEVER = "00000000-0000-0000-0000-000000000000";
/** What was under way when a promise was made is waited for so often; most appends take some milliseconds. */
export const LOOKS_MAX = 10;
export const LOOK_AGAIN_MS = 25;

/**
 * What is promised of one bucket on Citus, beside the promise of all that lies on the coordinator: a flush of one bucket is one
 * statement of that bucket's worker, and looks there; any other looks at the coordinator. Both are promised the same.
 */
export class BucketPromise {
  readonly #pool: pg.Pool;
  readonly #bucket: number;

  constructor(pool: pg.Pool, bucket: number) {
    this.#pool = pool;
    this.#bucket = bucket;
  }

  async settled(): Promise<string> {
    const { rows } = await this.#pool.query<{ settled: string }>({
      ...lookAtBucketPromise,
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
   * Whether what has been committed on the coordinator is to be seen in the bucket: a worker that was away at that moment shows its
   * part once Citus has recovered it. False as well where the worker cannot be asked.
   */
  async haveCommitsArrived(): Promise<boolean> {
    const before = await this.#prepared();
    for (let look = 0; before !== undefined && before.size > 0 && look < LOOKS_MAX; look += 1) {
      await delay(LOOK_AGAIN_MS);
      const now = await this.#prepared();
      for (const transaction of before) if (now?.has(transaction) === false) before.delete(transaction);
    }
    return before?.size === 0;
  }

  async #prepared(): Promise<Set<string> | undefined> {
    const { rows } = await this.#pool.query<{ success: boolean; result: string }>({
      ...findPrepared,
      values: [this.#bucket],
    });
    const [answer] = rows;
    return answer?.success === true ? new Set(JSON.parse(answer.result) as string[]) : undefined;
  }
}
