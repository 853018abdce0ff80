import { randomInt } from "node:crypto";
import { apartFromReader } from "../../platform/db/pool.ts";
import type { Queryable } from "../../platform/db/transaction.ts";

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
