import { type Schema, schemaOf } from "../../platform/http/openapi/model.ts";
import { objectOf } from "../../platform/http/openapi/schema.ts";
import { FINDING_KINDS } from "../findings.ts";
import { codeOrNull, count, countOrNull, stayDate, TEXT_PATTERN } from "./insight-fields.ts";

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
const timeOrNull = (description: string): Schema => ({
  type: ["string", "null"],
  format: "date-time",
  maxLength: 27,
  description,
  examples: ["2026-07-13T02:00:00.000000Z"],
});
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
export const BLOCKS: Readonly<Record<string, Schema>> = {
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
export const RECONCILIATION: Readonly<Record<string, Schema>> = {
  stayDate,
  roomType: codeOrNull("With `by=roomType`: the room type.", "DLX"),
  ...DIFFERENCE,
};

/** A reservation of the night that is taken apart. */
export const NIGHT_RESERVATION: Readonly<Record<string, Schema>> = {
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
export const NIGHT_FIELDS: Readonly<Record<string, Schema>> = {
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
