import { isCancelled, isLive, textOf } from "../fields.ts";
import { type Finding, historiesOf, type KeyHistory, right, type Step, wrong } from "../step.ts";

function findingOfCancellation({ versions, latest }: KeyHistory): Finding[] {
  const { key, requestId, fields } = latest;
  const cancelledAt = textOf(fields, "cancellationDateTime");
  const status = JSON.stringify(textOf(fields, "status"));
  if (!isCancelled(latest)) {
    const reason = `${key} has a cancellationDateTime, but its status ${status} still counts on the books. Send a cancelled status with it.`;
    return cancelledAt === undefined ? [] : [wrong(reason, requestId)];
  }
  if (cancelledAt === undefined) {
    const reason = `${key} is cancelled and has no cancellationDateTime, so the time of the cancellation is unknown.`;
    return [wrong(reason, requestId)];
  }
  // Without a live version it was booked before the certification or in another system, which proves nothing.
  const booked = versions.find(isLive);
  const reason = `${key} was booked, and cancelled at ${cancelledAt}.`;
  return booked === undefined ? [] : [right(reason, booked.requestId, requestId)];
}

export const cancellation: Step = {
  name: "cancellation",
  title: "A cancelled reservation",
  docs: "guides/cancellations#what-to-send",
  instruction: () =>
    "Book a reservation, then cancel it: the same reservationId with its room stays, status CANCELLED (or another spelling of the default mapping, or your own status once your operator has mapped it as not on the books), cancellationDateTime and, if known, cancellationReason. Always send cancelled reservations; never omit them.",
  notYet: "No booked reservation has been sent again as cancelled.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfCancellation),
};
