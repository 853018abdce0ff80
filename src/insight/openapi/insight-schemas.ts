import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import { objectOf } from "../../platform/http/openapi/schema.ts";
import { NEXT_CURSOR } from "../../query/openapi/read-schemas.ts";
import { GROUPINGS } from "../question.ts";
import { FEED_FIELDS, FEED_HEALTH } from "./insight-feed-schemas.ts";
import { codeOrNull, count, countOrNull, decimalOrNull, stayDate, TEXT_PATTERN } from "./insight-fields.ts";
import { INSIGHT_LIMIT_MAX } from "./insight-parameters.ts";
import { BLOCKS, NIGHT_FIELDS, NIGHT_RESERVATION, RECONCILIATION } from "./insight-reconciliation-schemas.ts";

const GROUPING_COLUMNS: Readonly<Record<(typeof GROUPINGS)[number], Schema>> = {
  roomType: codeOrNull("With `by=roomType`: the room type that is assigned.", "DLX"),
  bookedRoomType: codeOrNull(
    "With `by=bookedRoomType`: the room type that was booked, the assigned one where that is not told.",
    "STD",
  ),
  marketSegment: codeOrNull("With `by=marketSegment`: the market segment.", "LEISURE"),
  rateCode: codeOrNull("With `by=rateCode`: the rate code.", "BAR"),
  channel: codeOrNull("With `by=channel`: the channel.", "WEB"),
  group: codeOrNull("With `by=group`: the group block's code.", "CONF26"),
};

const currency = codeOrNull(
  "What the amounts are in, as sent; where records name none, the property's setting. Amounts of two currencies are two items.",
  "EUR",
);
const roomRevenue = decimalOrNull("Net room revenue, exact. Null: no night tells it.", "5580.00");
const grossRoomRevenue = decimalOrNull("Gross room revenue, exact. Null: no night tells it.", "6138.00");
const adr = decimalOrNull(
  "Net room revenue by room, in the currency's digits, halves away from zero. Null without rooms or revenue.",
  "180.00",
);

const ON_THE_BOOKS = {
  stayDate,
  ...GROUPING_COLUMNS,
  rooms: count("Rooms under labels that deduct; those who share a room are one.", 31),
  roomRevenue,
  grossRoomRevenue,
  adults: count("Adults of all rooms.", 52),
  children: count("Children of all rooms.", 7),
  capacity: countOrNull(
    "Rooms that inventory tells of, of this room type or of all. Null by any other grouping.",
    40,
  ),
  outOfOrder: countOrNull("Rooms of these that inventory says are out of order.", 1),
  occupancy: decimalOrNull(
    "`rooms` by the occupancy base of the settings: `capacity`, or that less `outOfOrder`. 1 is full; four digits.",
    "0.7750",
  ),
  adr,
  revpar: decimalOrNull("Net room revenue by the same base; rounded as `adr`.", "139.50"),
  currency,
  blocksRemaining: count(
    "Rooms held for groups whose label deducts and not picked up yet. They are not in `rooms`.",
    5,
  ),
  unmappedRooms: count("Rooms under labels that nobody has given a meaning. They are not in `rooms`.", 0),
  soldReported: countOrNull("Rooms sold as inventory itself reports them.", 33),
};

const PICKUP = {
  stayDate,
  ...GROUPING_COLUMNS,
  rooms: count("Rooms that came onto the books: `booked` less `cancelled`.", 2),
  booked: count("Rooms of reservations that have more of them at the end than before.", 3),
  cancelled: count("Rooms of reservations that have fewer of them at the end than before.", 1),
  roomRevenue: decimalOrNull(
    "Net room revenue that came onto the books. Null: no change tells any.",
    "355.00",
  ),
  grossRoomRevenue: decimalOrNull("The same, gross.", "390.50"),
  adults: count("Adults that came onto the books.", 4),
  children: count("Children that came onto the books.", -1),
  currency,
};

const PACE = {
  daysBefore: count("Days before the night: what was on the books at the end of that business day.", 30),
  ...GROUPING_COLUMNS,
  rooms: countOrNull(
    "Rooms of all nights together. Null: the last of the nights has not come so near yet.",
    22,
  ),
  roomRevenue,
  grossRoomRevenue,
  adr,
  lastYearRooms: countOrNull("The same of the nights 364 days before, which are the same weekdays.", 19),
  lastYearRoomRevenue: decimalOrNull("Their net room revenue.", "3230.00"),
  lastYearGrossRoomRevenue: decimalOrNull("Their gross room revenue.", "3553.00"),
  lastYearAdr: decimalOrNull("Their net room revenue by room.", "170.00"),
  currency,
};

function itemOf(description: string, properties: Readonly<Record<string, Schema>>): Schema {
  return objectOf(description, properties, ...GROUPINGS);
}

