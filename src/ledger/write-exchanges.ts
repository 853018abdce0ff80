import type pg from "pg";
import { copyItems } from "../db/copy-in.ts";
import { isDistributed } from "../db/distribution.ts";
import type { RecordKey } from "../state/record-state.ts";
import { BRIEF_MAX, type BriefNights, endOf, RUN_NUMBERS } from "./brief-nights.ts";
import { receivedAt } from "./received-at.ts";
import { type NightEntry, writeNights } from "./write-entries.ts";

/** From an instant of either clock on nights of a reservation count in the place of others. */
export interface NightExchange {
  readonly of: RecordKey;
  readonly sourceTime: string;
  readonly countsFrom: string;
  readonly from: BriefNights | null;
  readonly to: BriefNights | null;
}

const INTO = {
  table: "night_exchange",
  columns: ["source_time", "received_at", "property_id", "first_night", "nights", "bucket", "runs", "key"],
} as const;

/** What is longer is read by every question about nights after its beginning (migration 0031, as 0012). */
const SHORT_NIGHTS = 31;

/** Four bigints. */
const HALVES_A_RUN = 8;
const TWO_TO_32 = 2 ** 32;
/** The lowest bigint, of which the lower half is 0. */
const NOT_TOLD_HIGH = -2_147_483_648;

/** The counts of a run in the lower half of a bigint, each from the least that it can be. */
function countsOf(rooms: number, adults: number, children: number): number {
  return ((rooms + 512) << 22) | ((adults + 1_024) << 11) | (children + 1_024);
}

/** The runs of a row, as the two halves of each bigint. */
class Runs {
  readonly halves: number[] = [];

  add({ dimension }: BriefNights, firstNight: number, nights: number, counts: number): void {
    this.halves.push(dimension.high, dimension.low, (firstNight << 6) | nights, counts);
  }

  /** What the run that was added last has of revenue, and then of gross revenue. */
  addAmount(amount: number): void {
    if (Number.isNaN(amount)) {
      this.halves.push(NOT_TOLD_HIGH, 0);
      return;
    }
    const high = Math.floor(amount / TWO_TO_32);
    this.halves.push(high, amount - high * TWO_TO_32);
  }

  /** All runs of a stay, once or minus once. */
  addAll(nights: BriefNights, by: 1 | -1): void {
    const { rooms, adults, children, firstNight, runs } = nights;
    const counts = countsOf(rooms * by, adults * by, children * by);
    let night = firstNight;
    for (let at = 0; at < runs.length; at += RUN_NUMBERS) {
      this.add(nights, night, runs[at] as number, counts);
      this.addAmount((runs[at + 1] as number) * by);
      this.addAmount((runs[at + 2] as number) * by);
      night += runs[at] as number;
    }
  }
}

/** Whether the one has no number of rooms or guests that differs from the other's by more than fits. */
function isNearInCounts(from: BriefNights, to: BriefNights): boolean {
  const guests = Math.max(Math.abs(to.adults - from.adults), Math.abs(to.children - from.children));
  return Math.abs(to.rooms - from.rooms) <= BRIEF_MAX.rooms && guests <= BRIEF_MAX.guests;
}

/** Whether two stays differ in numbers at most, and tell the same amounts (rooms without a price are counted). */
function isSameButForNumbers(from: BriefNights, to: BriefNights): boolean {
  if (from.firstNight !== to.firstNight || from.runs.length !== to.runs.length) return false;
  if (from.dimension.low !== to.dimension.low || from.dimension.high !== to.dimension.high) return false;
  if (!isNearInCounts(from, to)) return false;
  return to.runs.every((number, at) =>
    at % RUN_NUMBERS === 0 ? from.runs[at] === number : Number.isNaN(from.runs[at]) === Number.isNaN(number),
  );
}

const NO_COUNTS = countsOf(0, 0, 0);

