import { randomInt } from "node:crypto";
import { ALL_BUCKETS, BUCKET_COUNT } from "../../ingest/log/part-name.ts";
import { query } from "../../platform/db/dialect.ts";
import { apartFromReader } from "../../platform/db/pool.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Queryable } from "../../platform/db/transaction.ts";
import { SealedCursors } from "../page-cursors.ts";

/**
 * How far a reader of the change feed has come: of each bucket that it looks at the number of the last change that it was
 * told of or that is none of its. A bucket that is not in it is read from the beginning.
 */
export type Positions = ReadonlyMap<number, number>;

/** Of a reader that has read nothing yet. */
export const BEGINNING: Positions = new Map();

/**
 * The number of the last change of each of the buckets $1. A bucket's counter only grows, and the entry that counts is the
 * last of the index (migration 0011): one look each, however many dead ones lie below it.
 */
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
/** The number of the last change of each of these buckets: 0 where there was none. All up to it can be read from now on. */
export async function readChangeEnds(on: Queryable, buckets: readonly number[]): Promise<Positions> {
  const { rows } = await query<{ bucket: number; last_change: number }>(on, readEnds, [buckets]);
  return new Map(rows.map(({ bucket, last_change }) => [bucket, last_change]));
}

/** Of an installation that was never restored. */
const FIRST_EPOCH = 0;
const EPOCH_MAX = 2 ** 32;

/** Its name in bellhop.instance. */
const NAME = "feed.cursor-epoch";

const known = new WeakMap<object, Promise<number>>();

async function ask(on: Queryable): Promise<number> {
  const { rows } = await on.query<{ value: string }>("select value from bellhop.instance where name = $1", [
    NAME,
  ]);
  return Number(rows[0]?.value ?? FIRST_EPOCH);
}

/**
 * The epoch that cursors of the change feed are written in: another one after each restore, as change numbers of lost changes are
 * given again. Asked once of each pool and then remembered: nothing is restored while a node runs.
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

/**
 * Begins another epoch: every cursor of an earlier one is answered 410. Its number is drawn, not counted: a backup that is
 * restored twice would count to the same one twice.
 */
export async function beginCursorEpoch(on: Queryable): Promise<void> {
  await on.query(
    "insert into bellhop.instance (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
    [NAME, String(randomInt(1, EPOCH_MAX))],
  );
}

const EPOCH_BYTES = 4;
/** What Node writes as one number. Always all of it: a width that grew with the counters would tell of them. */
const POSITION_BYTES = 6;
const BUCKET_AND_POSITION_BYTES = 1 + POSITION_BYTES;
const ALL_BUCKETS_BYTES = BUCKET_COUNT * POSITION_BYTES;
const CURSOR_CHARACTERS_MAX = 1_024;

/** Whose cursor, and of which question: with another one it would pass by what this one had left out. */
interface CursorOwner {
  readonly clientId: string;
  readonly filters: string;
}

/** What cursors are written and read by. */
export interface CursorSeal {
  /** 32 bytes that only this installation has. */
  readonly key: Buffer;
  /** Which life of the database they are of. */
  readonly epoch: number;
}

/**
 * The cursors of one question of the change feed. One of all buckets holds their positions one after another; one of some, each
 * with its bucket before it. Its length depends on how many buckets it is of, and on nothing else.
 */
export class ChangeCursors {
  readonly #sealed: SealedCursors;
  readonly #epoch: number;

  constructor({ key, epoch }: CursorSeal, { clientId, filters }: CursorOwner) {
    this.#sealed = new SealedCursors(key, { clientId, path: "changes", filters });
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
    return this.#sealed.seal(bytes);
  }

  /** Undefined for what this installation has not written for this question, and "former" for what it has written before it was restored. */
  read(cursor: string): Positions | "former" | undefined {
    const bytes = cursor.length > CURSOR_CHARACTERS_MAX ? undefined : this.#sealed.open(cursor);
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
