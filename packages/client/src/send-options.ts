import { readWhole } from "./options.ts";
import type { RefusedRecord, SendProgress } from "./report.ts";

/**
 * What has been accepted, by Idempotency-Key, kept over the end of a process (`bellhop send` keeps it in a file). Without one a repeated
 * `send` is safe all the same: the service gives the first answer again for 24 hours, and after that calls every record a duplicate.
 */
export interface SendJournal {
  /** The request under which a batch was accepted already; it is not sent again. */
  find(idempotencyKey: string): string | undefined;
  /** Called once a batch is accepted, before anything else is told of it. */
  note(idempotencyKey: string, requestId: string): void | Promise<void>;
}

/** How records are sent; everything may be left out. */
export interface SendOptions {
  /** Records of one batch, 1 to 10,000; 500. */
  readonly batchRecords?: number | undefined;
  /** Bytes of one batch before compression, 1 kB to 64 MiB; 4 MiB. */
  readonly batchBytes?: number | undefined;
  /** Requests under way at once; the client's. With 1, batches arrive in the order of the records. */
  readonly concurrency?: number | undefined;
  /** Waits until every record has its outcome, and sums them up. */
  readonly waitForOutcomes?: boolean | undefined;
  /**
   * How long that may take for one batch before its records count as `pending`, in milliseconds; 10 minutes. They do, too, where
   * the service answers 500 to the question whatever happens.
   */
  readonly outcomesWithinMs?: number | undefined;
  /**
   * `Prefer: handling=lenient`: an invalid record is kept with its batch and reported as rejected, also to the operator. Without
   * it the invalid ones are set aside here, and the others of their batch are sent without them. Implies `waitForOutcomes`.
   */
  readonly lenient?: boolean | undefined;
  /** Sent with every batch as `X-Correlation-Id`. */
  readonly correlationId?: string | undefined;
  /** Other headers of every batch, such as `Backfill-Id`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly journal?: SendJournal | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told after every batch, and when it has to wait. */
  readonly onProgress?: ((progress: SendProgress) => void) | undefined;
  /** Told of every record that is refused or held aside, as soon as that is known. */
  readonly onRefused?: ((refused: RefusedRecord) => void) | undefined;
  /** Told of every batch that is accepted. */
  readonly onAccepted?: ((batch: AcceptedBatch) => void) | undefined;
}

/** A batch of which the service has said 202. */
export interface AcceptedBatch {
  readonly requestId: string;
  readonly idempotencyKey: string;
  /** Where its records stood in what was given to `send`, in their order in the batch. */
  readonly indexes: readonly number[];
}

export interface SendSettings extends SendOptions {
  readonly batchRecords: number;
  readonly batchBytes: number;
  readonly concurrency: number;
  readonly waitForOutcomes: boolean;
  readonly outcomesWithinMs: number;
  readonly lenient: boolean;
}

/** Checks the options of one `send`. Throws `client.InvalidOption`. */
export function readSendOptions(options: SendOptions, concurrency: number): SendSettings {
  const lenient = options.lenient ?? false;
  const whole = (
    name: keyof SendOptions,
    value: number | undefined,
    min: number,
    max: number,
    fallback: number,
  ) => readWhole(name, value, { min, max, fallback });
  return {
    ...options,
    batchRecords: whole("batchRecords", options.batchRecords, 1, 10_000, 500),
    batchBytes: whole("batchBytes", options.batchBytes, 1_024, 67_108_864, 4_194_304),
    concurrency: whole("concurrency", options.concurrency, 1, 64, concurrency),
    outcomesWithinMs: whole("outcomesWithinMs", options.outcomesWithinMs, 0, 86_400_000, 600_000),
    waitForOutcomes: lenient || (options.waitForOutcomes ?? false),
    lenient,
  };
}
