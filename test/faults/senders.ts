import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../workload/seeded-random.ts";
import type { Route } from "./balancer.ts";
import type { Batch, BatchSource } from "./batch-source.ts";
import type { Ledger } from "./ledger.ts";

export interface SendersOptions {
  /** Where the next request goes; undefined while there is nowhere to send it. */
  readonly route: () => Route | undefined;
  readonly token: string;
  readonly source: Pick<BatchSource, "next">;
  readonly ledger: Ledger;
  readonly seed: number;
  readonly senders: number;
}

/** An answer that takes longer counts as lost; the service promises far less. */
const ANSWER_MS_MAX = 30_000;
/** What a service may answer that cannot take a batch now. */
const REFUSALS: readonly number[] = [429, 503];
/** How long a sender waits after a refusal or a lost connection, as a partner's would. */
const BACK_OFF_MS = 25;
/** The longest pause between two batches of one sender: without any, the machine would only ever be seen saturated. */
const PAUSE_MS_MAX = 40;
const REPEAT_KEPT_MAX = 200;

/**
 * Concurrent senders that go on through every outage: a batch with an Idempotency-Key is repeated until it has its 202
 * (and sometimes once more), one without is given up at the first lost answer, as nobody could tell whether it is stored.
 */
export class Senders {
  readonly #options: SendersOptions;
  readonly #repeatable: Batch[] = [];
  readonly #finished: Promise<unknown>;
  #stopped = false;
  #abandoned = false;

  constructor(options: SendersOptions) {
    this.#options = options;
    this.#finished = Promise.all(
      Array.from({ length: options.senders }, (_, at) =>
        this.#send(SeededRandom.stream(options.seed, 100 + at)),
      ),
    );
  }

  /** Lets what was begun come to its end: batches with a key get their 202. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#finished;
  }

  /** Gives up at once, also what a sender is still repeating. */
  abandon(): void {
    this.#stopped = true;
    this.#abandoned = true;
  }

  async #send(random: SeededRandom): Promise<void> {
    while (!this.#stopped) {
      const again = this.#repeatable.length > 0 && random.chance(0.08);
      await this.#sendUntilSettled(again ? random.pick(this.#repeatable) : this.#options.source.next());
      await delay(random.between(0, PAUSE_MS_MAX));
    }
  }

  async #sendUntilSettled(batch: Batch): Promise<void> {
    for (;;) {
      if (await this.#post(batch)) {
        if (batch.idempotencyKey !== undefined) this.#remember(batch);
        return;
      }
      await delay(BACK_OFF_MS);
      if (batch.idempotencyKey === undefined || this.#abandoned) return;
    }
  }

  #remember(batch: Batch): void {
    if (this.#repeatable.length < REPEAT_KEPT_MAX) this.#repeatable.push(batch);
    else this.#repeatable[batch.number % REPEAT_KEPT_MAX] = batch;
  }

  /** Posts once; true when it was answered 202. */
  async #post(batch: Batch): Promise<boolean> {
    const { route, token, ledger } = this.#options;
    const sent = ledger.sending(batch);
    const to = route();
    if (to === undefined) {
      // As a balancer without a node would: nothing was sent, but the ledger counts it as sent.
      sent.unanswered += 1;
      ledger.saw("no node");
      return false;
    }
    const { address, down } = to;
    const sentAt = performance.now();
    const late = AbortSignal.timeout(ANSWER_MS_MAX);
    try {
      const response = await fetch(`${address}/api/public/v1/${batch.resource}`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
          ...(batch.idempotencyKey === undefined ? {} : { "idempotency-key": batch.idempotencyKey }),
        },
        body: `[${batch.records.join(",")}]`,
        signal: down === undefined ? late : AbortSignal.any([late, down]),
      });
      const text = await response.text();
      ledger.saw(String(response.status));
      if (response.status === 202) {
        const { requestId } = JSON.parse(text) as { requestId: string };
        ledger.accepted(sent, { requestId, sentAt, answeredAt: performance.now() });
        return true;
      }
      sent.unanswered += 1;
      ledger.refusals += 1;
      if (!REFUSALS.includes(response.status))
        ledger.problems.push(`batch ${batch.number} was answered ${response.status}: ${text.slice(0, 300)}`);
      else if (!/^[1-9]\d*$/.test(response.headers.get("retry-after") ?? ""))
        ledger.problems.push(`batch ${batch.number} was answered ${response.status} without a Retry-After`);
    } catch (error) {
      sent.unanswered += 1;
      ledger.saw("dropped");
      if ((error as Error).name === "TimeoutError")
        ledger.problems.push(`batch ${batch.number} had no answer within ${ANSWER_MS_MAX} ms`);
    }
    return false;
  }
}
