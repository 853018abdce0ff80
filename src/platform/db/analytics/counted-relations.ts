import type { SqlType } from "#contract/field-kinds.ts";
import { composeText } from "../statement.ts";
import type { AndHome } from "./as-of-functions.ts";

interface CountedColumn {
  readonly name: string;
  readonly type: SqlType;
  /** For docs/analytics.md. */
  readonly source: string;
}

/** What is counted of the ledger (docs/figures.md): a function with a range of dates, and a view of all of them now. */
export interface CountedRelation {
  readonly name: string;
  readonly meaning: string;
  /** In the order of its select; new ones are added at the end. */
  readonly columns: readonly CountedColumn[];
  readonly select: (andHome: AndHome) => string;
}

const columns = (source: string, type: SqlType, ...names: readonly string[]): readonly CountedColumn[] =>
  names.map((name) => {
    return { name, type, source };
  });

/** `first`: of the nights read; `states`: of those that are counted. */
function selectOf(file: string, first: string, states: readonly string[]): CountedRelation["select"] {
  return (andHome) =>
    composeText(new URL(`./sql/${file}.sql`, import.meta.url), {
      "and-home": andHome,
      "night-entry": "analytics.stored_night_entry",
      "ledger-delta": "analytics.stored_ledger_delta",
      "of-properties": `property_id = any (array(select property_id from property)) ${andHome("t")}`.trim(),
      "of-short-ones": "",
      first: `(${first})`,
      last: "coalesce(last_date, 'infinity')",
      states: `'{${states.join()}}'`,
    });
}

const FIRST = "coalesce(first_date, '-infinity')";
const CODES = columns("", "text", "client_code", "property_code");

export const COUNTED_RELATIONS: readonly CountedRelation[] = [
  {
    name: "night_on_the_books",
    meaning:
      "Nights of reservations on the books, one row each of a reservation and kind of stay, with shares counted once.",
    columns: [
      ...CODES,
      ...columns("the night", "date", "stay_date"),
      ...columns("the record", "text", "reservation_id", "share_id", "status"),
      ...columns(
        "the stay",
        "text",
        "room_type_code",
        "booked_room_type_code",
        "market_segment_code",
        "group_block_code",
        "rate_code",
      ),
      ...columns("the record", "text", "channel"),
      ...columns("the stay, otherwise the property's setting", "text", "currency_code"),
      ...columns(
        "rooms; those of a [share](figures.md#shares) under the reservation with the smallest id, 0 under the others",
        "integer",
        "rooms",
      ),
      ...columns("guests", "integer", "adults", "children"),
      ...columns(
        "[room revenue](figures.md#revenue); null if the record reports none",
        "numeric",
        "room_revenue",
        "gross_room_revenue",
      ),
    ],
    select: selectOf("night-on-the-books", FIRST, ["books"]),
  },
  {
    name: "movement",
    meaning:
      "Arrivals, departures, stay-throughs, cancellations and no-shows in rooms, one row each of a date and currency.",
    columns: [
      ...CODES,
      ...columns("the date", "date", "stay_date"),
      ...columns("as above", "text", "currency_code"),
      ...columns(
        "rooms, each reservation or share compared with itself on the night before",
        "integer",
        "arrivals",
        "departures",
        "stay_throughs",
      ),
      ...columns("of the arriving rooms, on average", "numeric", "length_of_stay", "lead_days"),
      ...columns("rooms of that night of cancelled reservations", "integer", "cancelled_rooms"),
      ...columns(
        "their net room revenue, average days from the cancellation to the night, and share of all rooms once booked",
        "numeric",
        "cancelled_room_revenue",
        "cancelled_lead_days",
        "cancellation_rate",
      ),
      ...columns("rooms of that night of no-shows", "integer", "no_show_rooms"),
      ...columns(
        "their net room revenue, and share of all rooms once booked",
        "numeric",
        "no_show_room_revenue",
        "no_show_rate",
      ),
      ...columns("arriving rooms that have a `length_of_stay`", "integer", "stay_rooms"),
      ...columns(
        "their nights: `length_of_stay` of several dates is the sum of `stay_nights` divided by that of `stay_rooms`",
        "bigint",
        "stay_nights",
      ),
      ...columns("arriving rooms that have `lead_days`", "integer", "lead_rooms"),
      ...columns(
        "days of all these rooms, and of the cancelled ones, to be divided likewise",
        "bigint",
        "lead_room_days",
        "cancelled_room_days",
      ),
    ],
    // Each reservation or share is compared with itself on the night before.
    select: selectOf("movement", `${FIRST} - 1`, ["books", "cancelled", "no-show"]),
  },
];
