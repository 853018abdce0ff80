import type { Sender, Target } from "./sender.ts";

const ACCEPTED = 202;

export interface SendOrder {
  readonly target: Target;
  readonly connections: number;
  /** The number of prepared batches from this one on. */
  readonly batches: number;
  readonly first: number;
  /** Repeats the batches for at least this time; 0 sends each once. */
  readonly atLeastMs: number;
  /** Requests per second on schedule, independent of responses; 0 sends as fast as responses arrive. */
  readonly perSecond: number;
}

/** One run of a SendOrder. */
export class Sending {
  readonly #order: SendOrder;
  readonly #bodies: readonly Buffer[];
  readonly #free: Sender[];
  readonly #startedAt = performance.now();
  readonly #finished = Promise.withResolvers<void>();
  readonly durations: number[] = [];
  batches = 0;
  bytes = 0;
  #answered = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(order: SendOrder, senders: readonly Sender[], bodies: readonly Buffer[]) {
    this.#order = order;
    this.#bodies = bodies.slice(order.first, order.first + order.batches);
    this.#free = [...senders];
  }

  async run(): Promise<void> {
    if (this.#order.perSecond > 0) this.#sendDue();
    else for (const sender of this.#free.splice(0)) this.#sendOn(sender);
    await this.#finished.promise;
  }

  get #isLast(): boolean {
    const { batches, atLeastMs } = this.#order;
    return this.batches >= batches && performance.now() - this.#startedAt >= atLeastMs;
  }

  #sendOn(sender: Sender): void {
    if (!this.#isLast) this.#send(sender, performance.now(), () => this.#sendOn(sender));
    else if (this.#answered === this.batches) this.#finished.resolve();
  }

  /** Open loop: the time that a due request waits for a connection counts. */
  #sendDue(): void {
    const { perSecond } = this.#order;
    const due = ((performance.now() - this.#startedAt) * perSecond) / 1000;
    while (this.batches < due && !this.#isLast && this.#free.length > 0) {
      const sender = this.#free.pop() as Sender;
      const dueAt = this.#startedAt + (this.batches * 1000) / perSecond;
      this.#send(sender, dueAt, () => {
        this.#free.push(sender);
        // After a wait for connections, sends overdue requests at once.
        if (this.#free.length === 1) this.#sendDue();
      });
    }
    if (this.#isLast && this.#answered === this.batches) this.#finished.resolve();
    else if (this.#free.length > 0) this.#wake();
  }

  #wake(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sendDue();
    }, 1);
  }

  #send(sender: Sender, since: number, next: () => void): void {
    const body = this.#bodies[this.batches % this.#bodies.length] as Buffer;
    this.batches += 1;
    this.bytes += body.length;
    sender.send(body, (error, status) => {
      this.durations.push(performance.now() - since);
      this.#answered += 1;
      if (error !== undefined) this.#finished.reject(error);
      else if (status !== ACCEPTED)
        this.#finished.reject(new Error(`Answered ${status}: ${sender.connection.answer.slice(0, 800)}`));
      else next();
    });
  }
}
