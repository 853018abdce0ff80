import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import { objectOf } from "../../platform/http/openapi/schema.ts";
import { NEXT_CURSOR } from "../../query/openapi/read-schemas.ts";
import { FINDING_KINDS } from "../findings.ts";
import { GROUPINGS } from "../question.ts";

/** Text without NUL, which no record can have. */
const TEXT_PATTERN = "^[^\\u0000]*$";
const NUMBER_MAX = Number.MAX_SAFE_INTEGER;

/** A count, which may be negative: of a change, say. */
function count(description: string, example: number): Schema {
  return {
    type: "integer",
    format: "int64",
    minimum: -NUMBER_MAX,
    maximum: NUMBER_MAX,
    description,
    examples: [example],
  };
}

function countOrNull(description: string, example: number): Schema {
  return { ...count(description, example), type: ["integer", "null"] };
}

/** Exact decimal text; the format tells it from text that is somebody's own, which matters in a spreadsheet. */
function decimalOrNull(description: string, example: string): Schema {
  return {
    type: ["string", "null"],
    format: "decimal",
    maxLength: 160,
    pattern: "^-?[0-9]+(\\.[0-9]+)?$",
    description,
    examples: [example],
  };
}

/** A code or label as it was sent. */
function codeOrNull(description: string, example: string): Schema {
  return {
    type: ["string", "null"],
    maxLength: 256,
    pattern: TEXT_PATTERN,
    description,
    examples: [example],
  };
}

/** The night that an item is of. */
const stayDate: Schema = {
  type: "string",
  format: "date",
  minLength: 10,
  maxLength: 10,
  description: "The night.",
  examples: ["2026-07-14"],
};

const instantOrNull = (description: string, example = "2026-07-14T02:01:17.052Z"): Schema => ({
  type: ["string", "null"],
  format: "date-time",
  maxLength: 27,
  description,
  examples: [example],
});
const hoursOrNull = (description: string, example: number): Schema => ({
  type: ["number", "null"],
  minimum: 0,
  maximum: 10_000_000,
  description,
  examples: [example],
});
const nightList = (description: string): Schema => ({
  type: "array",
  maxItems: 400,
  description,
  items: stayDate,
  examples: [["2026-08-21"]],
});

/** How one feed of a property does. */
const FEED_HEALTH: Readonly<Record<string, Schema>> = {
  propertyCode: { ...codeOrNull("The property code.", "LIS01"), type: "string" },
  resource: {
    type: "string",
    enum: ["inventories", "reservations", "groups"],
    description: "Which feed.",
    examples: ["inventories"],
  },
  lastReceivedAt: instantOrNull("When the last batch came that is applied; null: none ever."),
  cadenceHours: hoursOrNull(
    "Hours between batches as observed: half of the last 28 days lies in intervals no longer than this. Null: too few to tell.",
    24.01,
  ),
  expectedCadenceHours: hoursOrNull("Hours as expected by the settings; null: nothing is expected.", 24),
  silent: {
    type: "boolean",
    description: "Whether the last batch is longer ago than expected.",
    examples: [false],
  },
  silentHours: hoursOrNull("Hours beyond the expected ones; null where it is not silent.", 3.5),
  waiting: count(
    "Batches accepted and not applied yet that may have records of the property, of clients that it is granted to: an upper bound.",
    0,
  ),
  oldestWaitingAt: instantOrNull("When the oldest of them came.", "2026-07-14T09:30:00.120Z"),
  batches: count("Batches of the last 7 days.", 56),
  records: count("Their records.", 5_110),
  stale: count("Records that were older than what was known.", 2),
  duplicate: count("Records that had been received already.", 0),
  rejected: count("Invalid records of lenient batches.", 1),
  warned: count("Records with warnings.", 14),
  rejectionRate: decimalOrNull("`rejected` of `records`, 0 to 1; null: no records.", "0.0002"),
  warningRate: decimalOrNull("`warned` of `records`, 0 to 1.", "0.0027"),
  quarantined: count("Records held now; at most 1,000 are counted.", 0),
  unmappedLabelCount: count("Labels that nobody has mapped and a current record carries.", 1),
  unmappedLabels: {
    type: "array",
    maxItems: 100,
    description: "Those labels, most records first.",
    items: objectOf("A label.", {
      label: { ...codeOrNull("As sent.", "ON HOLD"), type: "string" },
      records: count("Current records that carry it.", 4),
    }),
    examples: [[{ label: "ON HOLD", records: 4 }]],
  },
  nightsTo: {
    ...stayDate,
    type: ["string", "null"],
    description: "Of inventories: the last night that is usually sent.",
    examples: ["2028-07-12"],
  },
  lastPushAt: instantOrNull("Of inventories: when the last push began.", "2026-07-14T02:00:02.552Z"),
  missingNightCount: count("Nights from the business day up to `nightsTo` without a record.", 1),
  missingNights: nightList("Those nights, at most 400."),
  staleNightCount: count("Nights up to `nightsTo` that the last push left out.", 1),
  staleNights: nightList("Those nights, at most 400."),
};

