/** An inventory record with one room type and `roomsSold` of 40 rooms. */
export function inventory(createDateTime: string, roomsSold: number, occupancyDate = "2025-07-14") {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    createDateTime,
    occupancyDate,
    roomTypeInventories: [{ roomTypeCode: "DLX", roomTypeCapacity: 40, roomsSold }],
  };
}

/** A reservation as a partner sends it: two nights in a room of type DLX. */
export function reservation(reservationId: string, lastModifiedDateTime: string, status = "CONFIRMED") {
  return {
    clientCode: "ACME",
    propertyCode: "LON01",
    reservationId,
    lastModifiedDateTime,
    status,
    roomStays: [{ arrivalDate: "2025-07-14", departureDate: "2025-07-16", roomTypeCode: "DLX" }],
  };
}
