import { setTimeout as delay } from "node:timers/promises";
import type { Batch } from "./batch-source.ts";
import type { Load } from "./campaign.ts";

/** A client's patience with one attempt; its batch has a key, so that it can be sent again. */
const ATTEMPT_MS_MAX = 2_000;
const PAUSE_MS = 50;

/** Sends a batch to one node, past every balancer, until it is answered 202. Throws when that takes longer. */
export async function untilServes(
  address: string,
  { ledger, token }: Pick<Load, "ledger" | "token">,
  batch: Batch,
  waitMsMax: number,
): Promise<void> {
  const keyed = { ...batch, idempotencyKey: batch.idempotencyKey ?? `key-${batch.number}` };
  const until = performance.now() + waitMsMax;
  while (performance.now() < until) {
    const sent = ledger.sending(keyed);
    const sentAt = performance.now();
    try {
      const response = await fetch(`${address}/api/public/v1/${keyed.resource}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          "idempotency-key": keyed.idempotencyKey,
        },
        body: `[${keyed.records.join(",")}]`,
        signal: AbortSignal.timeout(ATTEMPT_MS_MAX),
      });
      const text = await response.text();
      if (response.status === 202) {
        const { requestId } = JSON.parse(text) as { requestId: string };
        ledger.accepted(sent, { requestId, sentAt, answeredAt: performance.now() });
        return;
      }
      if (response.status !== 503) ledger.problems.push(`batch ${batch.number}: ${response.status} ${text}`);
    } catch {
      // No answer: asked again.
    }
    sent.unanswered += 1;
    await delay(PAUSE_MS);
  }
  throw new Error(`${address} has not answered 202 within ${waitMsMax} ms.`);
}
