import { readStatement } from "../platform/db/statement.ts";
import type { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { amountIn, plus } from "./exact-amount.ts";
import * as field from "./fields.ts";
import { type Asked, insight } from "./insight.ts";
import { OCCUPANCY_DIGITS, ratio } from "./occupancy.ts";
import { BOOKS_PAGES, BOOKS_POSITION, type BooksPlace, type InsightPage, pageOfNights } from "./paging.ts";
import { TOTAL_PARAMETERS } from "./parameters.ts";
import {
  notSummed,
  pageOfSums,
  SUM_FIELDS,
  SUM_NAMES,
  SUM_PARAMETER,
  sumFieldsOf,
  sumOf,
} from "./periods.ts";
import { boundOf, type NightWindow, ROWS_MAX, requireFewRows } from "./question.ts";
import { sumEntries } from "./statements.ts";

const readMovements = readStatement(new URL("./sql/read-movements.sql", import.meta.url));

/** Nights per statement, which expands each stay to its nights. */
const NIGHTS_AT_ONCE = 31;
/** Decimal places of averages of days. */
const AVERAGE_DIGITS = 2;

export const MOVEMENT_FIELDS = {
  stayDate: field.day("The date.", "2026-07-14"),
  ...SUM_FIELDS,
  arrivals: field.count(
    "Rooms on the books for this night and not for the night before, of the same reservation or share.",
    12,
  ),
  departures: field.count("Rooms on the books for the night before and not for this night.", 9),
  stayThroughs: field.count(
    "Rooms on the books for both nights. With `arrivals`, the rooms on the books.",
    19,
  ),
  lengthOfStay: field.decimalOrNull(
    "Average nights of the arriving rooms, up to the last departure. Null without arrivals.",
    "2.50",
  ),
  leadDays: field.decimalOrNull(
    "Average days from the booking (`bookingDateTime`) to the arrival. Null if no arriving reservation reports it.",
    "31.25",
  ),
  cancelledRooms: field.count(
    "Rooms of this night of reservations in a status that is not on the books, other than no-show and waitlist.",
    4,
  ),
  cancelledRoomRevenue: field.decimalOrNull("Net room revenue of these rooms. Null: not reported.", "720.00"),
  cancelledLeadDays: field.decimalOrNull(
    "Average days from the cancellation to this night. Null without cancelled rooms.",
    "8.00",
  ),
  cancellationRate: field.decimalOrNull(
    "`cancelledRooms` divided by all rooms once booked for this night: on the books, cancelled and no-show. Four digits.",
    "0.1111",
  ),
  noShowRooms: field.count("Rooms of this night of reservations in status no-show.", 1),
  noShowRoomRevenue: field.decimalOrNull("Net room revenue of these rooms. Null: not reported.", "180.00"),
  noShowRate: field.decimalOrNull("`noShowRooms` divided by the same rooms.", "0.0278"),
  currency: field.currency,
};
type MovementItem = field.ItemBy<typeof MOVEMENT_FIELDS, keyof typeof SUM_FIELDS>;

export interface MovementRow extends BooksPlace {
  readonly arrivals: number;
  readonly departures: number;
  readonly stayThroughs: number;
  readonly stayRooms: number;
  readonly stayNights: string;
  readonly leadRooms: number;
  readonly leadDays: string;
  readonly cancelled: number;
  readonly cancelledRevenue: string | null;
  readonly cancelledDays: string;
  readonly noShows: number;
  readonly noShowRevenue: string | null;
}

export function movementOf(row: MovementRow): MovementItem {
  const { night, currency, arrivals, departures, stayThroughs, cancelled, noShows } = row;
  const booked = arrivals + stayThroughs + cancelled + noShows;
  return {
    stayDate: night,
    arrivals,
    departures,
    stayThroughs,
    lengthOfStay: ratio(row.stayNights, row.stayRooms, AVERAGE_DIGITS),
    leadDays: ratio(row.leadDays, row.leadRooms, AVERAGE_DIGITS),
    cancelledRooms: cancelled,
    cancelledRoomRevenue: amountIn(currency, row.cancelledRevenue),
    cancelledLeadDays: ratio(row.cancelledDays, cancelled, AVERAGE_DIGITS),
    cancellationRate: ratio(String(cancelled), booked, OCCUPANCY_DIGITS),
    noShowRooms: noShows,
    noShowRoomRevenue: amountIn(currency, row.noShowRevenue),
    noShowRate: ratio(String(noShows), booked, OCCUPANCY_DIGITS),
    currency,
  };
}

/** The rows of one currency as one. */
export function addMovements(one: MovementRow, other: MovementRow): MovementRow {
  const exact = (name: "stayNights" | "leadDays" | "cancelledDays") => plus(one[name], other[name]) ?? "0";
  return {
    ...one,
    arrivals: one.arrivals + other.arrivals,
    departures: one.departures + other.departures,
    stayThroughs: one.stayThroughs + other.stayThroughs,
    stayRooms: one.stayRooms + other.stayRooms,
    stayNights: exact("stayNights"),
    leadRooms: one.leadRooms + other.leadRooms,
    leadDays: exact("leadDays"),
    cancelled: one.cancelled + other.cancelled,
    cancelledRevenue: plus(one.cancelledRevenue, other.cancelledRevenue),
    cancelledDays: exact("cancelledDays"),
    noShows: one.noShows + other.noShows,
    noShowRevenue: plus(one.noShowRevenue, other.noShowRevenue),
  };
}

/** The sum of the rows of each currency. `rowOf`: undefined if an item has none. */
export async function addByCurrency<Item>(
  items: readonly Item[],
  rowOf: (item: Item) => MovementRow | undefined,
  pauses: WorkPauses,
): Promise<ReadonlyMap<string | null, MovementRow>> {
  const sums = new Map<string | null, MovementRow>();
  for await (const some of pauses.inParts(items))
    for (const item of some) {
      const row = rowOf(item);
      if (row === undefined) continue;
      const sum = sums.get(row.currency);
      sums.set(row.currency, sum === undefined ? row : addMovements(sum, row));
    }
  return sums;
}

export async function pageOfMovements({
  client,
  question,
  start,
  limit,
}: Omit<Asked, "parameters">): Promise<InsightPage<{ item: MovementItem; end: MovementRow }>> {
  const { clientCode, propertyCode, clock, asOf } = question;
  async function* read(window: NightWindow) {
    const rows = await sumEntries<MovementRow>(client, readMovements, [
      boundOf(asOf),
      clock,
      clientCode,
      propertyCode,
      window.first,
      window.last,
      ROWS_MAX + 1,
    ]);
    // One by one, as the page takes them: one night may have a hundred thousand currencies.
    yield requireFewRows(rows, window)
      .values()
      .map((row) => ({ item: movementOf(row), end: row }));
  }
  const pages = {
    client,
    question,
    ...BOOKS_PAGES,
    daysMax: NIGHTS_AT_ONCE,
    hasStock: false,
    withStays: true,
    read,
  };
  return await pageOfNights(pages, start, limit);
}

const PARAMETERS = { ...TOTAL_PARAMETERS, ...SUM_PARAMETER };

async function answer(asked: Asked<typeof PARAMETERS>) {
  const { question, start, limit } = asked;
  const sum = sumOf(asked.parameters);
  if (sum === undefined) {
    const { items, next } = await pageOfMovements(asked);
    return { items: items.map(({ item }) => item), next };
  }
  return await pageOfSums(
    question,
    sum,
    start,
    limit,
    (from, wanted) => pageOfMovements({ ...asked, start: from, limit: wanted }),
    ({ end }) => end,
    async ({ dates, items }, pauses) => {
      const rows = await addByCurrency(items, ({ end }) => end, pauses);
      const sums: MovementItem[] = [];
      for await (const some of pauses.inParts([...rows.values()]))
        for (const row of some) sums.push({ ...movementOf(row), ...sumFieldsOf(dates) });
      return sums;
    },
  );
}

export const movements = insight({
  name: "movements",
  operationId: "getMovements",
  summary: "Get arrivals, departures and cancellations",
  description:
    "By date: rooms that arrive, depart and stay through, with length of stay and lead time, and rooms cancelled and not shown, with their rate, revenue and lead time. Dates without any are not listed.",
  parameters: PARAMETERS,
  item: {
    name: "MovementItem",
    description: "The movements of one date and currency.",
    fields: MOVEMENT_FIELDS,
    optional: SUM_NAMES,
  },
  page: { name: "MovementPage", description: "A page of dates." },
  position: BOOKS_POSITION,
  notAsked: (parameters) => notSummed(sumOf(parameters)),
  answer,
});
