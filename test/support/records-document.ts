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

/** A question about fields that the specification leaves open, and Bellhop's rule. */
interface FieldGap {
  /** Paths as docs/records.md writes them: `roomStays[].rates[].endDate`. A test holds them to the schemas. */
  readonly fields: readonly string[];
  /** What is not specified: a noun phrase, or a clause with "whether". */
  readonly open: string;
  /** Bellhop's rule; Markdown. */
  readonly answer: string;
}

const IDENTITY: readonly FieldGap[] = [
  {
    fields: ["clientCode", "propertyCode"],
    open: "allowed codes",
    answer: "those granted to your client; one record with other codes rejects the whole batch (403)",
  },
  {
    fields: ["correlationId"],
    open: "effect",
    answer: "stored with the record; records that differ only in it have the same content",
  },
];

const NAMED_BY_US = "the field's name";
const CHECKED_UNDER_THIS_NAME = "validated under this name; null is treated as if the field were omitted";
const OWN_STATUS = "any string, any transition.";

/** The gaps by resource, in the order of the fields. Rules that all fields of a type share are in the table of types. */
export const FIELD_GAPS: Readonly<Record<Resource, readonly FieldGap[]>> = {
  inventories: [
    ...IDENTITY,
    {
      fields: ["createDateTime"],
      open: "repeated or out-of-order records of a date",
      answer: "the newest wins; of two with the same time, the one received later",
    },
    {
      fields: ["roomTypeInventories"],
      open: "whether a record may contain only some room types",
      answer:
        "no: a record replaces the whole night. An empty array is accepted: the night then has no room types",
    },
    {
      fields: ["roomTypeInventories", "virtualRoomTypeInventories"],
      open: "maximum number",
      answer:
        "100,000 each. Above 1,000 together, the record has the warning `inventory.too-many-room-types`, and [insight ignores it](contract.md#size-limits-of-insight)",
    },
    {
      fields: ["roomTypeInventories[].roomTypeCapacity"],
      open: "whether it includes rooms that are not available",
      answer: "yes: available rooms are `roomTypeCapacity` minus `roomsNotAvailable…`",
    },
    {
      fields: ["roomTypeInventories[].roomsSold"],
      open: "whether it may exceed the available rooms",
      answer: "yes, with the warning `inventory.oversold`",
    },
    {
      fields: ["roomTypeInventories[].transientSold", "roomTypeInventories[].groupSold"],
      open: "whether they must add up to `roomsSold`",
      answer:
        "no; a difference has the warning `inventory.sold-split`. If one of the two is omitted, nothing is compared",
    },
    {
      fields: ["virtualRoomTypeInventories"],
      open: "whether they count as capacity",
      answer: "no: they are stored and returned; their rooms belong to other types",
    },
  ],
  reservations: [
    ...IDENTITY,
    {
      fields: ["lastModifiedDateTime"],
      open: "repeated or out-of-order versions",
      answer: "the newest wins; of two with the same time, the one received later",
    },
    {
      fields: ["status"],
      open: "values and transitions",
      answer: `${OWN_STATUS} [Mapped statuses](#reservation-status) determine whether rooms count on the books; an unmapped one has the warning \`status.unmapped\``,
    },
    {
      fields: ["numberOfRooms"],
      open: "default",
      answer: "1",
    },
    {
      fields: ["shareId"],
      open: "how a share is counted",
      answer: "reservations with the same `shareId` count once on each night ([shares](guides/shares.md))",
    },
    {
      fields: ["cancellationDateTime"],
      open: "whether it cancels the reservation",
      answer: "no: `status` does",
    },
    {
      fields: ["channel", "nationality", "profiles[].profileType", "profiles[].context"],
      open: "values",
      answer: "any string; none has a special meaning",
    },
    {
      fields: ["lastBookedPropertyCode", "primarySharer", "sharers", "roomStays[].numberOfInfants"],
      open: NAMED_BY_US,
      answer: CHECKED_UNDER_THIS_NAME,
    },
    {
      fields: ["roomStays"],
      open: "whether it may be empty",
      answer: "no, not even for a cancelled reservation",
    },
    {
      fields: ["roomStays[].departureDate"],
      open: "whether it may equal the arrival",
      answer: "yes: day use, which has no night. A departure before the arrival is rejected",
    },
    {
      fields: ["roomStays[].arrivalDate", "roomStays[].departureDate"],
      open: "maximum number of nights",
      answer:
        "none. Above 1,100 in a room stay, or 11,000 in all stays together, the record has the warning `reservation.too-many-nights`, and [insight ignores it](contract.md#size-limits-of-insight)",
    },
    {
      fields: ["roomStays[].rates[].endDate"],
      open: "whether the rate covers this date",
      answer: "yes. If several rates cover a night, the last in the array counts",
    },
    {
      fields: ["roomStays[].rates[].rateValue", "roomStays[].rates[].grossRateValue"],
      open: "unit",
      answer: "per room and night",
    },
    {
      fields: ["stayRevenue.daily[].occupancyDate"],
      open: "whether it may lie outside the stay",
      answer: "yes, with the warning `reservation.outside-stay`; so may dates of rates and services",
    },
    {
      fields: ["stayRevenue.daily[].netTotalRevenue"],
      open: "whether it must equal the sum of the day's parts",
      answer: "no; a difference has the warning `reservation.revenue-total`",
    },
    {
      fields: ["stayRevenue.summary"],
      open: "whether it must equal the sum of the days",
      answer: "no; a difference has the warning `reservation.revenue-summary`",
    },
  ],
  groups: [
    ...IDENTITY,
    {
      fields: ["lastModifiedDateTime"],
      open: "repeated or out-of-order versions",
      answer: "the newest wins; of two with the same time, the one received later",
    },
    {
      fields: ["action", "cancelDate", "netRoomRevenue", "totalRoomRevenue"],
      open: NAMED_BY_US,
      answer: `${CHECKED_UNDER_THIS_NAME}. \`action\` is any string (COMMIT, MODIFY, CANCEL) and has no effect: \`groupStatusCode\` decides`,
    },
    {
      fields: ["groupStatusCode"],
      open: "values and transitions",
      answer: `${OWN_STATUS} [Mapped statuses](#group-status) determine whether the block holds rooms; an unmapped one has the warning \`status.unmapped\``,
    },
    {
      fields: ["masterGroupCode"],
      open: "whether blocks of both groups hold rooms",
      answer:
        "the subgroup's rooms are part of its master's, by night and room type ([groups](guides/groups.md#subgroups)); the setting `groupHierarchy` adds them instead",
    },
    {
      fields: ["groupTypeCode", "pickupTypeCode"],
      open: "values",
      answer: "any string; none has a special meaning",
    },
    {
      fields: ["cutoffDays", "cutoffDate"],
      open: "precedence",
      answer:
        "`cutoffDate`; without it, `cutoffDays` before `startDate`. Bellhop releases no rooms automatically",
    },
    {
      fields: ["groupBlocks"],
      open: "maximum number",
      answer:
        "100,000. Above 11,000 the record has the warning `group.too-many-blocks`, and [insight ignores it](contract.md#size-limits-of-insight)",
    },
    {
      fields: ["groupBlocks[].occupancyDate"],
      open: "whether it may lie outside the group's dates",
      answer: "yes, with the warning `group.outside-dates`",
    },
    {
      fields: ["groupBlocks[].blocks"],
      open: "whether it includes rooms picked up",
      answer: "yes: `blocks` minus `pickup` rooms remain",
    },
    {
      fields: ["groupBlocks[].pickup"],
      open: "whether it may exceed `blocks`",
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
      answer: CHECKED_UNDER_THIS_NAME,
    },
    {
      fields: ["services[].serviceValue"],
      open: "whether it may be negative",
      answer: "yes",
    },
  ],
};

/**
 * The generated parts of `docs/records.md` (tables of fields, codes and statuses) by the name of their marker.
 * A test compares the document with them; `writeGenerated` renews it.
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

/** The document with the text between each pair of markers (`<!-- generated: name -->`, `<!-- end -->`) generated again. */
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
  return `| Field | Not specified | Rule |\n|---|---|---|\n${rows.join("\n")}\n`;
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

/** The limits that the document's text names; a test compares them. */
export const DOCUMENTED_LIMITS = {
  textCharactersMax: TEXT_CHARACTERS_MAX,
  codeCharactersMax: CODE_CHARACTERS_MAX,
  itemsMax: ITEMS_MAX,
  decimalDigitsMax: DECIMAL_DIGITS_MAX,
} as const;
