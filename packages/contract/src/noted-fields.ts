import type { Resource } from "./resource.ts";

/**
 * What `walkSpans` keeps for `noted-warnings.ts` to judge, a number a field: dates as YYYYMMDD, whole numbers, and money in
 * ten-thousandths. The slots of one kind of object stand together: they are emptied when one begins. Those up to
 * `totalTicketRevenue` are of the whole record.
 */
export const SLOT = {
  unused: 0,
  first: 1,
  last: 2,
  days: 3,
  stayNights: 4,
  dayFirst: 5,
  dayLast: 6,
  netTickets: 7,
  tickets: 8,
  netTotalTicketRevenue: 9,
  totalTicketRevenue: 10,
  arrivalDate: 11,
  departureDate: 12,
  periodFirst: 13,
  periodLast: 14,
  startDate: 15,
  endDate: 16,
  blocks: 17,
  pickup: 18,
  occupancyDate: 19,
  netRoomRevenue: 20,
  netFoodRevenue: 21,
  netBeverageRevenue: 22,
  netOtherRevenue: 23,
  netTicketPrice: 24,
  ticketPrice: 25,
  netTotalRevenue: 26,
  roomTypeCapacity: 27,
  roomsNotAvailableMaintenance: 28,
  roomsNotAvailableOther: 29,
  roomsSold: 30,
  transientSold: 31,
  groupSold: 32,
} as const;

export type SlotName = keyof typeof SLOT;

/** How many there are. Those after them are of the periods of a record that is checked, two for each depth. */
export const SLOTS = Object.keys(SLOT).length;
export const PERIOD_SLOTS = 16;

/** What an object is, for what is judged where it ends. */
export type NotedKind =
  | "inventory"
  | "room"
  | "reservation"
  | "stay"
  | "period"
  | "day"
  | "group"
  | "block"
  | "other";

/** What of an object is noted. Its other members are passed over, but for counts, which might be below zero. */
export interface NotedObject {
  readonly kind: NotedKind;
  /** Members whose spans are kept, in the order of the columns of facts. */
  readonly columns?: readonly string[];
  /** Of the record itself: members whose spans are kept although they are no facts, in the order of SOUGHT. */
  readonly sought?: readonly string[];
  /** Of the record itself: the members that are not content. */
  readonly notContent?: readonly string[];
  /** From one slot up to another: the members that have these names, and those of `kind`. */
  readonly slots?: readonly [SlotName, SlotName];
  /** Objects, or arrays of objects, that are gone into. */
  readonly inner?: Readonly<Record<string, NotedObject>>;
  /** Which list of items it belongs to, where it has columns and is not the record. */
  readonly list?: number;
}

/** Where the sought members stand after the columns of a record. Inventory has no status. */
export const SOUGHT = { clientCode: 0, propertyCode: 1, key: 2, sourceTime: 3, status: 4 } as const;

/** The lists of items of a record; `rates` are those of all stays. */
export const LIST = { stays: 0, rates: 1, days: 2, rooms: 0, blocks: 0 } as const;

const ROOM: NotedObject = {
  kind: "room",
  list: LIST.rooms,
  columns: [
    "roomTypeCode",
    "roomTypeCapacity",
    "roomsNotAvailableMaintenance",
    "roomsNotAvailableOther",
    "roomsSold",
    "transientSold",
    "groupSold",
  ],
  slots: ["roomTypeCapacity", "groupSold"],
};

const INVENTORY: NotedObject = {
  kind: "inventory",
  columns: ["occupancyDate"],
  sought: ["clientCode", "propertyCode", "occupancyDate", "createDateTime"],
  notContent: ["createDateTime", "correlationId"],
  slots: ["occupancyDate", "occupancyDate"],
  inner: { roomTypeInventories: ROOM, virtualRoomTypeInventories: ROOM },
};

const PERIOD: NotedObject = { kind: "period", slots: ["startDate", "endDate"] };

const RATE: NotedObject = {
  ...PERIOD,
  list: LIST.rates,
  columns: ["startDate", "endDate", "rateValue", "grossRateValue"],
};

const STAY: NotedObject = {
  kind: "stay",
  list: LIST.stays,
  columns: [
    "arrivalDate",
    "departureDate",
    "roomTypeCode",
    "bookedRoomTypeCode",
    "marketSegmentCode",
    "groupBlockCode",
    "sourceBookingCode",
    "rateCode",
    "currencyCode",
    "numberOfAdults",
    "numberOfChildren",
  ],
  slots: ["arrivalDate", "periodLast"],
  inner: { rates: RATE, services: PERIOD, childAgeBuckets: { kind: "other" } },
};

const DAY: NotedObject = {
  kind: "day",
  list: LIST.days,
  columns: [
    "occupancyDate",
    "netRoomRevenue",
    "netFoodRevenue",
    "netBeverageRevenue",
    "netOtherRevenue",
    "netTicketPrice",
    "ticketPrice",
    "netTotalRevenue",
    "grossTotalRevenue",
  ],
  slots: ["occupancyDate", "netTotalRevenue"],
};

const RESERVATION: NotedObject = {
  kind: "reservation",
  columns: [
    "confirmationNumber",
    "bookingDateTime",
    "cancellationDateTime",
    "numberOfRooms",
    "multiReservationId",
    "shareId",
    "channel",
    "nationality",
  ],
  sought: ["clientCode", "propertyCode", "reservationId", "lastModifiedDateTime", "status"],
  notContent: ["lastModifiedDateTime", "correlationId"],
  inner: {
    roomStays: STAY,
    stayRevenue: {
      kind: "other",
      inner: {
        daily: DAY,
        summary: { kind: "other", slots: ["netTotalTicketRevenue", "totalTicketRevenue"] },
      },
    },
  },
};

const GROUP: NotedObject = {
  kind: "group",
  columns: [
    "name",
    "masterGroupCode",
    "bookingDate",
    "startDate",
    "endDate",
    "cutoffDays",
    "cutoffDate",
    "groupTypeCode",
    "pickupTypeCode",
    "marketSegmentCode",
    "rateCode",
  ],
  sought: ["clientCode", "propertyCode", "groupCode", "lastModifiedDateTime", "groupStatusCode"],
  notContent: ["lastModifiedDateTime", "correlationId"],
  slots: ["startDate", "endDate"],
  inner: {
    groupBlocks: {
      kind: "block",
      list: LIST.blocks,
      columns: [
        "occupancyDate",
        "roomTypeCode",
        "blocks",
        "pickup",
        "originalBlocks",
        "singlePersonRate",
        "twoPersonRate",
        "currencyCode",
      ],
      slots: ["blocks", "occupancyDate"],
    },
  },
};

/** What is noted of a record of each resource: the columns of `bellhop.inventory_facts` and so on, and what is judged. */
export const NOTED: Readonly<Record<Resource, NotedObject>> = {
  inventories: INVENTORY,
  reservations: RESERVATION,
  groups: GROUP,
};
