/** The tables of each resource: scalar fields as typed columns, arrays and objects as jsonb. */

const text = { type: "string", maxLength: 4096 } as const;
const code = { type: "string", minLength: 1, maxLength: 128 } as const;
const date = { type: "string", format: "date" } as const;
const instant = { type: "string", format: "date-time", pattern: "Z$" } as const;
// A JSON number or a numeric string, as in the specification.
const whole = { type: ["integer", "string"], pattern: "^-?[0-9]{1,9}$" } as const;
const decimal = { type: ["number", "string"], pattern: "^-?[0-9]+(\\.[0-9]+)?$" } as const;
const flag = { type: "boolean" } as const;
const orNull = <Schema extends { type: string }>(schema: Schema) => ({
  ...schema,
  type: [schema.type, "null"],
});

function object(required: readonly string[], properties: Readonly<Record<string, object>>) {
  return { type: "object", required, properties };
}

function list(items: object) {
  return { type: "array", items, maxItems: 100_000 };
}

const roomType = object(["roomTypeCode", "roomTypeCapacity", "roomsSold"], {
  roomTypeCode: code,
  roomTypeCapacity: whole,
  roomsNotAvailableMaintenance: whole,
  roomsNotAvailableOther: whole,
  roomsSold: whole,
  transientSold: whole,
  groupSold: whole,
});

const service = object([], {
  startDate: date,
  endDate: date,
  serviceName: text,
  serviceValue: decimal,
  inclusive: flag,
  reservationPackage: flag,
  roomRevenuePackage: flag,
});

const roomStay = object(["arrivalDate", "departureDate", "roomTypeCode"], {
  arrivalDate: date,
  departureDate: date,
  roomTypeCode: code,
  bookedRoomTypeCode: code,
  marketSegmentCode: code,
  groupBlockCode: code,
  sourceBookingCode: code,
  roomNumber: code,
  numberOfAdults: whole,
  numberOfChildren: whole,
  currencyCode: code,
  rateCode: code,
  rates: list(object([], { startDate: date, endDate: date, rateValue: decimal, grossRateValue: decimal })),
  childAgeBuckets: list(object([], { minimumAge: decimal, maximumAge: decimal, numberOfChildren: whole })),
  services: list(service),
});

const dailyRevenue = object(["occupancyDate"], {
  occupancyDate: date,
  netRoomRevenue: decimal,
  netFoodRevenue: decimal,
  netBeverageRevenue: decimal,
  netOtherRevenue: decimal,
  netTicketPrice: decimal,
  ticketPrice: decimal,
  netTotalRevenue: decimal,
  grossTotalRevenue: decimal,
});

const groupBlock = object(["occupancyDate", "roomTypeCode", "blocks"], {
  occupancyDate: date,
  roomTypeCode: code,
  blocks: whole,
  pickup: whole,
  originalBlocks: whole,
  singlePersonRate: decimal,
  twoPersonRate: decimal,
  singlePersonTotalRate: decimal,
  twoPersonTotalRate: decimal,
  singlePersonOccupancy: whole,
  twoPersonOccupancy: whole,
  currencyCode: code,
});

/** A field's JSON schema and column type. */
type Field = readonly [schema: object, column: string];

export interface ResourceModel {
  readonly table: string;
  readonly key: string;
  readonly sourceTime: string;
  readonly required: readonly string[];
  readonly fields: Readonly<Record<string, Field>>;
}

const codes = {
  clientCode: [code, "text"],
  propertyCode: [code, "text"],
  correlationId: [code, "text"],
} as const;

export const RESOURCES: Readonly<Record<string, ResourceModel>> = {
  inventories: {
    table: "inventory",
    key: "occupancyDate",
    sourceTime: "createDateTime",
    required: ["roomTypeInventories"],
    fields: {
      ...codes,
      createDateTime: [instant, "timestamptz"],
      occupancyDate: [date, "date"],
      roomTypeInventories: [list(roomType), "jsonb"],
      virtualRoomTypeInventories: [list(roomType), "jsonb"],
    },
  },
  reservations: {
    table: "reservation",
    key: "reservationId",
    sourceTime: "lastModifiedDateTime",
    required: ["status", "roomStays"],
    fields: {
      ...codes,
      lastModifiedDateTime: [instant, "timestamptz"],
      reservationId: [code, "text"],
      confirmationNumber: [code, "text"],
      status: [code, "text"],
      bookingDateTime: [instant, "timestamptz"],
      numberOfRooms: [whole, "integer"],
      multiReservationId: [orNull(code), "text"],
      shareId: [code, "text"],
      cancellationDateTime: [orNull(instant), "timestamptz"],
      cancellationReason: [orNull(text), "text"],
      channel: [code, "text"],
      nationality: [code, "text"],
      roomStays: [{ ...list(roomStay), minItems: 1 }, "jsonb"],
      profiles: [
        list(object([], { id: code, name: text, profileType: code, context: orNull(text) })),
        "jsonb",
      ],
      stayRevenue: [
        object([], {
          daily: list(dailyRevenue),
          summary: object([], { netTotalTicketRevenue: decimal, totalTicketRevenue: decimal }),
        }),
        "jsonb",
      ],
    },
  },
  groups: {
    table: "group_block",
    key: "groupCode",
    sourceTime: "lastModifiedDateTime",
    required: ["groupStatusCode", "startDate", "endDate", "groupBlocks"],
    fields: {
      ...codes,
      lastModifiedDateTime: [instant, "timestamptz"],
      groupCode: [code, "text"],
      masterGroupCode: [orNull(code), "text"],
      name: [text, "text"],
      description: [text, "text"],
      bookingDate: [date, "date"],
      groupStatusCode: [code, "text"],
      startDate: [date, "date"],
      endDate: [date, "date"],
      cutoffDays: [whole, "integer"],
      cutoffDate: [orNull(date), "date"],
      groupTypeCode: [code, "text"],
      pickupTypeCode: [code, "text"],
      marketSegmentCode: [code, "text"],
      rateCode: [code, "text"],
      salesPerson: [text, "text"],
      groupBlocks: [list(groupBlock), "jsonb"],
      services: [list(service), "jsonb"],
    },
  },
};

/** A batch's JSON schema. */
export function batchSchema({ fields, key, sourceTime, required }: ResourceModel): object {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, [schema]]) => [name, schema]));
  const items = object(["clientCode", "propertyCode", key, sourceTime, ...required], properties);
  return { ...list(items), minItems: 1 };
}
