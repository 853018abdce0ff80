import { byResource, type Resource } from "../resource.ts";
import {
  code,
  codeOrObject,
  count,
  currency,
  date,
  decimal,
  type FieldGap,
  type FieldSchema,
  flag,
  flagOrCode,
  identity,
  integer,
  list,
  nullable,
  object,
  optional,
  period,
  text,
  timestamp,
  type ValueOf,
} from "./field.ts";

const GRANTED: FieldGap = {
  open: "allowed codes",
  answer: "those granted to your client; one record with other codes rejects the whole batch (403)",
};
const CORRELATION: FieldGap = {
  open: "effect",
  answer: "stored with the record; records that differ only in it have the same content",
};
const NEWEST_WINS = "the newest wins; of two with the same time, the one received later";
const REPEATED_NIGHT: FieldGap = { open: "repeated or out-of-order records of a date", answer: NEWEST_WINS };
const REPEATED_VERSION: FieldGap = { open: "repeated or out-of-order versions", answer: NEWEST_WINS };
const WHOLE_NIGHT: FieldGap = {
  open: "whether a record may contain only some room types",
  answer:
    "no: a record replaces the whole night. An empty array is accepted: the night then has no room types",
};
const ROOM_TYPES_MAX: FieldGap = {
  open: "maximum number",
  answer:
    "100,000 each. Above 1,000 together, the record has the warning `inventory.too-many-room-types`, and [insight ignores it](contract.md#size-limits-of-insight)",
};
const SOLD_SPLIT: FieldGap = {
  open: "whether they must add up to `roomsSold`",
  answer:
    "no; a difference has the warning `inventory.sold-split`. If one of the two is omitted, nothing is compared",
};
const STAY_NIGHTS: FieldGap = {
  open: "maximum number of nights",
  answer:
    "none. Above 1,100 in a room stay, or 11,000 in all stays together, the record has the warning `reservation.too-many-nights`, and [insight ignores it](contract.md#size-limits-of-insight)",
};
const RATE_UNIT: FieldGap = { open: "unit", answer: "per room and night" };
const CUTOFF: FieldGap = {
  open: "precedence",
  answer:
    "`cutoffDate`; without it, `cutoffDays` before `startDate`. Bellhop releases no rooms automatically",
};
const ANY_STRING: FieldGap = { open: "values", answer: "any string; none has a special meaning" };
const NAMED_BY_US: FieldGap = {
  open: "the field's name",
  answer: "validated under this name; null is treated as if the field were omitted",
};
const GROUP_NAMED_BY_US: FieldGap = {
  open: NAMED_BY_US.open,
  answer: `${NAMED_BY_US.answer}. \`action\` is any string (COMMIT, MODIFY, CANCEL) and has no effect: \`groupStatusCode\` decides`,
};
const OWN_STATUS = "any string, any transition.";

const roomTypeInventory = object(
  "Rooms of one room type on one date",
  {
    roomTypeCode: identity("Code identifying the room type", "DLX", { fact: 2 }),
    roomTypeCapacity: count("Accommodation capacity of the room type", 120, {
      fact: 4,
      gap: {
        open: "whether it includes rooms that are not available",
        answer: "yes: available rooms are `roomTypeCapacity` minus `roomsNotAvailable…`",
      },
    }),
    roomsNotAvailableMaintenance: optional(count("Rooms unavailable due to maintenance", 2, { fact: 5 })),
    roomsNotAvailableOther: optional(count("Rooms unavailable for other reasons", 0, { fact: 6 })),
    roomsSold: count("Rooms sold", 87, {
      fact: 7,
      gap: {
        open: "whether it may exceed the available rooms",
        answer: "yes, with the warning `inventory.oversold`",
      },
    }),
    transientSold: optional(count("Transient rooms sold", 60, { fact: 8, gap: SOLD_SPLIT })),
    groupSold: optional(count("Group rooms sold", 27, { fact: 9, gap: SOLD_SPLIT })),
  },
  { virtualFact: 3 },
);

