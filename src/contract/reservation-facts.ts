import {
  arrayField,
  dateElement,
  decimalElement,
  field,
  integerElement,
  rowText,
  textElement,
  textField,
  timeField,
} from "./facts-text.ts";
import type { Reservation, RoomStay } from "./schema/reservation.ts";

type Rate = NonNullable<RoomStay["rates"]>[number];

/** The text of a `bellhop.reservation_facts`: arrays have an entry a room stay, a rate or a daily revenue. */
export function reservationFacts(record: Reservation): string {
  const stays = record.roomStays;
  return rowText([
    textField(record.confirmationNumber),
    timeField(record.bookingDateTime),
    timeField(record.cancellationDateTime),
    field(integerElement(record.numberOfRooms)),
    textField(record.multiReservationId),
    textField(record.shareId),
    textField(record.channel),
    textField(record.nationality),
    arrayField(stays, (stay) => dateElement(stay.arrivalDate)),
    arrayField(stays, (stay) => dateElement(stay.departureDate)),
    arrayField(stays, (stay) => textElement(stay.roomTypeCode)),
    arrayField(stays, (stay) => textElement(stay.bookedRoomTypeCode)),
    arrayField(stays, (stay) => textElement(stay.marketSegmentCode)),
    arrayField(stays, (stay) => textElement(stay.groupBlockCode)),
    arrayField(stays, (stay) => textElement(stay.sourceBookingCode)),
    arrayField(stays, (stay) => textElement(stay.rateCode)),
    arrayField(stays, (stay) => textElement(stay.currencyCode)),
    arrayField(stays, (stay) => integerElement(stay.numberOfAdults)),
    arrayField(stays, (stay) => integerElement(stay.numberOfChildren)),
    ...rateFields(record),
    ...revenueFields(record),
  ]);
}

function rateFields(record: Reservation): string[] {
  const rates: Rate[] = [];
  const stayIndexes: number[] = [];
  record.roomStays.forEach((stay, stayIndex) => {
    for (const rate of stay.rates ?? []) {
      rates.push(rate);
      stayIndexes.push(stayIndex);
    }
  });
  return [
    arrayField(stayIndexes, String),
    arrayField(rates, (rate) => dateElement(rate.startDate)),
    arrayField(rates, (rate) => dateElement(rate.endDate)),
    arrayField(rates, (rate) => decimalElement(rate.rateValue)),
    arrayField(rates, (rate) => decimalElement(rate.grossRateValue)),
  ];
}

function revenueFields(record: Reservation): string[] {
  const days = record.stayRevenue?.daily ?? [];
  return [
    arrayField(days, (day) => dateElement(day.occupancyDate)),
    arrayField(days, (day) => decimalElement(day.netRoomRevenue)),
    arrayField(days, (day) => decimalElement(day.netFoodRevenue)),
    arrayField(days, (day) => decimalElement(day.netBeverageRevenue)),
    arrayField(days, (day) => decimalElement(day.netOtherRevenue)),
    arrayField(days, (day) => decimalElement(day.netTicketPrice)),
    arrayField(days, (day) => decimalElement(day.ticketPrice)),
    arrayField(days, (day) => decimalElement(day.netTotalRevenue)),
    arrayField(days, (day) => decimalElement(day.grossTotalRevenue)),
  ];
}
