import { isCancelled } from "../fields.ts";
import { type Finding, historiesOf, type KeyHistory, right, type Step, wrong } from "../step.ts";

/** Evaluates the last change of one reservation that is not a cancellation. */
function findingOfModification({ versions }: KeyHistory): Finding[] {
  const at = versions.findLastIndex(
    (version, place) => place > 0 && version.outcome === "applied" && !isCancelled(version),
  );
  const [before, version] = [versions[at - 1], versions[at]];
  if (before === undefined || version === undefined) return [];
  const requests = [before.requestId, version.requestId];
  const { key, sourceTime } = version;
  const clash = `${key} was sent with different content but the same lastModifiedDateTime ${sourceTime}, so the newer version is undefined. Every change must have a newer lastModifiedDateTime.`;
  if (sourceTime === before.sourceTime) return [wrong(clash, ...requests)];
  return [right(`${key} was sent again as a whole, modified at ${sourceTime}.`, ...requests)];
}

/** Contract, "Records": a newer record replaces the older as a whole; the newest source time wins. */
export const modification: Step = {
  name: "modification",
  title: "A modified reservation",
  docs: "contract#identity-and-order",
  instruction: () =>
    "Change a reservation that you have sent (such as its nights or room type) and send the whole record again, with the same reservationId and a newer lastModifiedDateTime.",
  notYet: "No reservation has been sent again with changed content.",
  find: (evidence) => historiesOf(evidence, "reservations").flatMap(findingOfModification),
};
