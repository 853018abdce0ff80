import type { Backfill } from "./backfill.ts";
import type { Progress } from "./progress.ts";

/** A backfill in a list. */
export function backfillItem({ backfillId, manifest, state, openedAt, endedAt, statementHash }: Backfill) {
  const { clientCode, propertyCode, note } = manifest;
  return { backfillId, state, clientCode, propertyCode, note, openedAt, endedAt, statementHash };
}

/** A backfill with how far it has come, as partners and operators are told of it. */
export function backfillAnswer({
  backfill,
  resources,
  waitingBatches,
  oldestWaitingAt,
  lateBatches,
}: Progress) {
  return {
    ...backfillItem(backfill),
    resources: resources.map(({ lastRequestId: _, requestsHash: __, ...told }) => told),
    waitingBatches,
    oldestWaitingAt,
    lateBatches,
    signatures: backfill.signatures,
  };
}
