import type { Resource } from "#contract/resource.ts";

/** The property that every example is about. The sandbox client may push it, so that each can be sent as it stands. */
export const EXAMPLE_CLIENT = "DEMO";
export const EXAMPLE_PROPERTY = "LON01";

const inventory = {
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  createDateTime: "2026-06-01T04:00:00Z",
  occupancyDate: "2026-07-14",
  correlationId: "night-audit-2026-06-01",
  roomTypeInventories: [
    {
      roomTypeCode: "DLX",
      roomTypeCapacity: 40,
      roomsNotAvailableMaintenance: 1,
      roomsNotAvailableOther: 0,
      roomsSold: 31,
      transientSold: 22,
      groupSold: 9,
    },
    {
      roomTypeCode: "STD",
      roomTypeCapacity: 110,
      roomsNotAvailableMaintenance: 2,
      roomsNotAvailableOther: 0,
      roomsSold: 87,
      transientSold: 60,
      groupSold: 27,
    },
  ],
};

function revenueOf(occupancyDate: string) {
  return {
    occupancyDate,
    netRoomRevenue: "180.00",
    netFoodRevenue: "24.50",
    netBeverageRevenue: "0.00",
    netOtherRevenue: "0.00",
    netTotalRevenue: "204.50",
    grossTotalRevenue: "224.95",
  };
}

const reservation = {
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  lastModifiedDateTime: "2026-06-01T08:30:00Z",
  reservationId: "R-48213",
  confirmationNumber: "CNF-99231",
  status: "CONFIRMED",
  bookingDateTime: "2026-05-20T10:15:00Z",
  numberOfRooms: 1,
  cancellationDateTime: null,
  channel: "DIRECT",
  nationality: "FR",
  roomStays: [
    {
      arrivalDate: "2026-07-14",
      departureDate: "2026-07-16",
      roomTypeCode: "DLX",
      bookedRoomTypeCode: "STD",
      marketSegmentCode: "LEISURE",
      numberOfAdults: 2,
      numberOfChildren: 0,
      currencyCode: "GBP",
      rateCode: "BAR",
      rates: [
        { startDate: "2026-07-14", endDate: "2026-07-16", rateValue: "180.00", grossRateValue: "198.00" },
      ],
    },
  ],
  profiles: [{ id: "P-1001", name: "Example Travel", profileType: "TRAVEL_AGENT", context: null }],
  stayRevenue: { daily: [revenueOf("2026-07-14"), revenueOf("2026-07-15")] },
};

const group = {
  clientCode: EXAMPLE_CLIENT,
  propertyCode: EXAMPLE_PROPERTY,
  lastModifiedDateTime: "2026-06-01T09:00:00Z",
  groupCode: "CONF26",
  name: "Autumn conference",
  bookingDate: "2026-02-01",
  groupStatusCode: "DEFINITE",
  startDate: "2026-09-10",
  endDate: "2026-09-12",
  cutoffDays: 30,
  cutoffDate: "2026-08-11",
  groupTypeCode: "CORPORATE",
  marketSegmentCode: "GROUP",
  rateCode: "GRP",
  groupBlocks: ["2026-09-10", "2026-09-11"].map((occupancyDate) => ({
    occupancyDate,
    roomTypeCode: "DLX",
    blocks: 20,
    pickup: 8,
    originalBlocks: 25,
    singlePersonRate: "140.00",
    twoPersonRate: "160.00",
    currencyCode: "GBP",
  })),
};

/** One valid record of each resource, without a warning; a test checks them as the service checks a partner's. */
export const EXAMPLE_RECORDS: Readonly<Record<Resource, Readonly<Record<string, unknown>>>> = {
  inventories: inventory,
  reservations: reservation,
  groups: group,
};
