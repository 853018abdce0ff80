import { decimalFact, type Facts, integerFact, textFact, timeFact } from "./facts.ts";
import type { Reservation } from "./schema/reservation.ts";

/** The columns of `bellhop_state.reservation_version`: arrays have an entry a room stay, a rate or a daily revenue. */
export function reservationFacts(record: Reservation): Facts {
  const stays = record.roomStays;
  return {
    confirmation_number: textFact(record.confirmationNumber),
    booking_time: timeFact(record.bookingDateTime),
    cancellation_time: timeFact(record.cancellationDateTime),
    number_of_rooms: integerFact(record.numberOfRooms),
    multi_reservation_id: textFact(record.multiReservationId),
    share_id: textFact(record.shareId),
    channel: textFact(record.channel),
    nationality: textFact(record.nationality),
    arrival_date: stays.map((stay) => stay.arrivalDate),
    departure_date: stays.map((stay) => stay.departureDate),
    room_type_code: stays.map((stay) => stay.roomTypeCode),
    booked_room_type_code: stays.map((stay) => textFact(stay.bookedRoomTypeCode)),
    market_segment_code: stays.map((stay) => textFact(stay.marketSegmentCode)),
    group_block_code: stays.map((stay) => textFact(stay.groupBlockCode)),
    source_booking_code: stays.map((stay) => textFact(stay.sourceBookingCode)),
    rate_code: stays.map((stay) => textFact(stay.rateCode)),
    currency_code: stays.map((stay) => textFact(stay.currencyCode)),
    number_of_adults: stays.map((stay) => integerFact(stay.numberOfAdults)),
    number_of_children: stays.map((stay) => integerFact(stay.numberOfChildren)),
    ...rateFacts(record),
    ...revenueFacts(record),
  };
}

function rateFacts(record: Reservation): Facts {
  const rates = record.roomStays.flatMap((stay, stayIndex) =>
    (stay.rates ?? []).map((rate) => ({ stayIndex, rate })),
  );
  return {
    rate_stay_index: rates.map(({ stayIndex }) => stayIndex),
    rate_start_date: rates.map(({ rate }) => textFact(rate.startDate)),
    rate_end_date: rates.map(({ rate }) => textFact(rate.endDate)),
    rate_value: rates.map(({ rate }) => decimalFact(rate.rateValue)),
    gross_rate_value: rates.map(({ rate }) => decimalFact(rate.grossRateValue)),
  };
}

function revenueFacts(record: Reservation): Facts {
  const days = record.stayRevenue?.daily ?? [];
  return {
    revenue_date: days.map((day) => day.occupancyDate),
    net_room_revenue: days.map((day) => decimalFact(day.netRoomRevenue)),
    net_food_revenue: days.map((day) => decimalFact(day.netFoodRevenue)),
    net_beverage_revenue: days.map((day) => decimalFact(day.netBeverageRevenue)),
    net_other_revenue: days.map((day) => decimalFact(day.netOtherRevenue)),
    net_ticket_price: days.map((day) => decimalFact(day.netTicketPrice)),
    ticket_price: days.map((day) => decimalFact(day.ticketPrice)),
    net_total_revenue: days.map((day) => decimalFact(day.netTotalRevenue)),
    gross_total_revenue: days.map((day) => decimalFact(day.grossTotalRevenue)),
  };
}
