import type pg from "pg";
import type { Position } from "../platform/http/position.ts";
import { digitsOf, withDigits } from "./exact-amount.ts";
import {
  afterPlace,
  BEFORE_ALL,
  type BooksPlace,
  firstNightAfter,
  type InsightPage,
  type NightWindow,
  NightWindows,
  placeOf,
  positionOf,
  WINDOWS_MAX,
} from "./paging.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, type StayQuestion } from "./question.ts";
import { readVariants } from "./statement-variants.ts";
import { sumEntries } from "./sum-entries.ts";

const readPickup = readVariants(new URL("./sql/read-pickup.sql", import.meta.url));

/** What pickup asks beside what every question asks. */
interface PickupQuestion extends StayQuestion {
  /** The instant from which changes count, itself not included; ISO 8601 UTC to the microsecond. */
  readonly since: string;
}

/** What came onto the books of a night between two instants, of one group and currency: signed. Money is decimal text. */
interface PickupItem {
  readonly stayDate: string;
  /** Under the grouping's own name. */
  readonly [grouping: string]: string | number | null;
  /** Booked less cancelled. */
  readonly rooms: number;
  readonly booked: number;
  readonly cancelled: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly currency: string | null;
}

/** A row, as the statement answers it: numbers as text, since sums have no bound. */
interface PickupRow extends BooksPlace {
  readonly booked: string;
  readonly cancelled: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
}

function itemOf(row: PickupRow, by: StayQuestion["by"]): PickupItem {
  const { night, unit, currency, room_revenue, gross_room_revenue } = row;
  const digits = digitsOf(currency);
  const [booked, cancelled] = [Number(row.booked), Number(row.cancelled)];
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: booked - cancelled,
    booked,
    cancelled,
    roomRevenue: room_revenue === null ? null : withDigits(room_revenue, digits),
    grossRoomRevenue: gross_room_revenue === null ? null : withDigits(gross_room_revenue, digits),
    adults: Number(row.adults),
    children: Number(row.children),
    currency,
  };
}

async function readWindow(
  client: pg.ClientBase,
  question: PickupQuestion,
  { settings, labels }: QueryContext,
  { first, last }: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<PickupRow[]> {
  const { property, by, clock, since, asOf } = question;
  const statement = await readPickup(client, by, clock);
  return await sumEntries<PickupRow>(client, statement, [
    property.bucket,
    property.propertyId,
    first,
    last,
    since,
    boundOf(asOf),
    labels.reservations.deducting,
    settings.currency,
    limit,
    ...afterPlace(after),
  ]);
}

/**
 * What came onto the books of each night of a range between two instants, in the order of nights, groups and currencies: at
 * most `limit` rows after a position, none for what did not change. A page may end early, as those of `onTheBooks`.
 */
export async function pickup(
  client: pg.ClientBase,
  question: PickupQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<PickupItem>> {
  let after = start === null ? BEFORE_ALL : placeOf(start);
  const from = firstNightAfter(after, question);
  if (from === undefined) return { items: [], next: null };
  const found: PickupRow[] = [];
  const windows = new NightWindows(from, question.to, question.by !== "none", limit + 1);
  for (let count = 0; count < WINDOWS_MAX; count += 1) {
    const window = await windows.nextOfFew(client, question.property, false);
    if (window === undefined || found.length > limit) break;
    const wanted = limit + 1 - found.length;
    const rows = await readWindow(client, question, queryContext, window, after, wanted);
    found.push(...rows);
    windows.passed(window, rows.length, wanted - rows.length);
    if (rows.length === 0) await windows.skip(client, question.property, false);
    after = { night: window.last, unit: null, currency: null };
  }
  const items = found.slice(0, limit).map((row) => itemOf(row, question.by));
  if (found.length > limit) return { items, next: positionOf(found[limit - 1] as PickupRow) };
  return { items, next: windows.next() === undefined ? null : positionOf(after) };
}
