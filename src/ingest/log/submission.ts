import type { ErrorDetail } from "../../platform/errors/registry.ts";
import type { RecordSlice } from "./body-layout.ts";

/** A valid record of a submission: its range in `body` and its property. */
export interface SubmittedRecord extends RecordSlice {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** An invalid record of a lenient batch, stored verbatim with its first violations (at most 10) and their number. */
export interface RejectedRecord extends RecordSlice {
  /** Its property, if it names one. */
  readonly clientCode?: string | undefined;
  readonly propertyCode?: string | undefined;
  readonly violations: readonly ErrorDetail[];
  readonly violationTotal: number;
}

/** A validated batch. `body` is the decompressed JSON. */
export interface Submission {
  readonly clientId: string;
  readonly resource: "i" | "r" | "g";
  readonly body: Buffer;
  /** At least one, ascending by index. */
  readonly records: readonly SubmittedRecord[];
  readonly rejected: readonly RejectedRecord[];
  readonly lenient: boolean;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  readonly backfillId?: string | null;
  /** Packed trace context (src/platform/telemetry/telemetry.ts), if traced. */
  readonly traceContext?: string | undefined;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /** Called with the packed size once `body` is no longer needed, before the batch is written. May throw to refuse the batch. */
  readonly packed?: (bytes: number) => void;
}

/** An operator's decision on a quarantined record. A log entry, so that a replay repeats it. */
export interface Resolution {
  readonly kind: "release" | "discard";
  readonly operator: string;
  readonly bucket: number;
  readonly resource: "i" | "r" | "g";
  readonly requestId: string;
  readonly index: number;
}
