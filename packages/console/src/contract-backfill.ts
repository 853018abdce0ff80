/** Backfills (cold starts as sessions) under `/console/api`; `contract.ts` says what holds for all of it. */

import type { RequestCounts, Resource } from "./contract-batches.ts";

export type BackfillState = "open" | "closed" | "abandoned";

/** GET `backfills`, newest first. Answers Page<BackfillListItem>. */
export interface BackfillsQuery {
  readonly state?: BackfillState;
  readonly clientId?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface BackfillListItem {
  readonly backfillId: string;
  readonly clientId: string;
  readonly state: BackfillState;
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly note: string | null;
  readonly openedAt: string;
  readonly endedAt: string | null;
  readonly statementHash: string | null;
  readonly signatures: readonly BackfillSignature[];
}

export interface BackfillSignature {
  readonly side: "partner" | "operator";
  /** `client:<id>`, `cli:<user>` or `console:<operator>`. */
  readonly signedBy: string;
  readonly signedAt: string;
  readonly statementHash: string;
}

export interface BackfillResource {
  readonly resource: Resource;
  readonly from: string;
  readonly to: string;
  readonly expectedRecords: number | null;
  readonly batches: number;
  readonly counts: Omit<RequestCounts, "warned">;
  readonly distinctRecords: number;
  readonly missingRecords: number | null;
  /** Of inventories: dates of the manifest, and how many of them the property has a record of. */
  readonly datesNamed: number | null;
  readonly datesCovered: number | null;
}

/** GET `backfills/{backfillId}`. 404 `bellhop.console.NotFound`. */
export interface BackfillAnswer extends BackfillListItem {
  readonly resources: readonly BackfillResource[];
  readonly waitingBatches: number;
  readonly oldestWaitingAt: string | null;
  readonly lateBatches: number;
  readonly abandonedBy: string | null;
  readonly abandonedWhy: string | null;
  /** Of a closed one: whether what is in the log still gives the statement that was signed; null otherwise. */
  readonly reproduced: boolean | null;
}

/** GET `backfills/{backfillId}/gaps` (limit, cursor). Answers Page<BackfillGap>. */
export type BackfillGap =
  | {
      readonly kind: "records-short";
      readonly resource: Resource;
      readonly expected: number;
      readonly distinct: number;
      readonly missing: number;
    }
  | { readonly kind: "date-missing"; readonly resource: Resource; readonly date: string }
  | {
      readonly kind: "record-failed";
      readonly resource: Resource;
      readonly requestId: string;
      readonly index: number;
      readonly key: string | null;
      readonly outcome: "rejected" | "quarantined" | "discarded";
      readonly code: string | null;
      readonly message: string | null;
      readonly mended: boolean;
    };

/** POST `backfills/{backfillId}/sign`: the operator's signature below the statement of this hash. 409 where that cannot be. */
export interface SignBackfillRequest {
  readonly hash: string;
}

/** POST `backfills/{backfillId}/abandon`: ends an open one without a statement. 409 where it is not open. */
export interface AbandonBackfillRequest {
  readonly why: string;
}
