import type { Evidence, SeenRecord } from "../evidence.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-event.ts";

/** Batches all of whose records had come before: sent again under another key or none. */
function sentAnew({ records }: Evidence): Finding[] {
  const firsts = new Map<string, SeenRecord>();
  for (const record of records) if (!firsts.has(record.digest)) firsts.set(record.digest, record);
  const requests = Map.groupBy(records, ({ requestId }) => requestId);
  return [...requests].flatMap(([requestId, batch]) => {
    const [record] = batch;
    if (record === undefined || !batch.every(({ outcome }) => outcome === "duplicate")) return [];
    const first = firsts.get(record.digest)?.requestId;
    if (first === undefined || first === requestId) return [];
    return wrong(
      `The batch ${requestId} is the batch ${first} again, under another Idempotency-Key or none: it was stored a second time. A retry carries the key and the bytes of the first attempt.`,
      first,
      requestId,
    );
  });
}

function findingsOf(evidence: Evidence): Finding[] {
  const { events } = evidence;
  const reused = eventsOf(events, "refused").filter(
    ({ code }) => code === "bellhop.accept.IdempotencyKeyReused",
  );
  return [
    ...sentAnew(evidence),
    ...reused.map(({ at, resource }) =>
      wrong(
        `At ${at} a batch of ${resource} came under the Idempotency-Key of another one and was refused (422). A key belongs to one batch: make a new one for each.`,
      ),
    ),
    ...eventsOf(events, "repeated").map(({ at, requestId }) =>
      right(`The batch ${requestId} came again at ${at} under its key, and was stored once.`, requestId),
    ),
  ];
}

/** Contract, "Headers and bodies": same client, key and body within 24 hours gives the first answer again. */
export const retry: Step = {
  name: "retry",
  title: "A batch sent again under its key",
  instruction: () =>
    "Send a batch with an Idempotency-Key and, as if the answer had been lost, send it again: the same key, the same bytes. Both answers name the same requestId.",
  judge: (evidence) =>
    judgementOf(findingsOf(evidence), "No batch has come a second time under its Idempotency-Key."),
};
