/** Mews: reservations with their order items (docs/mappings/mews.md). */
import { amount, dateAt, hotel, push, readPayload } from "./common.mjs";

/** Words of the default status mapping. Other states are sent as they are, and your operator maps them. */
const STATUSES = { Started: "IN_HOUSE", Processed: "CHECKED_OUT" };

export function reservationOf(from, of, { clientCode, propertyCode, timeZone }) {
  const isNoShow = from.State === "Canceled" && from.CancellationReason === "NoShow";
  const nights = of.OrderItems.filter(
    ({ ServiceOrderId, Type, AccountingState }) =>
      ServiceOrderId === from.Id && Type === "SpaceOrder" && AccountingState !== "Canceled",
  );
  const persons = (classification) =>
    from.PersonCounts.filter(({ AgeCategoryId }) =>
      of.AgeCategories.some(
        ({ Id, Classification }) => Id === AgeCategoryId && Classification === classification,
      ),
    ).reduce((sum, { Count }) => sum + Count, 0);
  return {
    clientCode,
    propertyCode,
    reservationId: from.Id,
    confirmationNumber: from.Number,
    multiReservationId: from.GroupId,
    lastModifiedDateTime: from.UpdatedUtc,
    bookingDateTime: from.CreatedUtc,
    status: isNoShow ? "NO_SHOW" : (STATUSES[from.State] ?? from.State),
    channel: from.Origin,
    cancellationDateTime: from.CancelledUtc,
    cancellationReason: from.CancellationReason,
    roomStays: [
      {
        arrivalDate: dateAt(timeZone, from.ScheduledStartUtc),
        departureDate: dateAt(timeZone, from.ScheduledEndUtc),
        roomTypeCode: categoryOf(from, of),
        bookedRoomTypeCode: from.RequestedResourceCategoryId,
        roomNumber: of.Resources.find(({ Id }) => Id === from.AssignedResourceId)?.Name,
        groupBlockCode: from.AvailabilityBlockId ?? undefined,
        marketSegmentCode: from.BusinessSegmentId ?? undefined,
        rateCode: from.RateId,
        numberOfAdults: persons("Adult"),
        numberOfChildren: persons("Child"),
        currencyCode: nights[0]?.Amount.Currency,
        rates: nights.map(({ StartUtc, ConsumedUtc, Amount }) => {
          const night = dateAt(timeZone, StartUtc ?? ConsumedUtc);
          return {
            startDate: night,
            endDate: night,
            rateValue: amount(Amount.NetValue),
            grossRateValue: amount(Amount.GrossValue),
          };
        }),
      },
    ],
  };
}

/** The category of the assigned room, or the requested one. */
function categoryOf({ AssignedResourceId, RequestedResourceCategoryId }, { ResourceCategoryAssignments }) {
  const assigned = ResourceCategoryAssignments.find(({ ResourceId }) => ResourceId === AssignedResourceId);
  return assigned?.CategoryId ?? RequestedResourceCategoryId;
}

const payload = await readPayload("mews.json");
await push(
  "reservations",
  payload.Reservations.map((one) => reservationOf(one, payload, hotel)),
);
