/** Apaleo: reservations and blocks (docs/mappings/apaleo.md). */
import { amount, hotel, push, readPayload, utc } from "./common.mjs";

export function reservationOf(from, { clientCode, propertyCode }) {
  const slices = from.timeSlices ?? [];
  return {
    clientCode,
    propertyCode,
    reservationId: from.id,
    multiReservationId: from.bookingId,
    confirmationNumber: from.externalCode,
    lastModifiedDateTime: utc(from.modified),
    bookingDateTime: utc(from.created),
    status: from.status,
    channel: from.channelCode,
    cancellationDateTime: from.cancellationTime && utc(from.cancellationTime),
    roomStays: stays(from, slices),
  };
}

/** One stay for each run of nights in one unit group. */
function stays(from, slices) {
  const runs = [];
  for (const slice of slices) {
    const run = runs.at(-1);
    if (run?.[0].unitGroup.code === slice.unitGroup.code) run.push(slice);
    else runs.push([slice]);
  }
  if (runs.length === 0) runs.push([]);
  return runs.map((run, at) => {
    const [first = { unitGroup: from.unitGroup }] = run;
    const next = runs[at + 1]?.[0];
    return {
      arrivalDate: first.serviceDate ?? dateOf(from.arrival),
      departureDate: next?.serviceDate ?? dateOf(from.departure),
      roomTypeCode: first.unitGroup.code,
      bookedRoomTypeCode: from.unitGroup.code,
      roomNumber: first.unit?.name,
      groupBlockCode: from.blockId,
      numberOfAdults: from.adults,
      numberOfChildren: from.childrenAges?.length ?? 0,
      rateCode: (first.ratePlan ?? from.ratePlan)?.code,
      currencyCode: first.baseAmount?.currency ?? from.totalGrossAmount.currency,
      rates: run.map(({ serviceDate, baseAmount }) => ({
        startDate: serviceDate,
        endDate: serviceDate,
        rateValue: amount(baseAmount.netAmount),
        grossRateValue: amount(baseAmount.grossAmount),
      })),
    };
  });
}

export function groupOf(block, { clientCode, propertyCode }) {
  return {
    clientCode,
    propertyCode,
    groupCode: block.id,
    name: block.group.name,
    lastModifiedDateTime: utc(block.modified),
    groupStatusCode: block.status,
    startDate: dateOf(block.from),
    endDate: dateOf(block.to),
    rateCode: block.ratePlan.code,
    groupBlocks: block.timeSlices.map(({ from, blockedUnits, pickedUnits }) => ({
      occupancyDate: dateOf(from),
      roomTypeCode: block.unitGroup.code,
      blocks: blockedUnits,
      pickup: pickedUnits,
    })),
  };
}

/** Times have the hotel's offset, so that their first ten characters are its date. */
const dateOf = (time) => time.slice(0, 10);

const { reservations, blocks } = await readPayload("apaleo.json");
await push(
  "groups",
  blocks.map((one) => groupOf(one, hotel)),
);
await push(
  "reservations",
  reservations.map((one) => reservationOf(one, hotel)),
);