/** One per property and occupancy date (specification, section 2.1). */
const inventorySchema = object("Room inventory of one property on one occupancy date", {
  clientCode: identity("Unique code identifying the client", "ACME", { role: "clientCode", gap: GRANTED }),
  createDateTime: timestamp("When the record was created: the newest wins", "2026-03-01T08:30:00Z", {
    role: "sourceTime",
    gap: REPEATED_NIGHT,
  }),
  propertyCode: identity("Unique code identifying the property", "PARIS01", {
    role: "propertyCode",
    gap: GRANTED,
  }),
  occupancyDate: date("Date to which the occupancy data applies", "2026-07-14", { fact: 1, role: "key" }),
  correlationId: optional(
    code("Correlation ID for tracking", "c0ffee-1", {
      role: "correlationId",
      personal: "free text",
      gap: CORRELATION,
    }),
  ),
  roomTypeInventories: list("Inventories of room types", roomTypeInventory, {
    gap: [WHOLE_NIGHT, ROOM_TYPES_MAX],
  }),
  virtualRoomTypeInventories: optional(
    list(
      "Inventories of virtual room types; absent for hotels without virtual room types",
      roomTypeInventory,
      {
        gap: [
          ROOM_TYPES_MAX,
          {
            open: "whether they count as capacity",
            answer: "no: they are stored and returned; their rooms belong to other types",
          },
        ],
      },
    ),
  ),
});

const rate = period(
  "The rate over a range of dates",
  ["startDate", "endDate"],
  {
    startDate: optional(date("First date of the rate", "2026-07-14", { fact: 17, sql: "rate_start_date" })),
    endDate: optional(
      date("Last date of the rate", "2026-07-16", {
        fact: 18,
        sql: "rate_end_date",
        gap: {
          open: "whether the rate covers this date",
          answer: "yes. If several rates cover a night, the last in the array counts",
        },
      }),
    ),
    rateValue: optional(decimal("Rate, sent as a string", "180.00", { fact: 19, gap: RATE_UNIT })),
    grossRateValue: optional(decimal("Gross rate, sent as a string", "198.00", { fact: 20, gap: RATE_UNIT })),
  },
  { stayFact: 16 },
);

const childAgeBucket = object("Children of one age range", {
  minimumAge: optional(decimal("Youngest age of the range", "3")),
  maximumAge: optional(decimal("Oldest age of the range", "12")),
  numberOfChildren: optional(count("Children in the range", 1)),
});

const stayService = period("A service attached to the stay", ["startDate", "endDate"], {
  startDate: optional(date("First date of the service", "2026-07-14")),
  endDate: optional(date("Last date of the service", "2026-07-16")),
  serviceName: optional(text("Name of the service", "Breakfast", { personal: "free text" })),
  serviceValue: optional(decimal("Value of the service", 24.5)),
  inclusive: optional(flag("Whether the rate includes the service", true)),
  reservationPackage: optional(flag("Whether the service is a package of the reservation", false)),
  roomRevenuePackage: optional(flag("Whether the service is a package of room revenue", false)),
});

const roomStay = period("One stay in one room type", ["arrivalDate", "departureDate"], {
  arrivalDate: date("Date of arrival", "2026-07-14", { fact: 6, gap: STAY_NIGHTS }),
  departureDate: date("Date of departure; equal to the arrival for day use", "2026-07-17", {
    fact: 7,
    gap: [
      {
        open: "whether it may equal the arrival",
        answer: "yes: day use, which has no night. A departure before the arrival is rejected",
      },
      STAY_NIGHTS,
    ],
  }),
  roomTypeCode: identity("Room type code", "DLX", { fact: 8 }),
  bookedRoomTypeCode: optional(code("Booked room type code", "STD", { fact: 9 })),
  marketSegmentCode: optional(code("Market segment code", "LEISURE", { fact: 10 })),
  groupBlockCode: optional(code("Group block code", "CONF26", { fact: 31 })),
  sourceBookingCode: optional(code("Source booking code", "WEB", { fact: 11 })),
  roomNumber: optional(code("Room number", "1204", { personal: "who stayed" })),
  numberOfAdults: optional(count("Number of adults", 2, { fact: 14 })),
  numberOfChildren: optional(count("Number of children", 1, { fact: 15 })),
  numberOfInfants: optional(nullable(count("Number of infants", 0, { gap: NAMED_BY_US }))),
  currencyCode: optional(currency("Currency code, ISO 4217", "EUR", { fact: 13 })),
  rateCode: optional(code("Rate code", "BAR", { fact: 12 })),
  rates: optional(list("Rates over date ranges", rate)),
  childAgeBuckets: optional(list("Children grouped by age range", childAgeBucket)),
  services: optional(list("Services attached", stayService)),
});

const profile = object("A profile attached to the reservation", {
  id: optional(code("Id of the profile", "P-1001", { personal: "identifies" })),
  name: optional(text("Name of the profile", "Example Travel", { personal: "identifies" })),
  profileType: optional(code("Type of the profile", "COMPANY", { gap: ANY_STRING })),
  context: optional(
    nullable(text("Context of the profile", "BOOKER", { personal: "free text", gap: ANY_STRING })),
  ),
});

