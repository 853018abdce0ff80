import * as plain from "../platform/http/openapi/schema.ts";
import { choice, day, type Field, type ObjectOf, orNull, time } from "../platform/http/openapi/schema.ts";
import type { GROUPINGS } from "./question.ts";

export type { Field, Fields, ValuesOf } from "../platform/http/openapi/schema.ts";
export { day, flag, list, objectOf, orNull, time } from "../platform/http/openapi/schema.ts";

/** The value type of an item that has only the requested grouping. */
export type ItemBy<Of, By extends PropertyKey = (typeof GROUPINGS)[number]> = ObjectOf<Of, keyof Of & By>;

const NUMBER_MAX = Number.MAX_SAFE_INTEGER;
const CODE_LENGTH_MAX = 256;
const TEXT_LENGTH_MAX = 1_024;

/** An integer, which may be negative (of a change, for example). */
export function count(description: string, example: number): Field<number> {
  const [minimum, maximum] = [-NUMBER_MAX, NUMBER_MAX];
  return { type: "integer", format: "int64", minimum, maximum, description, examples: [example] };
}

/** Exact decimal text. The format distinguishes it from a sender's text when CSV cells are escaped. */
export function decimalOrNull(description: string, example: string): Field<string | null> {
  const pattern = "^-?[0-9]+(\\.[0-9]+)?$";
  const [type, format] = [["string", "null"], "decimal"];
  return { type, format, maxLength: 160, pattern, description, examples: [example] };
}

export function hoursOrNull(description: string, example: number): Field<number | null> {
  return { type: ["number", "null"], minimum: 0, maximum: 10_000_000, description, examples: [example] };
}

export const text = (description: string, example: string): Field<string> =>
  plain.text(description, TEXT_LENGTH_MAX, example);
/** A code or status, verbatim. */
export const code = (description: string, example: string): Field<string> =>
  plain.text(description, CODE_LENGTH_MAX, example);
export const countOrNull = (description: string, example: number) => orNull(count(description, example));
export const codeOrNull = (description: string, example: string) => orNull(code(description, example));

/** Location of a record: its request and its index in the batch. */
export const placeOf = (what: string) => ({
  requestId: request(`The request that ${what} is of.`),
  index: count("Its index in the batch, from 0.", 0),
});

export const request = (description: string): Field<string> =>
  plain.uuid(description, "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11");
export const sourceTime = (description: string) => time(description, "2026-07-13T02:00:00.000000Z");
export const resource = (description: string, example: "inventories" | "reservations") =>
  choice(description, ["inventories", "reservations", "groups"], example);

export const stayDate = day("The night.", "2026-07-14");
export const roomType = codeOrNull("The room type; null: the record names none.", "DLX");

/** The groupings' fields, by the names of `GROUPINGS`. */
export const GROUPING_FIELDS = {
  roomType: codeOrNull("With `by=roomType`: the assigned room type.", "DLX"),
  bookedRoomType: codeOrNull(
    "With `by=bookedRoomType`: the booked room type, or the assigned one if it is not reported.",
    "STD",
  ),
  marketSegment: codeOrNull("With `by=marketSegment`: the market segment.", "LEISURE"),
  rateCode: codeOrNull("With `by=rateCode`: the rate code.", "BAR"),
  channel: codeOrNull("With `by=channel`: the channel.", "WEB"),
  group: codeOrNull("With `by=group`: the group block's code.", "CONF26"),
};

export const currency = codeOrNull(
  "The currency of the amounts, verbatim; the property's setting if records name none. Each currency is an item of its own.",
  "EUR",
);
export const roomRevenue = decimalOrNull("Net room revenue, exact. Null: not reported.", "5580.00");
export const grossRoomRevenue = decimalOrNull("Gross room revenue, exact. Null: not reported.", "6138.00");
export const adr = decimalOrNull(
  "Net room revenue per room, in the currency's digits, rounded half away from zero. Null without rooms or revenue.",
  "180.00",
);

/** Revenue without a room night, by cause (docs/figures.md). */
export const WITHOUT_NIGHT_FIELDS = {
  dayUseRooms: count("Rooms of stays that depart on the day of arrival. They are not in `rooms`.", 0),
  dayUseRevenue: decimalOrNull("Net room revenue of day use; not in `roomRevenue`. Null: none.", "80.00"),
  feeRevenue: decimalOrNull(
    "Daily revenue of reservations that are not on the books: no-show and cancellation fees; not in `roomRevenue`. Null: none.",
    "120.00",
  ),
  outsideStayRevenue: decimalOrNull(
    "Daily revenue on dates outside the stay of reservations on the books; not in `roomRevenue`. Null: none.",
    "25.00",
  ),
};