/** What the answer about feeds has beside its items. */
const FEED_FIELDS: Readonly<Record<string, Schema>> = {
  businessDay: { ...stayDate, description: "The property's business day.", examples: ["2026-07-14"] },
  readAt: { ...instantOrNull("The moment of the answer."), type: "string", pattern: TEXT_PATTERN },
};

/** Lists, which CSV has no columns for. */
export const FEED_LISTS = ["unmappedLabels", "missingNights", "staleNights"] as const;

const EXAMPLE_REQUEST = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";
const ROOM_TYPE = codeOrNull("The room type; null: none is told.", "DLX");
const text = (description: string, example: string): Schema => ({
  type: "string",
  maxLength: 1_024,
  pattern: TEXT_PATTERN,
  description,
  examples: [example],
});
const day = (description: string, example: string): Schema => ({
  ...stayDate,
  description,
  examples: [example],
});
const timeOrNull = (description: string) => instantOrNull(description, "2026-07-13T02:00:00.000000Z");
const requestOrNull = (description: string): Schema => ({
  type: ["string", "null"],
  format: "uuid",
  maxLength: 36,
  description,
  examples: [EXAMPLE_REQUEST],
});
const placeOf = (what: string) => ({
  requestId: { ...requestOrNull(`The request that ${what} is of.`), type: "string" },
  index: count("Its place in the batch as sent, from 0.", 0),
});

/** Group blocks, by night, group and (where it is asked) room type. */
const BLOCKS: Readonly<Record<string, Schema>> = {
  stayDate,
  group: text("The group's code.", "CONF26"),
  roomType: codeOrNull("With `by=roomType`: the room type.", "DLX"),
  name: codeOrNull("The group's name.", "Sales conference"),
  label: codeOrNull("The label of its status, as sent.", "DEFINITE"),
  holds: {
    type: ["boolean", "null"],
    description: "Whether the label holds rooms; null: nobody has mapped it.",
    examples: [true],
  },
  cutoffDate: {
    ...stayDate,
    type: ["string", "null"],
    description:
      "The cutoff date, or so many days before the start as the master says; null: neither is told.",
    examples: ["2026-06-14"],
  },
  blocks: count("Rooms held.", 20),
  originalBlocks: countOrNull("Rooms first asked for, as the master says.", 25),
  pickedUp: countOrNull("Rooms picked up, as the master says.", 12),
  pickedUpRebuilt: count(
    "Rooms of reservations on the books that name the group; those who share a room are one.",
    12,
  ),
  remaining: count("Held and not picked up, as the master says; 0 where the label holds nothing.", 8),
  wash: countOrNull("Given back: `originalBlocks` less `blocks`; negative where the block grew.", 5),
  washAfterCutoff: count("Of what was given back, what was after the cutoff date.", 2),
};