const dailyRevenue = object("Revenue of one occupancy date", {
  occupancyDate: date("Date of the revenue", "2026-07-14", {
    fact: 21,
    sql: "revenue_date",
    gap: {
      open: "whether it may lie outside the stay",
      answer: "yes, with the warning `reservation.outside-stay`; so may dates of rates and services",
    },
  }),
  netRoomRevenue: optional(decimal("Net room revenue", "180.00", { fact: 22 })),
  netFoodRevenue: optional(decimal("Net food revenue", "24.50", { fact: 23 })),
  netBeverageRevenue: optional(decimal("Net beverage revenue", "0", { fact: 24 })),
  netOtherRevenue: optional(decimal("Net other revenue", "0", { fact: 25 })),
  netTicketPrice: optional(decimal("Net ticket price", "0", { fact: 26 })),
  ticketPrice: optional(decimal("Ticket price", "0", { fact: 27 })),
  netTotalRevenue: optional(
    decimal("Net total revenue", "204.50", {
      fact: 28,
      gap: {
        open: "whether it must equal the sum of the day's parts",
        answer: "no; a difference has the warning `reservation.revenue-total`",
      },
    }),
  ),
  grossTotalRevenue: optional(decimal("Gross total revenue", "224.95", { fact: 29 })),
});

const summaryRevenue = object(
  "Revenue of the whole reservation",
  {
    netTotalTicketRevenue: optional(decimal("Net total ticket revenue", "0", { checked: true })),
    totalTicketRevenue: optional(decimal("Total ticket revenue", "0", { checked: true })),
  },
  {
    gap: {
      open: "whether it must equal the sum of the days",
      answer: "no; a difference has the warning `reservation.revenue-summary`",
    },
  },
);

/** One booking with its stays (specification, section 2.2). */
const reservationSchema = object("A reservation", {
  clientCode: identity("Client code associated with the reservation", "ACME", {
    role: "clientCode",
    gap: GRANTED,
  }),
  propertyCode: identity("Property code associated with the reservation", "PARIS01", {
    role: "propertyCode",
    gap: GRANTED,
  }),
  correlationId: optional(
    code("Correlation ID", "c0ffee-2", { role: "correlationId", personal: "free text", gap: CORRELATION }),
  ),
  lastModifiedDateTime: timestamp(
    "Date and time of last modification: the newest wins",
    "2026-03-01T08:30:00Z",
    { role: "sourceTime", gap: REPEATED_VERSION },
  ),
  reservationId: identity("Id of the reservation", "R-48213", { role: "key" }),
  confirmationNumber: optional(code("Confirmation number", "CNF-99231", { fact: 1, personal: "identifies" })),
  status: identity("Status of the reservation; see the default mapping", "CONFIRMED", {
    role: "status",
    gap: {
      open: "values and transitions",
      answer: `${OWN_STATUS} [Mapped statuses](#reservation-status) determine whether rooms count on the books; an unmapped one has the warning \`status.unmapped\``,
    },
  }),
  bookingDateTime: optional(
    timestamp("Date of the booking", "2026-02-20T10:15:00Z", { fact: 2, sql: "booking_time" }),
  ),
  numberOfRooms: optional(
    count("Number of rooms in the reservation", 1, { fact: 3, gap: { open: "default", answer: "1" } }),
  ),
  multiReservationId: optional(nullable(code("Multi reservation id", "M-77", { fact: 32 }))),
  shareId: optional(
    code("Share id", "S-12", {
      fact: 33,
      gap: {
        open: "how a share is counted",
        answer: "reservations with the same `shareId` count once on each night ([shares](guides/shares.md))",
      },
    }),
  ),
  cancellationDateTime: optional(
    nullable(
      timestamp("When the reservation was cancelled", "2026-03-01T08:29:00Z", {
        fact: 30,
        sql: "cancellation_time",
        gap: { open: "whether it cancels the reservation", answer: "no: `status` does" },
      }),
    ),
  ),
  cancellationReason: optional(
    nullable(text("Reason for cancellation", "Plans changed", { personal: "free text" })),
  ),
  channel: optional(code("Booking channel used", "DIRECT", { fact: 4, gap: ANY_STRING })),
  nationality: optional(code("Origin country of the guest", "FR", { fact: 5, gap: ANY_STRING })),
  lastBookedPropertyCode: optional(
    nullable(code("Property that was booked last", "PARIS02", { gap: NAMED_BY_US })),
  ),
  primarySharer: optional(
    nullable(
      flagOrCode("Whether this is the primary sharer, or the primary sharer's id", true, {
        personal: "who stayed",
        gap: NAMED_BY_US,
      }),
    ),
  ),
  sharers: optional(
    nullable(
      list(
        "Sharers of the room",
        codeOrObject("Id of a sharer, or an object that describes one", "R-48214"),
        { personal: "who stayed", gap: NAMED_BY_US },
      ),
    ),
  ),
  roomStays: list("Stays within the reservation", roomStay, {
    itemsMin: 1,
    gap: { open: "whether it may be empty", answer: "no, not even for a cancelled reservation" },
  }),
  profiles: optional(list("Profiles attached", profile)),
  stayRevenue: optional(
    object("Revenue of the stays", {
      daily: optional(list("Revenue by occupancy date", dailyRevenue)),
      summary: optional(summaryRevenue),
    }),
  ),
});

