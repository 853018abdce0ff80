import { DECIMAL_DIGITS_MAX } from "#contract/decimal.ts";
import { FIELD_KINDS } from "#contract/field-kinds.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import {
  CODE_CHARACTERS_MAX,
  type FieldSchema,
  ITEMS_MAX,
  TEXT_CHARACTERS_MAX,
} from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";
import { KNOWN_STATUSES } from "#contract/statuses.ts";
import { VIOLATION_CODES } from "#contract/violation.ts";
import { WARNING_CODES } from "#contract/warnings.ts";

/** What the specification leaves open about fields, and how this service answers it. */
interface FieldGap {
  /** Paths as docs/records.md writes them: `roomStays[].rates[].endDate`. A test holds them to the schemas. */
  readonly fields: readonly string[];
  /** What is not shown, as the middle of a sentence. */
  readonly open: string;
  /** The answer; Markdown. */
  readonly answer: string;
}

const IDENTITY: readonly FieldGap[] = [
  {
    fields: ["clientCode", "propertyCode"],
    open: "which may be sent",
    answer: "those that were granted to your client; one record with others refuses the whole batch with 403",
  },
  {
    fields: ["correlationId"],
    open: "what it does",
    answer: "kept with the record; two records that differ in nothing else have the same content",
  },
];

const NAMED_BY_US = "its name";