/** A page of an insight: items, and what the answer is of. */
function insightPageOf(
  description: string,
  itemName: string,
  more: Readonly<Record<string, Schema>> = {},
  itemsName = "items",
): Schema {
  return objectOf(
    description,
    {
      ...more,
      [itemsName]: {
        type: "array",
        maxItems: INSIGHT_LIMIT_MAX,
        description: "The items of this page.",
        items: schemaOf(itemName),
      },
      nextCursor: NEXT_CURSOR,
      clock: {
        type: "string",
        enum: ["source", "receipt"],
        description: "Whose clock `asOf` was read on.",
        examples: ["receipt"],
      },
      asOf: {
        type: ["string", "null"],
        format: "date-time",
        maxLength: 27,
        description: "The instant that was asked for; null: all that has been applied.",
        examples: ["2026-06-15T12:00:00.000000Z"],
      },
      watermark: {
        type: ["string", "null"],
        format: "date-time",
        maxLength: 27,
        description:
          "With `clock=receipt`: nothing that was received at or before it can still change an answer, so one whose `asOf` is not later, with the same `settingsVersion`, is final. Null by the source clock.",
        examples: ["2026-06-15T12:00:02.052927Z"],
      },
      settingsVersion: {
        type: "integer",
        format: "int32",
        minimum: 0,
        maximum: 2_147_483_647,
        description: "Raised by every change of the client code's settings and of what its labels mean.",
        examples: [3],
      },
      knownFrom: {
        type: "string",
        format: "date-time",
        maxLength: 27,
        description:
          "Present in an answer about the past where the operator keeps versions for a time only: inventory that was sent before it and has been replaced since may be missing from the answer, and what arrived late, sent before it, may never have been counted. An answer whose `asOf` is earlier may lose more of it later.",
        examples: ["2026-03-02T00:00:00.000000Z"],
      },
    },
    "knownFrom",
  );
}

/** The items of insights, by component name: what answers have, and CSV as its columns. */
export const INSIGHT_ITEMS = {
  OnTheBooksItem: itemOf("What is on the books of one night, group and currency.", ON_THE_BOOKS),
  PickupItem: itemOf("What came onto the books of one night, group and currency.", PICKUP),
  PaceItem: itemOf("One point of the booking curve of one group and currency.", PACE),
  BlocksItem: objectOf("A group's block on one night.", BLOCKS, "roomType"),
  ReconciliationItem: objectOf("One night, as reported and as rebuilt.", RECONCILIATION, "roomType"),
  NightReservationItem: objectOf("A reservation that has the night.", NIGHT_RESERVATION),
  FeedHealthItem: objectOf("One feed of a property.", FEED_HEALTH),
} as const satisfies Record<string, Schema>;

export type InsightItemName = keyof typeof INSIGHT_ITEMS;

/** The schemas of insights. */
export const INSIGHT_SCHEMAS: Readonly<Record<string, Schema>> = {
  ...INSIGHT_ITEMS,
  OnTheBooksPage: insightPageOf("A page of nights.", "OnTheBooksItem"),
  PickupPage: insightPageOf("A page of nights.", "PickupItem"),
  PacePage: insightPageOf("A page of booking curves.", "PaceItem"),
  BlocksPage: insightPageOf("A page of group blocks.", "BlocksItem"),
  ReconciliationPage: insightPageOf("A page of nights.", "ReconciliationItem"),
  NightReconciliationPage: insightPageOf(
    "A night taken apart, and a page of its reservations.",
    "NightReservationItem",
    NIGHT_FIELDS,
    "reservations",
  ),
  FeedHealthPage: insightPageOf("The feeds of a property.", "FeedHealthItem", FEED_FIELDS),
  InsightCsv: {
    type: "string",
    maxLength: 16_777_216,
    pattern: TEXT_PATTERN,
    description:
      "RFC 4180 in UTF-8: a header with the names of the fields, then a line an item. Text that a spreadsheet would take for a formula has an apostrophe before it.",
    examples: ["stayDate,rooms\r\n2026-07-14,31\r\n"],
  },
};

const exampleOf = (name: InsightItemName, without: readonly string[]) =>
  Object.fromEntries(
    Object.entries(INSIGHT_ITEMS[name].properties ?? {})
      .filter(([field]) => !without.includes(field))
      .map(([field, schema]) => [field, schema.examples?.[0]]),
  );

/** What pages have beside their items, by the item's name. */
const BESIDE: Readonly<Partial<Record<InsightItemName, Readonly<Record<string, unknown>>>>> = {
  NightReservationItem: {
    night: exampleOf("ReconciliationItem", ["roomType"]),
    roomTypes: [exampleOf("ReconciliationItem", [])],
    findings: [],
    findingCount: 0,
  },
  FeedHealthItem: { businessDay: "2026-07-14", readAt: "2026-07-14T09:30:00.120Z" },
};
/** Groupings that are fields of their own there. */
const WITH_GROUPS: readonly InsightItemName[] = ["BlocksItem", "NightReservationItem"];

/** A page as examples show it: by room type. */
export function insightExample(name: InsightItemName): Readonly<Record<string, unknown>> {
  const others = GROUPINGS.filter((grouping) => grouping !== "roomType" && !WITH_GROUPS.includes(name));
  const itemsName = name === "NightReservationItem" ? "reservations" : "items";
  return {
    [itemsName]: [exampleOf(name, others)],
    nextCursor: null,
    clock: "receipt",
    asOf: "2026-06-15T12:00:00.000000Z",
    watermark: "2026-06-15T12:00:02.052927Z",
    settingsVersion: 3,
    ...BESIDE[name],
  };
}
