// Types only, from modules without Node: the console compiles them for the browser.
import type { Resource } from "#contract/resource.ts";
import type {
  Backfill,
  BackfillItem,
  BackfillResourceProgress,
  BackfillSignature,
} from "../console/api-types.ts";
import type { OfClient } from "../identity/console-answers.ts";

export type { BackfillResourceProgress as BackfillResource, BackfillSignature };

export interface BackfillListItem extends BackfillItem, OfClient {
  readonly signatures: readonly BackfillSignature[];
}

export interface BackfillAnswer extends Backfill, OfClient {
  readonly abandonedBy: string | null;
  readonly abandonedWhy: string | null;
  /**
   * For a closed one: whether the log reproduces the signed statement; null without a statement, or if retention may account for a
   * difference.
   */
  readonly reproduced: boolean | null;
}

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
