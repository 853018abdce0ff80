import type pg from "pg";
import { statementOfBucket } from "../platform/db/dialect.ts";
import { readStatement, type Statement } from "../platform/db/statement.ts";
import { BY, CLOCKS, type Clock, type Grouping } from "./question.ts";
import { readWithParts } from "./statement-parts.ts";

/** The column that a statement groups by; a file is written with the one of room types, marked. */
const COLUMNS: Readonly<Record<Grouping, string>> = {
  none: 'null::text collate "C"',
  roomType: "room_type_code",
  bookedRoomType: "coalesce(booked_room_type_code, room_type_code)",
  marketSegment: "market_segment_code",
  rateCode: "rate_code",
  channel: "channel",
  group: "group_block_code",
};

const TIMES: Readonly<Record<Clock, string>> = { source: "source_time", receipt: "received_at" };

const BY_MARK = "room_type_code /* by */";
const CLOCK_MARK = "source_time /* clock */";
/** The first parameter of every statement of this folder that reads entries. */
const BUCKET_PLACE = 1;

/** The statement for a grouping and clock. */
type Variants = (on: pg.ClientBase, by: Grouping, clock: Clock) => Promise<Statement>;

function variantOf({ name, text }: Statement, by: Grouping, clock: Clock): Statement {
  const grouped = text.replaceAll(BY_MARK, COLUMNS[by]);
  return { name: `${name}-${by}-${clock}`, text: grouped.replaceAll(CLOCK_MARK, TIMES[clock]) };
}

/**
 * Reads a statement that is written for room types and the source clock, and marks where another grouping and the other clock
 * stand. Only our own names are put in.
 */
export function readVariants(url: URL): Variants {
  const statement = readWithParts(url);
  if (!statement.text.includes(CLOCK_MARK))
    throw new Error(`The statement ${statement.name} does not say where its clock is.`);
  const variants = new Map<string, Statement>();
  for (const by of BY)
    for (const clock of CLOCKS) variants.set(`${by}/${clock}`, variantOf(statement, by, clock));
  return (on, by, clock) => statementOfBucket(on, variants.get(`${by}/${clock}`) as Statement, BUCKET_PLACE);
}

/** A statement for each grouping, of one that reads no entries. */
export function readGroupings(url: URL): (by: Grouping) => Statement {
  const { name, text } = readStatement(url);
  const statements = new Map(
    BY.map((by) => [by, { name: `${name}-${by}`, text: text.replaceAll(BY_MARK, COLUMNS[by]) }] as const),
  );
  return (by) => statements.get(by) as Statement;
}