/** An accepted reservation. */
export type Reservation = ValueOf<typeof reservationSchema>;

const groupBlock = object("Rooms blocked on one date in one room type", {
  occupancyDate: date("Occupancy date", "2026-09-10", {
    fact: 12,
    gap: {
      open: "whether it may lie outside the group's dates",
      answer: "yes, with the warning `group.outside-dates`",
    },
  }),
  roomTypeCode: identity("Room type code", "DLX", { fact: 13 }),
  blocks: count("Number of blocks", 20, {
    fact: 14,
    gap: {
      open: "whether it includes rooms picked up",
      answer: "yes: `blocks` minus `pickup` rooms remain",
    },
  }),
  pickup: optional(
    count("Rooms picked up from the block", 8, {
      fact: 15,
      gap: {
        open: "whether it may exceed `blocks`",
        answer: "yes, with the warning `group.pickup-above-blocks`",
      },
    }),
  ),
  originalBlocks: optional(count("Original/initial rooms blocked", 25, { fact: 16 })),
  singlePersonRate: optional(decimal("Single person rate", 140, { fact: 17 })),
  twoPersonRate: optional(decimal("Two person rate", 160, { fact: 18 })),
  threePersonRate: optional(nullable(decimal("Three person rate", 180, { gap: NAMED_BY_US }))),
  fourPersonRate: optional(nullable(decimal("Four person rate", 200, { gap: NAMED_BY_US }))),
  singlePersonTotalRate: optional(decimal("Single person total rate", 154)),
  twoPersonTotalRate: optional(decimal("Two person total rate", 176)),
  threePersonTotalRate: optional(nullable(decimal("Three person total rate", 198, { gap: NAMED_BY_US }))),
  fourPersonTotalRate: optional(nullable(decimal("Four person total rate", 220, { gap: NAMED_BY_US }))),
  singlePersonOccupancy: optional(count("Single person occupancy", 4)),
  twoPersonOccupancy: optional(count("Two person occupancy", 4)),
  threePersonOccupancy: optional(nullable(count("Three person occupancy", 0, { gap: NAMED_BY_US }))),
  fourPersonOccupancy: optional(nullable(count("Four person occupancy", 0, { gap: NAMED_BY_US }))),
  extraAdultRate: optional(nullable(decimal("Extra adult rate", 40, { gap: NAMED_BY_US }))),
  extraChildRate: optional(nullable(decimal("Extra child rate", 20, { gap: NAMED_BY_US }))),
  currencyCode: optional(currency("Currency code, ISO 4217", "EUR", { fact: 19 })),
});

const groupService = period("A service attached to the group", ["startDate", "endDate"], {
  serviceName: optional(text("Name of the service", "Coffee break", { personal: "free text" })),
  serviceValue: optional(
    decimal("Value of the service; may be negative", -5, {
      gap: { open: "whether it may be negative", answer: "yes" },
    }),
  ),
  inclusive: optional(flag("Whether the rate includes the service", true)),
  startDate: optional(date("First date of the service", "2026-09-10")),
  endDate: optional(date("Last date of the service", "2026-09-12")),
});

