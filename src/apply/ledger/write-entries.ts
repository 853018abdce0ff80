import type pg from "pg";
import { microsecondsOf } from "../../ingest/log/request-id.ts";
import { type RowWriter, writeItems } from "../../platform/db/write-rows.ts";
import type { RecordKey } from "../state/record-state.ts";
import type { Dimension } from "./dimensions.ts";
import type { BlockRun, NightRun } from "./night-run.ts";
import { type Money, timesWhole } from "./night-run.ts";

// Records of a transaction come from few requests, one after another.
let lastRequest = "";
let lastMicroseconds = 0;

/** When a request was received: microseconds since 1970. */
export function receivedAt(requestId: string): number {
  if (requestId !== lastRequest) {
    lastMicroseconds = microsecondsOf(requestId);
    lastRequest = requestId;
  }
  return lastMicroseconds;
}

/** When an entry counts, of what, and how often: most often once, or minus once. */
export interface EntryOf {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly by: number;
  readonly dimension: Dimension;
}

export interface NightEntry extends EntryOf {
  readonly run: Omit<NightRun, "codes">;
  readonly shareId: string | null;
}

export interface BlockEntry extends EntryOf {
  readonly run: BlockRun;
}

const NIGHTS = {
  table: "night_entry",
  columns: {
    source_time: "timestamptz",
    received_at: "timestamptz",
    dimension: "bigint",
    property_id: "integer",
    first_night: "date",
    nights: "integer",
    rooms: "integer",
    adults: "integer",
    children: "integer",
    bucket: "smallint",
    room_revenue: "numeric",
    gross_room_revenue: "numeric",
    key: "text",
    share_id: "text",
  },
} as const;

const BLOCKS = {
  table: "block_entry",
  columns: {
    source_time: "timestamptz",
    received_at: "timestamptz",
    dimension: "bigint",
    property_id: "integer",
    first_night: "date",
    nights: "integer",
    blocks: "integer",
    picked_up: "integer",
    original_blocks: "integer",
    bucket: "smallint",
    key: "text",
  },
} as const;

function addHead(rows: RowWriter, { of, sourceTime, countsFrom, dimension }: EntryOf): void {
  rows.row();
  rows.timestamp(sourceTime);
  rows.microseconds(receivedAt(countsFrom));
  rows.wide(dimension.high, dimension.low);
  rows.integer(of.propertyId);
}

function addMoney(rows: RowWriter, money: Money | null, by: number): void {
  if (money === null) rows.null();
  else rows.numeric(timesWhole(money, by) ?? 0);
}

function addCount(rows: RowWriter, count: number | null): void {
  if (count === null) rows.null();
  else rows.integer(count);
}

function addNights(rows: RowWriter, entry: NightEntry): void {
  const { of, by, run, shareId } = entry;
  addHead(rows, entry);
  rows.day(run.firstNight);
  rows.integer(run.nights);
  rows.integer(run.rooms * by);
  rows.integer(run.adults * by);
  rows.integer(run.children * by);
  rows.smallint(of.bucket);
  addMoney(rows, run.roomRevenue, by);
  addMoney(rows, run.grossRoomRevenue, by);
  rows.text(of.key);
  if (shareId === null) rows.null();
  else rows.text(shareId);
}

function addBlocks(rows: RowWriter, entry: BlockEntry): void {
  const { of, by, run } = entry;
  const signed = (count: number | null) => (count === null ? null : count * by);
  addHead(rows, entry);
  rows.day(run.firstNight);
  rows.integer(run.nights);
  addCount(rows, signed(run.blocks));
  addCount(rows, signed(run.pickedUp));
  addCount(rows, signed(run.originalBlocks));
  rows.smallint(of.bucket);
  rows.text(of.key);
}

/** Writes entries of nights, on a session of `openStateSession`, in the transaction of their bucket's owner. */
export async function writeNights(client: pg.ClientBase, entries: readonly NightEntry[]): Promise<void> {
  await writeItems(client, NIGHTS, entries, addNights);
}

/** The same of blocks. */
export async function writeBlocks(client: pg.ClientBase, entries: readonly BlockEntry[]): Promise<void> {
  await writeItems(client, BLOCKS, entries, addBlocks);
}
