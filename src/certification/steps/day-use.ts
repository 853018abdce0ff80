import { isLive, revenueDates, staysOf } from "../fields.ts";
import { type Finding, latestOf, right, type SeenRecord, type Step, wrong } from "../step.ts";

function findingOfDayUse(record: SeenRecord): Finding[] {
  const { key, requestId } = record;
  const day = staysOf(record).find(({ arrival, departure }) => arrival === departure)?.arrival;
  if (day === undefined || !isLive(record)) return [];
  const reason = `${key} is a day use on ${day} without an entry of that date in stayRevenue.daily, so its revenue is lost. Send the revenue of a day use on its date.`;
  if (!revenueDates(record).has(day)) return [wrong(reason, requestId)];
  return [right(`${key} is a day use of ${day} with its revenue.`, requestId)];
}

export const dayUse: Step = {
  name: "day-use",
  title: "Day use",
  docs: "guides/cancellations#day-use",
  instruction: () =>
    "Book a room for a day without a night: departureDate equals arrivalDate, and stayRevenue.daily has one entry, of that date.",
  notYet: "No reservation that departs on its arrival date has been received.",
  find: (evidence) => latestOf(evidence, "reservations").flatMap(findingOfDayUse),
};
