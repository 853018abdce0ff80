/** A record of the contract that tests can change freely. */
// biome-ignore lint/suspicious/noExplicitAny: tests reach into records and break them on purpose.
export type LooseRecord = Record<string, any>;

/** A valid inventory record of ACME's property LON01; `changes` replace fields, an undefined one removes its field. */
export function inventoryRecord(changes: LooseRecord = {}): LooseRecord {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    createDateTime: "2026-03-01T10:00:00Z",
    occupancyDate: "2026-03-10",
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold: 31 }],
    ...changes,
  };
}

/** A valid reservation of ACME's property LON01. */
export function reservationRecord(changes: LooseRecord = {}): LooseRecord {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    lastModifiedDateTime: "2026-03-01T10:00:00Z",
    reservationId: "R-1",
    status: "RESERVED",
    roomStays: [{ arrivalDate: "2026-03-10", departureDate: "2026-03-12", roomTypeCode: "DLX" }],
    ...changes,
  };
}

/** A valid group block master of ACME's property LON01. */
export function groupRecord(changes: LooseRecord = {}): LooseRecord {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    lastModifiedDateTime: "2026-03-01T10:00:00Z",
    groupCode: "G-1",
    groupStatusCode: "DEFINITE",
    startDate: "2026-03-10",
    endDate: "2026-03-12",
    groupBlocks: [{ occupancyDate: "2026-03-10", roomTypeCode: "DLX", blocks: 10 }],
    ...changes,
  };
}
