import {
  arrayFields,
  dateElement,
  decimalElement,
  field,
  integerElement,
  rowText,
  textElement,
  textField,
  timeField,
} from "./facts-text.ts";
import type { DailyRevenue, Reservation, RoomStay } from "./schema/reservation.ts";

interface RateOfStay {
  readonly stayIndex: number;
  readonly rate: NonNullable<RoomStay["rates"]>[number];
}

/** The columns of `bellhop.reservation_facts` with an entry a room stay, in their order. */
const OF_STAY = [
  (stay: RoomStay) => dateElement(stay.arrivalDate),
  (stay: RoomStay) => dateElement(stay.departureDate),
  (stay: RoomStay) => textElement(stay.roomTypeCode),
  (stay: RoomStay) => textElement(stay.bookedRoomTypeCode),
  (stay: RoomStay) => textElement(stay.marketSegmentCode),
  (stay: RoomStay) => textElement(stay.groupBlockCode),
  (stay: RoomStay) => textElement(stay.sourceBookingCode),
  (stay: RoomStay) => textElement(stay.rateCode),
  (stay: RoomStay) => textElement(stay.currencyCode),
  (stay: RoomStay) => integerElement(stay.numberOfAdults),
  (stay: RoomStay) => integerElement(stay.numberOfChildren),
];
/** With an entry a rate of any stay. */
const OF_RATE = [
  ({ stayIndex }: RateOfStay) => String(stayIndex),
  ({ rate }: RateOfStay) => dateElement(rate.startDate),
  ({ rate }: RateOfStay) => dateElement(rate.endDate),
  ({ rate }: RateOfStay) => decimalElement(rate.rateValue),
  ({ rate }: RateOfStay) => decimalElement(rate.grossRateValue),
];
/** With an entry a daily revenue. */
const OF_DAY = [
  (day: DailyRevenue) => dateElement(day.occupancyDate),
  (day: DailyRevenue) => decimalElement(day.netRoomRevenue),
  (day: DailyRevenue) => decimalElement(day.netFoodRevenue),
  (day: DailyRevenue) => decimalElement(day.netBeverageRevenue),
  (day: DailyRevenue) => decimalElement(day.netOtherRevenue),
  (day: DailyRevenue) => decimalElement(day.netTicketPrice),
  (day: DailyRevenue) => decimalElement(day.ticketPrice),
  (day: DailyRevenue) => decimalElement(day.netTotalRevenue),
  (day: DailyRevenue) => decimalElement(day.grossTotalRevenue),
];

function ratesOf(record: Reservation): RateOfStay[] {
  const rates: RateOfStay[] = [];
  record.roomStays.forEach((stay, stayIndex) => {
    for (const rate of stay.rates ?? []) rates.push({ stayIndex, rate });
  });
  return rates;
}

/** The text of a `bellhop.reservation_facts`. */
export function reservationFacts(record: Reservation): string {
  return rowText([
    textField(record.confirmationNumber),
    timeField(record.bookingDateTime),
    timeField(record.cancellationDateTime),
    field(integerElement(record.numberOfRooms)),
    textField(record.multiReservationId),
    textField(record.shareId),
    textField(record.channel),
    textField(record.nationality),
    ...arrayFields(record.roomStays, OF_STAY),
    ...arrayFields(ratesOf(record), OF_RATE),
    ...arrayFields(record.stayRevenue?.daily ?? [], OF_DAY),
  ]);
}
