import type { Evidence } from "../evidence.ts";
import { historiesOf, type KeyHistory } from "../history.ts";
import { staysOf } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

/** Adults of the three versions in the order in which they are to arrive: the second comes last. */
const ADULTS_AS_SENT = "1,3,2";

/** The three versions came in the order that was asked for, and the late one had a time of its own sending. */
function isStampedAnew({ versions }: KeyHistory): boolean {
  const last = versions.slice(-3);
  const adults = last.map((version) => staysOf(version)[0]?.adults).join(",");
  const [, third, second] = last;
  return (
    adults === ADULTS_AS_SENT &&
    third !== undefined &&
    second !== undefined &&
    second.outcome === "applied" &&
    second.sourceTime >= third.sourceTime
  );
}

function findingOf(history: KeyHistory): Finding[] {
  const { versions, latest } = history;
  if (isStampedAnew(history)) {
    const [, third, second] = versions.slice(-3);
    return [
      wrong(
        `${latest.key}: the change to 2 adults was made before the one to 3, came after it, and said it was the newer one (${second?.sourceTime}), so 2 adults are what counts now. lastModifiedDateTime is when the change was made in your system, not when it is sent.`,
        ...[third?.requestId, second?.requestId].filter((id) => id !== undefined),
      ),
    ];
  }
  const late = versions.findLast(({ outcome }) => outcome === "stale");
  if (late === undefined) return [];
  return [
    right(
      `${late.key}: the version of ${late.sourceTime} came late and is kept in the history; the one of ${latest.sourceTime} stayed current.`,
      late.requestId,
      latest.requestId,
    ),
  ];
}

function findingsOf(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOf);
}

/** Contract, "Records": the newest source time wins, in whatever order records arrive. */
export const outOfOrder: Step = {
  name: "out-of-order",
  title: "A change that arrives late",
  instruction: () =>
    "Book a reservation with 1 adult, change it to 2, then to 3 (roomStays/0/numberOfAdults). Send the first version, then the third, then the second, as if it had been held up, each with the lastModifiedDateTime of its own change.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No older version of a reservation has come after a newer one."),
};
