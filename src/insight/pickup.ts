import type pg from "pg";
import type { Position } from "../platform/http/position.ts";
import { digitsOf, withDigits } from "./exact-amount.ts";
import {
  afterPlace,
  type BooksPlace,
  booksPages,
  type InsightPage,
  type NightWindow,
  pageOfNights,
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

/**
 * What came onto the books of each night of a range between two instants, in the order of nights, groups and currencies: none
 * for what did not change.
 */
export async function pickup(
  client: pg.ClientBase,
  question: PickupQuestion,
  { settings, labels }: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<PickupItem>> {
  const { property, by, clock, since, asOf } = question;
  const statement = await readPickup(client, by, clock);
  async function* read({ first, last }: NightWindow, wanted: number) {
    const rows = await sumEntries<PickupRow>(client, statement, [
      property.bucket,
      property.propertyId,
      first,
      last,
      since,
      boundOf(asOf),
      labels.reservations.deducting,
      settings.currency,
      wanted,
      ...afterPlace(start),
    ]);
    for (const row of rows) yield itemOf(row, by);
  }
  return pageOfNights({ client, question, ...booksPages(by), hasStock: false, read }, start, limit);
}
