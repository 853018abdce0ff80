import type pg from "pg";
import { readStatementOfBucket, statementOfBucket } from "../platform/db/dialect.ts";
import type { Statement, Texts } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Clock, Grouping } from "./question.ts";

/** The column of each grouping: `{unit}`. */
const UNITS: Readonly<Record<Grouping, string>> = {
  none: 'null::text collate "C"',
  roomType: "room_type_code",
  bookedRoomType: "coalesce(booked_room_type_code, room_type_code)",
  marketSegment: "market_segment_code",
  rateCode: "rate_code",
  channel: "channel",
  group: "group_block_code",
};
/** The column of each clock: `{time}`. */
const TIMES: Readonly<Record<Clock, string>> = { source: "source_time", receipt: "received_at" };
/** The position of the bucket among the parameters of every statement here that reads entries. */
const BUCKET_PLACE = 1;

/** What the text of entries reads here: property $2 and the nights from $3 to $4. */
export function entriesOfNights(andBucket = ""): Texts {
  return {
    "night-entry": "bellhop_state.night_entry",
    "ledger-delta": "bellhop_state.ledger_delta",
    "of-properties": `property_id = $2 ${andBucket}`.trim(),
    "of-short-ones": "",
    first: "$3::date",
    last: "$4::date",
  };
}

/** Creates a statement for each grouping and clock. */
export function composeVariants(
  url: URL,
  texts: Texts = {},
): (on: pg.ClientBase, by: Grouping, clock: Clock) => Promise<Statement> {
  const variants = new Map<string, ReturnType<typeof readStatementOfBucket>>();
  return (on, by, clock) => {
    const key = `${by}-${clock}`;
    let variant = variants.get(key);
    if (variant === undefined) {
      const made = readStatementOfBucket(url, BUCKET_PLACE, ({ andBucket }) => ({
        ...entriesOfNights(andBucket),
        ...texts,
        unit: UNITS[by],
        time: TIMES[clock],
      }));
      variant = { ...made, name: `${made.name}-${key}` };
      variants.set(key, variant);
    }
    return statementOfBucket(on, variant);
  };
}

/** A statement for each clock, which has its grouping as a parameter where it reads `{unit-by of $n}`. */
export function composeClocks(
  url: URL,
  texts: Texts = {},
): (on: pg.ClientBase, clock: Clock) => Promise<Statement> {
  const [, ...groupings] = Object.entries(UNITS);
  const columns = groupings.map(([by, column]) => `when '${by}' then ${column}`).join(" ");
  const variant = composeVariants(url, {
    ...texts,
    "unit-by": (parameter) => `case ${parameter}::text ${columns} end`,
  });
  return (on, clock) => variant(on, "none", clock);
}

/** A hash table may take this multiple of work_mem (64 MB on the embedded server) before it spills to disk. */
const HASH_MEMORY = 8;

/**
 * Runs statements that sum ledger entries, in a transaction. Disables nested loops, which a server without statistics prefers (a
 * statement finds few rows by `any (array(…))`, because `in` would read them all), and parallel workers, which cost more than they save.
 */
export async function whileSumming<Answer>(on: Queryable, ask: () => Promise<Answer>): Promise<Answer> {
  await on.query(
    `set local enable_nestloop = off; set local max_parallel_workers_per_gather = 0; set local hash_mem_multiplier = ${HASH_MEMORY}`,
  );
  const answer = await ask();
  await on.query(
    "set local enable_nestloop = default; set local max_parallel_workers_per_gather = default; set local hash_mem_multiplier = default",
  );
  return answer;
}

/** Runs a statement within `whileSumming`. Unnamed, so that it is planned for its dates. */
export async function readUnnamed<Row extends pg.QueryResultRow>(
  on: Queryable,
  { text }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return (await on.query<Row>({ text, values: [...values] })).rows;
}

/**
 * Runs a statement within `whileSumming` by a plan for any dates, which the session keeps: for few statements, as a plan has a megabyte, and
 * where it is the same for all dates.
 */
export async function readPrepared<Row extends pg.QueryResultRow>(
  on: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return (await on.query<Row>({ ...statement, values: [...values] })).rows;
}

/** Runs one statement that sums ledger entries: see `whileSumming`. */
export function sumEntries<Row extends pg.QueryResultRow>(
  on: Queryable,
  statement: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  return whileSumming(on, () => readUnnamed<Row>(on, statement, values));
}
