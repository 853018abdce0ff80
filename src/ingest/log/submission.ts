/** One record of a submission that is to be accepted or kept as rejected: where it lies in `body`, and whose it is. */
export interface SubmittedRecord {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** A record refused in a lenient batch: kept as sent, with its first violations (at most 10) and how many there were. */
export interface RejectedRecord {
  readonly index: number;
  readonly start: number;
  readonly end: number;
  readonly violations: readonly {
    readonly pointer: string;
    readonly code: string;
    readonly message: string;
  }[];
  readonly violationTotal: number;
}

/** A checked batch, ready to be written. `body` is the decompressed JSON as received. */
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
  /** The backfill that the batch belongs to. */
  readonly backfillId?: string | null;
  /** The span that it is accepted in, packed (src/platform/telemetry/telemetry.ts), where it is traced. */
  readonly traceContext?: string | undefined;
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null;
  /**
   * Called when nothing refers to `body` any more, before the batch is written, with the bytes that were made of it and wait
   * for that. What it throws refuses the batch.
   */
  readonly packed?: (bytes: number) => void;
}

/** An operator's word on a quarantined record, itself an entry of the log so that a replay takes the same decisions. */
export interface Resolution {
  readonly kind: "release" | "discard";
  readonly operator: string;
  readonly bucket: number;
  readonly resource: "i" | "r" | "g";
  readonly requestId: string;
  readonly index: number;
}

/** The answer to a submission: a new request id, or the first answer again to a repeated Idempotency-Key. */
export interface Acceptance {
  readonly requestId: string;
  readonly repeated: boolean;
  /** When the flush that wrote it began, by the clock of the log. */
  readonly flushedAt: number;
}
