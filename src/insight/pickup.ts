import { instant, query } from "../query/openapi/read-parameters.ts";
import { amountIn } from "./exact-amount.ts";
import { count, currency, decimalOrNull, GROUPING_FIELDS, type ItemBy, stayDate } from "./fields.ts";
import type { Asked, Insight } from "./insight.ts";
import { afterPlace, BOOKS_POSITION, type BooksPlace, booksPages, pageOfNights } from "./paging.ts";
import { STAY_PARAMETERS } from "./parameters.ts";
import { boundOf, GROUPINGS, type NightWindow, type StayQuestion } from "./question.ts";
import { composeVariants, sumEntries } from "./statements.ts";

const readPickup = composeVariants(new URL("./sql/read-pickup.sql", import.meta.url), {
  moment: "night, is_after",
  "of-short-ones": "",
});

const FIELDS = {
  stayDate,
  ...GROUPING_FIELDS,
  rooms: count("Net pickup in rooms: `booked` minus `cancelled`.", 2),
  booked: count("Rooms added by reservations between the two instants.", 3),
  cancelled: count("Rooms removed by reservations between the two instants.", 1),
  roomRevenue: decimalOrNull("Pickup in net room revenue. Null: no change reports any.", "355.00"),
  grossRoomRevenue: decimalOrNull("The same, gross.", "390.50"),
  adults: count("Pickup in adults.", 4),
  children: count("Pickup in children.", -1),
  currency,
};

/** A row as the statement returns it. Numbers are text, because sums are unbounded. */
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
  const [booked, cancelled] = [Number(row.booked), Number(row.cancelled)];
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: booked - cancelled,
    booked,
    cancelled,
    roomRevenue: amountIn(currency, room_revenue),
    grossRoomRevenue: amountIn(currency, gross_room_revenue),
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
    yield rows.values().map((row) => itemOf(row, by));
  }
  return pageOfNights({ client, question, ...booksPages(by), hasStock: false, read }, start, limit);
}

export const pickup: Insight = {
  name: "pickup",
  operationId: "readPickup",
  summary: "Get pickup",
  description:
    "The difference between the books at `asOf` and at `since`, by stay date. Bookings made and cancelled in between are not counted; nights without a change are not listed.",
  parameters: [
    ...STAY_PARAMETERS,
    query(
      "since",
      "The instant after which changes count, by the same clock; exclusive, so that periods do not overlap.",
      instant("2026-06-08T12:00:00Z"),
      true,
    ),
  ],
  item: {
    name: "PickupItem",
    description: "The pickup of one night, group and currency.",
    fields: FIELDS,
    optional: GROUPINGS,
  },
  page: { name: "PickupPage", description: "A page of nights." },
  position: BOOKS_POSITION,
  looksBack: true,
  answer,
};
