import type { RequestStatus } from "./api-types.ts";
import { type Batch, cutBatches, type Records, requireCompression } from "./batch.ts";
import type { Connection } from "./connection.ts";
import { type Accepted, Delivery, FaultWatch, isFault } from "./delivery.ts";
import { BellhopError, type BellhopErrorCode } from "./error.ts";
import { orAborted } from "./http.ts";
import { type Resource, readSendOptions, type SendOptions, type SendSettings } from "./options.ts";
import { hasRefused, listNotable, waitUntilApplied } from "./outcomes.ts";
import { type SendReport, Tally } from "./report.ts";

/** A `send` that stopped early, or that left out batches that always got 500. Sending the same records again is safe. */
export class SendError extends BellhopError {
  override readonly name = "SendError";
  readonly report: SendReport;

  constructor(cause: unknown, report: SendReport) {
    const known = cause instanceof BellhopError ? cause : undefined;
    const exception: BellhopErrorCode = known?.exception ?? "client.Interrupted";
    super(cause instanceof Error ? cause.message : `The send was interrupted: ${String(cause)}`, {
      exception,
      status: known?.status,
      requestId: known?.requestId,
      violations: known?.violations,
      retryable: known?.retryable,
      retryAfterMs: known?.retryAfterMs,
      cause,
    });
    this.report = report;
  }
}

class Sending {
  readonly tally = new Tally();
  readonly #connection: Connection;
  readonly #resource: Resource;
  readonly #settings: SendSettings;
  readonly #stop = new AbortController();
  readonly #delivery: Delivery;
  readonly #faults = new FaultWatch();
  #failure: { readonly cause: unknown } | undefined;

  constructor(connection: Connection, resource: Resource, settings: SendSettings) {
    this.#connection = connection;
    this.#resource = resource;
    this.#settings = settings;
    this.#delivery = new Delivery(connection, resource, settings, this.tally);
  }

  async run(records: Records<unknown>): Promise<void> {
    const { signal, concurrency } = this.#settings;
    const onAbort = () => this.#fail(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) onAbort();
    const batches = cutBatches(records, this.#settings, (index, record, cause) => {
      this.tally.records += 1;
      const message = cause instanceof Error ? cause.message : String(cause);
      this.#delivery.refuseUnwritable(index, record, message);
    });
    try {
      await this.#checkScope().catch((cause) => this.#fail(cause));
      await Promise.all(Array.from({ length: concurrency }, () => this.#work(batches)));
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
    // Does not wait for an iterable that never ends its read.
    if (this.#failure !== undefined) batches.return().catch(() => undefined);
    const cause = this.#failure === undefined ? this.#delivery.failure() : this.#failure.cause;
    if (cause !== undefined) throw new SendError(cause, this.tally.report());
  }

  /** Fails at once if the token lacks the scope, instead of with the first batch in the operator's audit log. */
  async #checkScope(): Promise<void> {
    const { tokens } = this.#connection;
    const { signal } = this.#stop;
    const wanted = `${this.#resource}:write`;
    const token = await tokens.current(signal);
    const isFit = ({ scopes }: typeof token) => scopes.length === 0 || scopes.includes(wanted);
    if (isFit(token)) return;
    if ((await tokens.replace(token, signal)) && isFit(await tokens.current(signal))) return;
    throw new BellhopError(
      `The client may not send ${this.#resource}: its token has not the scope ${wanted}.`,
      {
        exception: "oauth.insufficient_scope",
      },
    );
  }

  async #work(batches: AsyncGenerator<Batch, void, undefined>): Promise<void> {
    const { signal } = this.#stop;
    try {
      while (!signal.aborted) {
        const { done, value: batch } = await orAborted(batches.next(), signal);
        if (done === true) return;
        this.tally.records += batch.count;
        await this.#delivery.deliver(batch, signal, (accepted) => this.#follow(accepted));
        this.#settings.onProgress?.(this.tally.progress());
      }
    } catch (cause) {
      this.#fail(cause);
    }
  }

  async #follow(accepted: Accepted): Promise<void> {
    const { onProgress, waitForOutcomes } = this.#settings;
    if (!waitForOutcomes) return;
    this.tally.pending += accepted.batch.count;
    onProgress?.(this.tally.progress());
    const counts = await this.#outcomesOf(accepted);
    this.tally.pending -= accepted.batch.count;
    if (counts === undefined) this.tally.leavePending(accepted.batch.count);
    else this.tally.addOutcomes(counts);
  }

  /** Undefined if the service always responds 500; the batch is stored nevertheless. */
  async #outcomesOf(accepted: Accepted): Promise<RequestStatus["counts"] | undefined> {
    const { onRefused, outcomesWithinMs } = this.#settings;
    const { signal } = this.#stop;
    const { requestId } = accepted;
    const watched = this.#faults.watched();
    try {
      const options = { limit: 1, signal };
      const asked = waitUntilApplied(this.#connection, requestId, outcomesWithinMs, options, watched);
      const { counts } = await asked;
      const isRefused = hasRefused(counts);
      if (isRefused || (counts.warned > 0 && !this.tally.hasListedWarnings))
        for await (const notable of listNotable(this.#connection, accepted, signal, watched)) {
          if ("warnings" in notable) this.tally.warn(notable);
          else {
            this.tally.refuse(notable);
            onRefused?.(notable);
          }
        }
      this.#faults.accepted(performance.now());
      return counts;
    } catch (error) {
      if (isFault(error) && this.#faults.giveUp(watched.failedAt ?? performance.now())) return undefined;
      throw error;
    }
  }

  #fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#stop.abort(cause);
  }
}

export async function send(
  connection: Connection,
  resource: Resource,
  records: Records<unknown>,
  options: SendOptions,
): Promise<SendReport> {
  const settings = readSendOptions(options, connection.settings.concurrency);
  requireCompression(connection.settings.compression);
  const sending = new Sending(connection, resource, settings);
  await sending.run(records);
  return sending.tally.report();
}