const DIFFERENCE = {
  reported: countOrNull("Rooms sold as inventory reports; null: it has no record of the night.", 33),
  reportedTransient: countOrNull("Of those, transient ones; null: not told.", 21),
  reportedGroup: countOrNull("Of those, rooms of groups; null: not told.", 12),
  rebuilt: count("Rooms of reservations on the books; those who share a room are one.", 32),
  rebuiltTransient: count("Of those, of no group.", 20),
  rebuiltGroup: count("Of those, of a group's block.", 12),
  difference: countOrNull("`reported` less `rebuilt`: positive where the hotel counts more.", 1),
  unpickedBlocks: count("Rooms held for groups and not picked up. They are in neither of the two.", 8),
  reportedAt: timeOrNull("Source time of the night's inventory record."),
  requestId: requestOrNull("The request that it is of."),
  index: countOrNull("Its place in the batch as sent, from 0.", 13),
};

/** What inventory reports of a night against what reservations come to. */
const RECONCILIATION: Readonly<Record<string, Schema>> = {
  stayDate,
  roomType: codeOrNull("With `by=roomType`: the room type.", "DLX"),
  ...DIFFERENCE,
};

/** A reservation of the night that is taken apart. */
const NIGHT_RESERVATION: Readonly<Record<string, Schema>> = {
  reservationId: text("The reservation's id.", "R-4821"),
  label: codeOrNull("The label of its status, as sent.", "CONFIRMED"),
  deducts: {
    type: ["boolean", "null"],
    description: "Whether its rooms are on the books by that label; null: nobody has mapped it.",
    examples: [true],
  },
  roomType: ROOM_TYPE,
  bookedRoomType: codeOrNull("The room type that was booked.", "STD"),
  group: codeOrNull("The group block that it is of.", "CONF26"),
  shareId: codeOrNull("What it shares its room by.", "S-77"),
  rooms: count("Rooms that it names.", 1),
  counted: count("Rooms of it that count on this night.", 1),
  arrival: day("Its first arrival.", "2026-07-13"),
  departure: day("Its last departure.", "2026-07-16"),
  sourceTime: { ...timeOrNull("Source time of the version that counts."), type: "string" },
  ...placeOf("that version"),
  late: {
    ...objectOf("A version that came later and was older: kept, and not counted.", placeOf("that version")),
    type: ["object", "null"],
    examples: [null],
  },
};

const FINDING = objectOf("What may explain a difference.", {
  kind: {
    ...text("What it is; docs/insight.md has the list.", "cancelled-but-sold"),
    "x-extensible-enum": FINDING_KINDS,
  },
  roomType: ROOM_TYPE,
  rooms: count("Rooms that it would explain: positive where the hotel counts more.", 1),
  nights: count("Nights that it covers and that are reported, at most 31 either side.", 3),
  nightsExplained: count("Of those, nights on which the difference has room for it.", 3),
  records: {
    type: "array",
    maxItems: 10_000,
    description: "The records that it is about.",
    items: objectOf("A record.", {
      resource: {
        type: "string",
        enum: ["inventories", "reservations", "groups"],
        description: "Which kind of record.",
        examples: ["reservations"],
      },
      key: text("Its occupancyDate, reservationId or groupCode.", "R-4821"),
      ...placeOf("it"),
    }),
  },
  message: text(
    "The same in words.",
    'The reservation "R-4821" is "CANCELLED", and may be counted as sold all the same.',
  ),
});

/** What the answer about one night has beside its reservations. */
const NIGHT_FIELDS: Readonly<Record<string, Schema>> = {
  night: objectOf("All room types of the night together.", { stayDate, ...DIFFERENCE }),
  roomTypes: {
    type: "array",
    maxItems: 10_000,
    description: "The night by room type.",
    items: schemaOf("ReconciliationItem"),
  },
  findings: {
    type: "array",
    maxItems: 100,
    description: "What may explain the differences, the likeliest first.",
    items: FINDING,
  },
  findingCount: count("How many findings there are; the first 100 are told.", 0),
};

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

/** How many items an insight answers at most at once: a year of ten room types in one page. */
export const INSIGHT_LIMIT_MAX = 10_000;

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
