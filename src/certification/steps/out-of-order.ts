import { staysOf } from "../fields.ts";
import { type Finding, historiesOf, type KeyHistory, right, type Step, wrong } from "../step.ts";

/** Adults of the three versions in the required order of arrival: the second arrives last. */
const ADULTS_AS_SENT = "1,3,2";

function findingOfOutOfOrder({ versions, latest: { key, sourceTime, requestId } }: KeyHistory): Finding[] {
  const last = versions.slice(-3);
  const [, third, second] = last;
  const adults = last.map((version) => staysOf(version)[0]?.adults).join(",");
  // They arrived in the required order, and the late one has its own source time.
  if (
    adults === ADULTS_AS_SENT &&
    third !== undefined &&
    second?.outcome === "applied" &&
    second.sourceTime >= third.sourceTime
  ) {
    const reason = `${key}: the change to 2 adults was made before the change to 3 but arrived after it with a newer time (${second.sourceTime}), so 2 adults are current. Set lastModifiedDateTime to the time of the change in your system, not of sending.`;
    return [wrong(reason, third.requestId, second.requestId)];
  }
  const late = versions.findLast(({ outcome }) => outcome === "stale");
  const reason = `${key}: the version of ${late?.sourceTime} arrived late and is kept in the history; the version of ${sourceTime} is current.`;
  return late === undefined ? [] : [right(reason, late.requestId, requestId)];
}

/** Contract, "Records": the newest source time wins, in any order of arrival. */
export const outOfOrder: Step = {
  name: "out-of-order",
  title: "A change that arrives late",
  docs: "contract#identity-and-order",
  instruction: () =>
    "Book a reservation with 1 adult, change it to 2, then to 3 (roomStays/0/numberOfAdults). Send the first version, then the third, then the second, as if it had been delayed, each with the lastModifiedDateTime of its own change.",
  notYet: "No older version of a reservation has arrived after a newer one.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfOutOfOrder),
};
