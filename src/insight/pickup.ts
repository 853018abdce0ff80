import { instant, query } from "../query/openapi/read-parameters.ts";
import { digitsOf, withDigits } from "./exact-amount.ts";
import { count, currency, decimalOrNull, GROUPING_FIELDS, type ItemBy, stayDate } from "./fields.ts";
import type { Asked, Insight } from "./insight.ts";
import {
  afterPlace,
  BOOKS_POSITION,
  type BooksPlace,
  booksPages,
  type NightWindow,
  pageOfNights,
} from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import { boundOf, GROUPINGS, type StayQuestion } from "./question.ts";
import { composeVariants, sumEntries } from "./statements.ts";

const readPickup = composeVariants(new URL("./sql/read-pickup.sql", import.meta.url), {
  moment: "night, is_after",
  "of-short-ones": "",
});

const FIELDS = {
  stayDate,
  ...GROUPING_FIELDS,
  rooms: count("Rooms that came onto the books: `booked` less `cancelled`.", 2),
  booked: count("Rooms of reservations that have more of them at the end than before.", 3),
  cancelled: count("Rooms of reservations that have fewer of them at the end than before.", 1),
  roomRevenue: decimalOrNull(
    "Net room revenue that came onto the books. Null: no change reports any.",
    "355.00",
  ),
  grossRoomRevenue: decimalOrNull("The same, gross.", "390.50"),
  adults: count("Adults that came onto the books.", 4),
  children: count("Children that came onto the books.", -1),
  currency,
};

/** A row, as the statement answers it: numbers as text, since sums have no bound. */
interface PickupRow extends BooksPlace {
  readonly booked: string;
  readonly cancelled: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
}

function itemOf(row: PickupRow, by: StayQuestion["by"]): ItemBy<typeof FIELDS> {
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

async function answer({ client, question, queryContext, start, limit, parameters }: Asked) {
  const { property, by, clock, asOf } = question;
  const { settings, statuses } = queryContext;
  const since = parameters.givenText("since");
  const statement = await readPickup(client, by, clock);
  async function* read({ first, last }: NightWindow, wanted: number) {
    const rows = await sumEntries<PickupRow>(client, statement, [
      property.bucket,
      property.propertyId,
      first,
      last,
      since,
      boundOf(asOf),
      statuses.reservations.deducting,
      settings.currency,
      wanted,
      ...afterPlace(start),
    ]);
    for (const row of rows) yield itemOf(row, by);
  }
  return pageOfNights({ client, question, ...booksPages(by), hasStock: false, read }, start, limit);
}

export const pickup: Insight = {
  name: "pickup",
  operationId: "readPickup",
  summary: "What came onto the books between two instants",
  description:
    "The difference of each night's books at `asOf` from those at `since`. What was booked and taken back in between is nothing; a night that did not change is not listed.",
  parameters: [
    ...STAY_PARAMETERS,
    query(
      "since",
      "The instant after which changes count, by the same clock; itself not included, so that periods can follow each other.",
      instant("2026-06-08T12:00:00Z"),
      true,
    ),
  ],
  item: {
    name: "PickupItem",
    description: "What came onto the books of one night, group and currency.",
    fields: FIELDS,
    optional: GROUPINGS,
  },
  page: { name: "PickupPage", description: "A page of nights." },
  position: BOOKS_POSITION,
  looksBack: true,
  answer,
};
