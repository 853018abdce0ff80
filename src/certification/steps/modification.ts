import type { Evidence } from "../evidence.ts";
import { historiesOf, type KeyHistory } from "../history.ts";
import { isCancelled } from "../reservation.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";

/** The last change of one reservation that is no cancellation. */
function findingOf({ versions }: KeyHistory): Finding[] {
  const changes = versions.flatMap((version, at) => {
    const before = versions[at - 1];
    const isChange = before !== undefined && version.outcome === "applied" && !isCancelled(version);
    return isChange ? [{ before, version }] : [];
  });
  const last = changes.at(-1);
  if (last === undefined) return [];
  const { before, version } = last;
  const requests = [before.requestId, version.requestId];
  if (version.sourceTime === before.sourceTime)
    return [
      wrong(
        `${version.key} came with other content and the same lastModifiedDateTime ${version.sourceTime}: which of the two is the newer one is left to chance. Every change moves lastModifiedDateTime on.`,
        ...requests,
      ),
    ];
  return [right(`${version.key} was sent whole again, modified at ${version.sourceTime}.`, ...requests)];
}

function findingsOf(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "reservations").flatMap(findingOf);
}

/** Contract, "Records": a newer record replaces the older whole, and the newest source time wins. */
export const modification: Step = {
  name: "modification",
  title: "A modified reservation",
  instruction: () =>
    "Change a reservation that you have sent (a night more, another room type) and send it again: the same reservationId, the whole record, a newer lastModifiedDateTime.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No reservation has been sent a second time with other content."),
};
