import { type Evidence, type Finding, right, type SeenRecord, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** Batches whose records are all duplicates: sent again under another key or none. */
function findResent({ records }: Evidence): Finding[] {
  const firsts = new Map<string, SeenRecord>();
  for (const record of records) if (!firsts.has(record.digest)) firsts.set(record.digest, record);
  const requests = Map.groupBy(records, ({ requestId }) => requestId);
  return [...requests].flatMap(([requestId, batch]) => {
    const first = firsts.get(batch[0]?.digest ?? "")?.requestId;
    const isAnew = batch.every(({ outcome }) => outcome === "duplicate") && first !== requestId;
    if (first === undefined || !isAnew) return [];
    const reason = `The batch ${requestId} repeats the batch ${first} under another Idempotency-Key or none, so it was stored twice. A retry must have the key and the bytes of the first attempt.`;
    return wrong(reason, first, requestId);
  });
}

/** Contract, "Headers and bodies": the same client, key and body within 24 hours returns the first response. */
export const retry: Step = {
  name: "retry",
  title: "A batch sent again under its key",
  docs: "guides/retries#idempotency-key",
  instruction: () =>
    "Send a batch with an Idempotency-Key and, as if the response had been lost, send it again: the same key, the same bytes. Both responses contain the same requestId.",
  notYet: "No batch has been repeated under its Idempotency-Key.",
  find(evidence) {
    const reused = eventsOf(evidence.events, "refused").filter(
      ({ code }) => code === "bellhop.accept.IdempotencyKeyReused",
    );
    return [
      ...findResent(evidence),
      ...reused.map(({ at, resource }) => {
        const reason = `At ${at} a batch of ${resource} had the Idempotency-Key of another one and was refused (422). Create a new key for each batch.`;
        return wrong(reason);
      }),
      ...eventsOf(evidence.events, "repeated").map(({ at, requestId }) =>
        right(`The batch ${requestId} was sent again at ${at} under its key and stored once.`, requestId),
      ),
    ];
  },
};