/** Rooms held for a group, by date and room type (specification, section 2.3). */
const groupSchema = period("A group block master", ["startDate", "endDate"], {
  clientCode: identity("Client code", "ACME", { role: "clientCode", gap: GRANTED }),
  propertyCode: identity("Property code", "PARIS01", { role: "propertyCode", gap: GRANTED }),
  correlationId: optional(
    code("Correlation ID", "c0ffee-3", { role: "correlationId", personal: "free text", gap: CORRELATION }),
  ),
  lastModifiedDateTime: timestamp("Last modified date and time: the newest wins", "2026-03-01T08:30:00Z", {
    role: "sourceTime",
    gap: REPEATED_VERSION,
  }),
  groupCode: identity("Group block code", "CONF26", { role: "key" }),
  masterGroupCode: optional(
    nullable(
      code("Master group code", "CONF", {
        fact: 2,
        gap: {
          open: "whether blocks of both groups hold rooms",
          answer:
            "the subgroup's rooms are part of its master's, by night and room type ([groups](guides/groups.md#subgroups)); the setting `groupHierarchy` adds them instead",
        },
      }),
    ),
  ),
  name: optional(text("Name of the group block", "Autumn conference", { fact: 1, personal: "identifies" })),
  description: optional(text("Description", "Annual meeting, two floors", { personal: "free text" })),
  action: optional(
    nullable(code("Action associated with the group block", "COMMIT", { gap: GROUP_NAMED_BY_US })),
  ),
  bookingDate: optional(date("Booking date", "2026-02-01", { fact: 3 })),
  groupStatusCode: identity("Group status code; see the default mapping", "DEFINITE", {
    role: "status",
    gap: {
      open: "values and transitions",
      answer: `${OWN_STATUS} [Mapped statuses](#group-status) determine whether the block holds rooms; an unmapped one has the warning \`status.unmapped\``,
    },
  }),
  startDate: date("Start date", "2026-09-10", { fact: 4 }),
  endDate: date("End date", "2026-09-12", { fact: 5 }),
  cutoffDays: optional(integer("Cutoff days", 30, { fact: 6, gap: CUTOFF })),
  cutoffDate: optional(nullable(date("Cutoff date", "2026-08-11", { fact: 7, gap: CUTOFF }))),
  cancelDate: optional(nullable(date("Cancel date", "2026-08-01", { gap: GROUP_NAMED_BY_US }))),
  groupTypeCode: optional(code("Group type code", "CORPORATE", { fact: 8, gap: ANY_STRING })),
  pickupTypeCode: optional(code("Pickup type code", "ROOMING_LIST", { fact: 9, gap: ANY_STRING })),
  marketSegmentCode: optional(code("Market segment code", "GROUP", { fact: 10 })),
  rateCode: optional(code("Rate code", "GRP", { fact: 11 })),
  salesPerson: optional(text("Sales person", "S. Example", { personal: "free text" })),
  netRoomRevenue: optional(nullable(decimal("Net room revenue", "42000.00", { gap: GROUP_NAMED_BY_US }))),
  totalRoomRevenue: optional(nullable(decimal("Total room revenue", "46200.00", { gap: GROUP_NAMED_BY_US }))),
  groupBlocks: list("Per-date, per-room-type blocks", groupBlock, {
    gap: {
      open: "maximum number",
      answer:
        "100,000. Above 11,000 the record has the warning `group.too-many-blocks`, and [insight ignores it](contract.md#size-limits-of-insight)",
    },
  }),
  services: optional(list("Services attached", groupService)),
});

/** The record schema of each resource, for validation and the OpenAPI document. */
export const RECORD_SCHEMAS: Readonly<Record<Resource, FieldSchema>> = {
  inventories: inventorySchema,
  reservations: reservationSchema,
  groups: groupSchema,
};

/** The objects with kept members, by the names that code gives them. */
export const RECORD_OBJECTS = {
  inventory: inventorySchema,
  room: roomTypeInventory,
  reservation: reservationSchema,
  stay: roomStay,
  rate,
  day: dailyRevenue,
  service: stayService,
  bucket: childAgeBucket,
  group: groupSchema,
  block: groupBlock,
  groupService,
} as const;

/** A field of a record, and where it is: `roomStays[].rates[].endDate`. */
export interface FieldAt {
  readonly path: string;
  readonly field: FieldSchema;
}

function fieldsWithin(schema: FieldSchema, prefix: string): readonly FieldAt[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const path = `${prefix}${name}`;
    const inner =
      field.items === undefined ? fieldsWithin(field, `${path}.`) : fieldsWithin(field.items, `${path}[].`);
    return [{ path, field }, ...inner];
  });
}

/** All fields of each resource's records in the order of the schemas, at any depth. */
export const FIELDS = byResource((resource) => fieldsWithin(RECORD_SCHEMAS[resource], ""));

/** The names of all fields of each resource's records, at any depth. */
export const FIELD_NAMES = byResource(
  (resource): ReadonlySet<string> =>
    new Set(FIELDS[resource].map(({ path }) => path.slice(path.lastIndexOf(".") + 1))),
);
