import type { Evidence } from "../evidence.ts";
import { historiesOf } from "../history.ts";
import { isLive, revenueDates, staysOf } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

function findingsOf(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(({ latest }) => {
    const day = staysOf(latest).find(({ arrival, departure }) => arrival === departure)?.arrival;
    if (day === undefined || !isLive(latest)) return [];
    const { key, requestId } = latest;
    if (!revenueDates(latest).has(day))
      return wrong(
        `${key} is a day use of ${day} whose stayRevenue.daily has no entry of that date: its revenue is lost. A day use has no night, and its revenue on its day.`,
        requestId,
      );
    return right(`${key} is a day use of ${day} with its revenue.`, requestId);
  });
}

export const dayUse: Step = {
  name: "day-use",
  title: "A day use",
  instruction: () =>
    "Book a room for a day, without a night: departureDate is the arrivalDate, and stayRevenue.daily has one entry, of that date.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No reservation that departs on the day of its arrival has been seen."),
};