/** The gaps by resource, in the order of the fields. What all fields of a type have in common stands with the types. */
export const FIELD_GAPS: Readonly<Record<Resource, readonly FieldGap[]>> = {
  inventories: [
    ...IDENTITY,
    {
      fields: ["createDateTime"],
      open: "what happens when records of one date come twice or out of order",
      answer: "the newest wins; of two with the same, the one received later",
    },
    {
      fields: ["roomTypeInventories"],
      open: "whether some of the room types may be sent",
      answer:
        "no: a record replaces the whole night. An empty array is accepted: the night then has no room types",
    },
    {
      fields: ["roomTypeInventories", "virtualRoomTypeInventories"],
      open: "how many there may be",
      answer:
        "up to 100,000 each. Beyond 1,000 together the record has the warning `inventory.too-many-room-types`, and [insight leaves it out](contract.md#what-insight-counts-of-a-record)",
    },
    {
      fields: ["roomTypeInventories[].roomTypeCapacity"],
      open: "whether it includes rooms that are not available",
      answer: "it does: `roomsNotAvailable…` are taken off it where available rooms are meant",
    },
    {
      fields: ["roomTypeInventories[].roomsSold"],
      open: "whether more may be sold than there are",
      answer: "yes, with the warning `inventory.oversold`",
    },
    {
      fields: ["roomTypeInventories[].transientSold", "roomTypeInventories[].groupSold"],
      open: "whether they must add up to `roomsSold`",
      answer:
        "no, but the warning `inventory.sold-split` says so; with one of the two left out, nothing is compared",
    },
    {
      fields: ["virtualRoomTypeInventories"],
      open: "whether they count",
      answer: "they are stored and returned, and are no capacity: their rooms are those of other types",
    },
  ],
  reservations: [
    ...IDENTITY,
    {
      fields: ["lastModifiedDateTime"],
      open: "what happens when versions come twice or out of order",
      answer: "the newest wins; of two with the same, the one received later",
    },
    {
      fields: ["status"],
      open: "which values there are, and which transitions",
      answer:
        "any text, any transition. [The known statuses](#reservation-status) say whether rooms are on the books; another has the warning `status.unmapped`",
    },
    {
      fields: ["numberOfRooms"],
      open: "what it is where it is left out",
      answer: "1",
    },
    {
      fields: ["shareId"],
      open: "how a share is counted",
      answer:
        "those with the same one are one room on each night that they cover ([shares](guides/shares.md))",
    },
    {
      fields: ["cancellationDateTime"],
      open: "whether it cancels",
      answer: "no: `status` does",
    },
    {
      fields: ["channel", "nationality", "profiles[].profileType", "profiles[].context"],
      open: "which values there are",
      answer: "any text: nothing depends on them",
    },
    {
      fields: ["lastBookedPropertyCode", "primarySharer", "sharers", "roomStays[].numberOfInfants"],
      open: NAMED_BY_US,
      answer:
        "described and not named: checked under this name, which the field uses, and null as if it were left out; under another it is stored and returned like any other field",
    },
    {
      fields: ["roomStays"],
      open: "whether it may be empty",
      answer: "no: a reservation without dates cannot be understood, a cancelled one included",
    },
    {
      fields: ["roomStays[].departureDate"],
      open: "whether it may be the day of arrival",
      answer: "yes: day use, which has no night. Before the arrival it is refused",
    },
    {
      fields: ["roomStays[].arrivalDate", "roomStays[].departureDate"],
      open: "how many nights a reservation may have",
      answer:
        "any number. Beyond 1,100 of a room stay, or 11,000 of all its stays together, it has the warning `reservation.too-many-nights`, and [insight leaves it out](contract.md#what-insight-counts-of-a-record)",
    },
    {
      fields: ["roomStays[].rates[].endDate"],
      open: "whether its own night is included",
      answer: "it is; of several rates that cover a night the last in the array counts",
    },
    {
      fields: ["roomStays[].rates[].rateValue", "roomStays[].rates[].grossRateValue"],
      open: "of what it is the rate",
      answer: "of one room and one night",
    },
    {
      fields: ["stayRevenue.daily[].occupancyDate"],
      open: "whether it may lie outside the stay",
      answer: "yes, with the warning `reservation.outside-stay`; so may dates of rates and services",
    },
    {
      fields: ["stayRevenue.daily[].netTotalRevenue"],
      open: "whether it must be the sum of the day's parts",
      answer: "no, but the warning `reservation.revenue-total` says so",
    },
    {
      fields: ["stayRevenue.summary"],
      open: "whether it must be the sum of the days",
      answer: "no, but the warning `reservation.revenue-summary` says so",
    },
  ],
  groups: [
    ...IDENTITY,
    {
      fields: ["lastModifiedDateTime"],
      open: "what happens when versions come twice or out of order",
      answer: "the newest wins; of two with the same, the one received later",
    },
    {
      fields: ["action", "cancelDate", "netRoomRevenue", "totalRoomRevenue"],
      open: NAMED_BY_US,
      answer:
        "described and not named: checked under this name, which the field uses, and null as if it were left out; under another it is stored and returned like any other field. `action` is any text (COMMIT, MODIFY, CANCEL), stored, and changes nothing: the status decides",
    },
    {
      fields: ["groupStatusCode"],
      open: "which values there are, and which transitions",
      answer:
        "any text, any transition. [The known statuses](#group-status) say whether the block holds rooms; another has the warning `status.unmapped`",
    },
    {
      fields: ["groupTypeCode", "pickupTypeCode"],
      open: "which values there are",
      answer: "any text: nothing depends on them",
    },
    {
      fields: ["cutoffDays", "cutoffDate"],
      open: "which of the two counts",
      answer:
        "`cutoffDate`; without it, `cutoffDays` before `startDate`. Bellhop releases no rooms automatically",
    },
    {
      fields: ["groupBlocks"],
      open: "how many there may be",
      answer:
        "up to 100,000. Beyond 11,000 the record has the warning `group.too-many-blocks`, and [insight leaves them out](contract.md#what-insight-counts-of-a-record)",
    },
    {
      fields: ["groupBlocks[].occupancyDate"],
      open: "whether it may lie outside the group's dates",
      answer: "yes, with the warning `group.outside-dates`",
    },
    {
      fields: ["groupBlocks[].blocks"],
      open: "whether it includes the rooms that are picked up",
      answer: "it does: `blocks` less `pickup` rooms remain",
    },
    {
      fields: ["groupBlocks[].pickup"],
      open: "whether it may be above `blocks`",
      answer: "yes, with the warning `group.pickup-above-blocks`",
    },
    {
      fields: [
        "threePersonRate",
        "fourPersonRate",
        "threePersonTotalRate",
        "fourPersonTotalRate",
        "threePersonOccupancy",
        "fourPersonOccupancy",
        "extraAdultRate",
        "extraChildRate",
      ].map((name) => `groupBlocks[].${name}`),
      open: NAMED_BY_US,
      answer:
        "described and not named: checked under this name, after those for one and two persons, and null as if it were left out",
    },
    {
      fields: ["services[].serviceValue"],
      open: "whether it may be negative",
      answer: "yes",
    },
  ],
};

