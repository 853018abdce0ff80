import { randomInt } from "node:crypto";
import { ALL_BUCKETS, BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { apartFromReader } from "../../platform/db/connection.ts";
import { query } from "../../platform/db/dialect.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { CursorCipher } from "../../platform/http/page-cursors.ts";

/** A reader's position in the change feed: the last change number of each bucket. Missing buckets are read from the start. */
export type Positions = ReadonlyMap<number, number>;

export const BEGINNING: Positions = new Map();

/** The last change of each of the buckets $1. Counters only grow, so the last index entry is current. */
const readEnds = namedStatement(
  "read-change-ends",
  `select counter.bucket, (counter.next_change - 1)::float8 as last_change
  from unnest($1::smallint[]) as asked (bucket)
  cross join lateral (
    select * from bellhop.change_counter as any_version
    where any_version.bucket = asked.bucket
    order by any_version.next_change desc limit 1
  ) as counter`,
);

/** The last change number of each of these buckets, without those that have no changes. */
export async function readChangeEnds(on: Queryable, buckets: readonly number[]): Promise<Positions> {
  const { rows } = await query<{ bucket: number; last_change: number }>(on, readEnds, [buckets]);
  return new Map(rows.map(({ bucket, last_change }) => [bucket, last_change]));
}

/** Epoch of an installation that was never restored. */
const FIRST_EPOCH = 0;
const EPOCH_MAX = 2 ** 32;

const NAME = "feed.cursor-epoch";

const known = new WeakMap<object, Promise<number>>();

async function ask(on: Queryable): Promise<number> {
  const select = "select value from bellhop.instance where name = $1";
  const { rows } = await on.query<{ value: string }>(select, [NAME]);
  return Number(rows[0]?.value ?? FIRST_EPOCH);
}

/**
 * The epoch of cursors. A restore starts another one, because it reuses change numbers. Cached, as no restore happens while a node runs.
 */
export function readCursorEpoch(on: Queryable): Promise<number> {
  let answer = known.get(on);
  if (answer === undefined) {
    answer = apartFromReader(() => ask(on));
    known.set(on, answer);
    answer.catch(() => known.delete(on));
  }
  return answer;
}

/** Starts another epoch, so that earlier cursors get a 410. The number is random, because a backup may be restored twice. */
export async function beginCursorEpoch(on: Queryable): Promise<void> {
  await on.query(
    "insert into bellhop.instance (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
    [NAME, String(randomInt(1, EPOCH_MAX))],
  );
}

const EPOCH_BYTES = 4;
/** The widest integer that Buffer writes; a fixed width does not disclose the counters. */
const POSITION_BYTES = 6;
const BUCKET_AND_POSITION_BYTES = 1 + POSITION_BYTES;
const ALL_BUCKETS_BYTES = BUCKET_COUNT * POSITION_BYTES;

/** The client and query of a cursor: with other filters it would skip changes. */
interface CursorOwner {
  readonly clientId: string;
  readonly filters: string;
}

/** The installation's 32-byte key, and the epoch. */
export interface CursorSecret {
  readonly key: Buffer;
  readonly epoch: number;
}

/** Cursors of one query of the change feed. Their length depends only on the number of buckets. */
export class ChangeCursors {
  readonly #cipher: CursorCipher;
  readonly #epoch: number;

  constructor({ key, epoch }: CursorSecret, { clientId, filters }: CursorOwner) {
    this.#cipher = new CursorCipher(key, { clientId, path: "changes", filters });
    this.#epoch = epoch;
  }

  write(positions: Positions): string {
    const isOfAll = positions.size === BUCKET_COUNT;
    const bytes = Buffer.alloc(
      EPOCH_BYTES + (isOfAll ? ALL_BUCKETS_BYTES : positions.size * BUCKET_AND_POSITION_BYTES),
    );
    let at = bytes.writeUInt32BE(this.#epoch);
    if (isOfAll)
      for (const bucket of ALL_BUCKETS)
        at = bytes.writeUIntBE(positions.get(bucket) ?? 0, at, POSITION_BYTES);
    else
      for (const [bucket, position] of positions)
        at = bytes.writeUIntBE(position, bytes.writeUInt8(bucket, at), POSITION_BYTES);
    return this.#cipher.encrypt(bytes);
  }

  /** Undefined for a cursor of another query or installation; "former" for one from before a restore. */
  read(cursor: string): Positions | "former" | undefined {
    const bytes = this.#cipher.decrypt(cursor);
    if (bytes === undefined) return undefined;
    if (bytes.readUInt32BE() !== this.#epoch) return "former";
    const body = bytes.subarray(EPOCH_BYTES);
    if (body.length === ALL_BUCKETS_BYTES)
      return new Map(
        ALL_BUCKETS.map((bucket) => [bucket, body.readUIntBE(bucket * POSITION_BYTES, POSITION_BYTES)]),
      );
    const positions = new Map<number, number>();
    for (let at = 0; at < body.length; at += BUCKET_AND_POSITION_BYTES)
      positions.set(body.readUInt8(at), body.readUIntBE(at + 1, POSITION_BYTES));
    return positions;
  }
}
