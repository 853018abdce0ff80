import type { Batch } from "./batch-source.ts";
import { RecordsDigest } from "./records-digest.ts";

/** What is known of a batch from its sender's side. Bodies are not kept: minutes of load are gigabytes. */
export interface SentBatch {
  readonly number: number;
  readonly records: RecordsDigest;
  /** When it was posted for the first time; any of its attempts may be the one that was stored. */
  readonly firstSentAt: number;
  /** Times it was posted and brought no 202 (no answer, or a 503: it may be stored or not). */
  unanswered: number;
  /** The id of the first 202; a later 202 with another one is a problem. */
  requestId: string | undefined;
}

/** One 202, by the sender's monotonic clock in milliseconds. */
export interface Answer {
  readonly requestId: string;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * What the senders sent and what they were answered, in memory: the truth that the service is held to. A 202 is written
 * down the moment its body has arrived.
 */
export class Ledger {
  readonly batches = new Map<number, SentBatch>();
  readonly answers: Answer[] = [];
  /** What no sender may ever be answered, as sentences. */
  readonly problems: string[] = [];
  longestAnswerMs = 0;
  /** When the request was sent, on the sender's clock, whose 202 is of the one sent last. */
  lastAcceptedSentAt = 0;
  repeats = 0;
  refusals = 0;
  /** What the senders saw, each status and what else became of a request, and how often. */
  readonly seen: Record<string, number> = {};
  readonly #byRequest = new Map<string, SentBatch>();
  #unchecked: string[] = [];

  sending(batch: Batch): SentBatch {
    const known = this.batches.get(batch.number);
    if (known !== undefined) return known;
    const sent: SentBatch = {
      number: batch.number,
      records: RecordsDigest.of(batch.records),
      firstSentAt: performance.now(),
      unanswered: 0,
      requestId: undefined,
    };
    this.batches.set(batch.number, sent);
    return sent;
  }

  accepted(sent: SentBatch, answer: Answer): void {
    this.longestAnswerMs = Math.max(this.longestAnswerMs, answer.answeredAt - answer.sentAt);
    this.lastAcceptedSentAt = Math.max(this.lastAcceptedSentAt, answer.sentAt);
    if (sent.requestId !== undefined) {
      this.repeats += 1;
      if (sent.requestId !== answer.requestId) {
        this.problems.push(
          `batch ${sent.number} was answered ${sent.requestId} and, repeated with its key, ${answer.requestId}`,
        );
      }
      return;
    }
    const other = this.#byRequest.get(answer.requestId);
    if (other !== undefined)
      this.problems.push(`${answer.requestId} answered batches ${other.number} and ${sent.number}`);
    sent.requestId = answer.requestId;
    this.#byRequest.set(answer.requestId, sent);
    this.answers.push({ ...answer, sentAt: sent.firstSentAt });
    this.#unchecked.push(answer.requestId);
  }

  saw(what: string): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  }

  /** The request ids answered since the last call. */
  takeUnchecked(): string[] {
    return this.#unchecked.splice(0);
  }

  byRequestId(requestId: string): SentBatch | undefined {
    return this.#byRequest.get(requestId);
  }

  get acceptedRequests(): number {
    return this.#byRequest.size;
  }

  get acceptedRecords(): number {
    return [...this.#byRequest.values()].reduce((sum, { records }) => sum + records.count, 0);
  }
}
