import type { Evidence } from "../evidence.ts";
import { textOf } from "../fields.ts";
import { historiesOf, type KeyHistory } from "../history.ts";
import { isCancelled, isLive } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

function findingOf({ versions, latest }: KeyHistory): Finding[] {
  const { key, requestId, fields } = latest;
  const cancelledAt = textOf(fields, "cancellationDateTime");
  if (!isCancelled(latest)) {
    if (cancelledAt === undefined) return [];
    return [
      wrong(
        `${key} has a cancellationDateTime, and its status ${JSON.stringify(textOf(fields, "status"))} still holds the room. Send the status of a cancellation with it.`,
        requestId,
      ),
    ];
  }
  if (cancelledAt === undefined)
    return [
      wrong(
        `${key} is cancelled and has no cancellationDateTime: when it was given back cannot be told.`,
        requestId,
      ),
    ];
  const booked = versions.find(isLive);
  // Booked before the certification, or in another system: it shows nothing of how a cancellation comes.
  if (booked === undefined) return [];
  return [right(`${key} was booked, and cancelled at ${cancelledAt}.`, booked.requestId, requestId)];
}

function findingsOf(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOf);
}

export const cancellation: Step = {
  name: "cancellation",
  title: "A cancelled reservation",
  instruction: () =>
    "Book a reservation, then cancel it: the same reservationId with its room stays, status CANCELLED (or a spelling of it that the default mapping knows, or your own word once your operator has mapped it as holding nothing), cancellationDateTime and, if there is one, cancellationReason. A cancelled reservation is sent, never left out.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No reservation that was sent as booked has come again as cancelled."),
};