/** What the numbers of one stay are more than those of another, of the runs where they are. */
function addDifferences(differences: Runs, from: BriefNights, to: BriefNights): void {
  const counts = countsOf(to.rooms - from.rooms, to.adults - from.adults, to.children - from.children);
  let night = to.firstNight;
  for (let at = 0; at < to.runs.length; at += RUN_NUMBERS) {
    const nights = to.runs[at] as number;
    const revenue = (to.runs[at + 1] as number) - (from.runs[at + 1] as number);
    const gross = (to.runs[at + 2] as number) - (from.runs[at + 2] as number);
    // What is not told on either side is no difference.
    if (counts !== NO_COUNTS || (revenue || 0) !== 0 || (gross || 0) !== 0) {
      differences.add(to, night, nights, counts);
      differences.addAmount(revenue);
      differences.addAmount(gross);
    }
    night += nights;
  }
}

interface Row extends NightExchange {
  readonly firstNight: number;
  readonly nights: number;
  readonly halves: readonly number[];
}

/** Adds the rows of an exchange: one, or two where the nights lie far apart; none where nothing changes. */
function addRows(rows: Row[], exchange: NightExchange): void {
  const from = exchange.from === null || exchange.from.runs.length === 0 ? null : exchange.from;
  const to = exchange.to === null || exchange.to.runs.length === 0 ? null : exchange.to;
  const runs = new Runs();
  if (from !== null && to !== null && isSameButForNumbers(from, to)) addDifferences(runs, from, to);
  else {
    if (from !== null) runs.addAll(from, -1);
    if (to !== null) runs.addAll(to, 1);
  }
  if (runs.halves.length === 0) return;
  const [one, other] = [from ?? to, to ?? from] as readonly [BriefNights, BriefNights];
  const firstNight = Math.min(one.firstNight, other.firstNight);
  const nights = Math.max(endOf(one), endOf(other)) - firstNight;
  if (nights <= SHORT_NIGHTS || from === null || to === null)
    rows.push({ ...exchange, firstNight, nights, halves: runs.halves });
  else {
    addRows(rows, { ...exchange, to: null });
    addRows(rows, { ...exchange, from: null });
  }
}

/** The amount whose halves stand from a place on; null where it is not told. */
function amountAt(halves: readonly number[], place: number): number | null {
  const [high, low] = [halves[place] as number, halves[place + 1] as number];
  return high === NOT_TOLD_HIGH ? null : high * TWO_TO_32 + low;
}

/** The same as entries, one a run. */
function entriesOf({ of, sourceTime, countsFrom, halves }: Row): NightEntry[] {
  const entries: NightEntry[] = [];
  for (let at = 0; at < halves.length; at += HALVES_A_RUN) {
    const [high, low, nights, counts] = halves.slice(at, at + 4) as [number, number, number, number];
    const run = {
      firstNight: nights >> 6,
      nights: nights & 63,
      rooms: (counts >>> 22) - 512,
      adults: ((counts >>> 11) & 2_047) - 1_024,
      children: (counts & 2_047) - 1_024,
      roomRevenue: amountAt(halves, at + 4),
      grossRoomRevenue: amountAt(halves, at + 6),
    };
    entries.push({ of, sourceTime, countsFrom, by: 1, dimension: { high, low }, run, shareId: null });
  }
  return entries;
}

/**
 * Writes exchanges, on a session of `openStateSession`, in the transaction of their bucket's owner. Where tables are distributed, as
 * entries: there rows are written by arrays of their columns, and none of these can be an array itself.
 */
export async function writeExchanges(
  client: pg.ClientBase,
  exchanges: readonly NightExchange[],
): Promise<void> {
  const all: Row[] = [];
  for (const exchange of exchanges) addRows(all, exchange);
  if (await isDistributed(client)) {
    await writeNights(client, all.flatMap(entriesOf));
    return;
  }
  await copyItems(client, INTO, all, (rows, row) => {
    rows.row();
    rows.timestamp(row.sourceTime);
    rows.microseconds(receivedAt(row.countsFrom));
    rows.integer(row.of.propertyId);
    rows.day(row.firstNight);
    rows.integer(row.nights);
    rows.smallint(row.of.bucket);
    rows.wides(row.halves);
    rows.text(row.of.key);
  });
}
