import { hasNight, isLive, listOf, numberOf, revenueDates, type Stay, staysOf, textOf } from "../fields.ts";
import { latestOf, mistakesOf, pending, right, type SeenRecord, type Step } from "../step.ts";

/** Warnings about wrong counts of revenue or nights. */
const RESERVATION_MISTAKES: ReadonlySet<string> = new Set([
  "reservation.revenue-total",
  "reservation.revenue-summary",
  "reservation.outside-stay",
  "status.unmapped",
  "count.negative",
]);

/** Missing fields that a revenue manager needs. */
function lackingOf(record: SeenRecord): string[] {
  const { fields } = record;
  const [stay = {}] = listOf(fields, "roomStays");
  const days = [...revenueDates(record)];
  const stays = staysOf(record);
  const hasRevenue = (one: Stay) => days.filter((date) => hasNight(one, date)).length === one.nights;
  const present = {
    bookingDateTime: textOf(fields, "bookingDateTime") !== undefined,
    numberOfRooms: numberOf(fields, "numberOfRooms") !== undefined,
    channel: textOf(fields, "channel") !== undefined,
    "a stay of a night or more": stays.some(({ nights }) => nights > 0),
    "roomStays/0/marketSegmentCode": textOf(stay, "marketSegmentCode") !== undefined,
    "roomStays/0/rateCode": textOf(stay, "rateCode") !== undefined,
    "roomStays/0/numberOfAdults": numberOf(stay, "numberOfAdults") !== undefined,
    "stayRevenue/daily of every night": stays.every(hasRevenue),
  };
  return Object.entries(present).flatMap(([name, isThere]) => (isThere ? [] : name));
}

export const reservation: Step = {
  name: "reservation",
  title: "A complete reservation",
  docs: "guides/reservations#what-to-send-and-when",
  instruction: ({ clientCode, propertyCode }) =>
    `Book two or more nights in ${clientCode}/${propertyCode} and send the reservation with bookingDateTime, numberOfRooms, channel, a room stay with marketSegmentCode, rateCode and numberOfAdults, and stayRevenue.daily with each night once and its total the sum of its parts. No reservation may have a warning about a date, a total or its status.`,
  notYet: "No reservation that counts on the books has been received.",
  find(evidence) {
    const latest = latestOf(evidence, "reservations");
    const live = latest.filter(isLive).map((record) => ({ ...record, lacking: lackingOf(record) }));
    const [nearest] = live.toSorted((left, right) => left.lacking.length - right.lacking.length);
    const whole = live.filter(({ lacking }) => lacking.length === 0);
    return [
      ...(nearest === undefined
        ? []
        : [pending(`The most complete reservation, ${nearest.key}, lacks ${nearest.lacking.join(", ")}.`)]),
      ...mistakesOf(latest, RESERVATION_MISTAKES),
      ...whole.map(({ key, requestId }) =>
        right(`${key} has its stay, rate, segment, channel and the revenue of every night.`, requestId),
      ),
    ];
  },
};