/**
 * The parts of `docs/records.md` that are made from the code: the tables of fields, codes and statuses, by the name of the
 * marker between which each stands. A test holds the document to them; `writeGenerated` renews it.
 */
export function generatedSections(): Readonly<Record<string, string>> {
  return {
    ...Object.fromEntries(RESOURCES.map((resource) => [resource, fieldTable(resource)])),
    ...Object.fromEntries(RESOURCES.map((resource) => [`gaps-${resource}`, gapTable(resource)])),
    violations: codeTable(VIOLATION_CODES),
    warnings: codeTable(WARNING_CODES),
    "statuses-reservations": statusTable("reservations"),
    "statuses-groups": statusTable("groups"),
  };
}

/** A document with the text between each pair of markers (`<!-- generated: name -->`, `<!-- end -->`) made anew. */
export function writeGenerated(document: string): string {
  const sections = generatedSections();
  return document.replace(
    /(<!-- generated: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (whole, open, name, close) => {
      const section = sections[name as string];
      return section === undefined ? (whole as string) : `${open}\n${section}\n${close}`;
    },
  );
}

function fieldTable(resource: Resource): string {
  const rows = ["| Field | Type | Required | null | Meaning |", "|---|---|---|---|---|"];
  addRows(RECORD_SCHEMAS[resource], "", rows);
  return `${rows.join("\n")}\n`;
}

function addRows(schema: FieldSchema, prefix: string, rows: string[]): void {
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const path = prefix + name;
    const required = schema.required?.includes(name) ? "yes" : "";
    rows.push(
      `| \`${path}\` | ${FIELD_KINDS[field.fieldKind].reference(field)} | ${required} | ${field.nullable ? "yes" : ""} | ${field.description} |`,
    );
    if (field.fieldKind === "object") addRows(field, `${path}.`, rows);
    if (field.items?.fieldKind === "object") addRows(field.items, `${path}[].`, rows);
  }
}

function gapTable(resource: Resource): string {
  const rows = FIELD_GAPS[resource].map(
    ({ fields, open, answer }) =>
      `| ${fields.map((path) => `\`${path}\``).join(", ")} | ${open} | ${answer} |`,
  );
  return `| Field | The specification does not show | Answer |\n|---|---|---|\n${rows.join("\n")}\n`;
}

function codeTable(codes: Readonly<Record<string, string>>): string {
  const rows = Object.entries(codes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  return `| Code | Meaning |\n|---|---|\n${rows.join("\n")}\n`;
}

function statusTable(resource: "reservations" | "groups"): string {
  const rows = KNOWN_STATUSES[resource].map(
    ({ canonical, deducts, spellings }) =>
      `| ${canonical} | ${deducts ? "yes" : "no"} | ${spellings.join(", ")} |`,
  );
  return `| Meaning | Deducts | Spellings |\n|---|---|---|\n${rows.join("\n")}\n`;
}

/** The limits that the document names in its text; a test holds the text to them. */
export const DOCUMENTED_LIMITS = {
  textCharactersMax: TEXT_CHARACTERS_MAX,
  codeCharactersMax: CODE_CHARACTERS_MAX,
  itemsMax: ITEMS_MAX,
  decimalDigitsMax: DECIMAL_DIGITS_MAX,
} as const;
