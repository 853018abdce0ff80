import type { HttpConnection } from "./http-connection.ts";

/** Where and how a contestant takes a batch. */
export interface Target {
  readonly port: number;
  readonly path: string;
  /** Lines of the head, each without its end. */
  readonly headers: readonly string[];
  /** What stands around the batch's array in the body. */
  readonly prefix: string;
  readonly suffix: string;
  /** Whether it is sent the compressed bodies of a case that has them. */
  readonly gzip: boolean;
  readonly status: number;
  /** Stands in every good answer; empty where the status says enough. */
  readonly answerHolds: string;
}

export interface SendOrder {
  readonly target: Target;
  readonly connections: number;
  /** So many of the prepared batches from this one on; fewer than all for whoever is slow. */
  readonly batches: number;
  readonly first: number;
  /** They are sent again from the first until so much time has passed; 0 sends each once. */
  readonly atLeastMs: number;
  /** Requests a second, sent when they are due whether or not others were answered; 0 sends as fast as is answered. */
  readonly perSecond: number;
}

const LENGTH_DIGITS = 10;
const KEY_DIGITS = 12;
/** Up to here one copy and one write are cheaper than a write of several parts. */
const SMALL_BYTES = 16_384;
/** No Idempotency-Key comes twice in a run. */
let keys = 0;

/** A connection and the head that it sends again and again: only the length and the key are written anew. */
export class Sender {
  readonly connection: HttpConnection;
  readonly #head: Buffer;
  readonly #lengthAt: number;
  readonly #keyAt: number;
  readonly #parts: Buffer[];
  readonly #small = Buffer.allocUnsafe(SMALL_BYTES);
  readonly #aroundBytes: number;
  readonly #bodyPart: number;

  constructor(connection: HttpConnection, host: string, target: Target) {
    this.connection = connection;
    const lines = [
      `POST ${target.path} HTTP/1.1`,
      `Host: ${host}:${target.port}`,
      "Content-Type: application/json",
      ...target.headers,
    ];
    const before = `${lines.join("\r\n")}\r\nIdempotency-Key: 00000000-0000-7000-8000-`;
    const between = "\r\nContent-Length: ";
    this.#keyAt = before.length;
    this.#lengthAt = before.length + KEY_DIGITS + between.length;
    this.#head = Buffer.from(
      `${before}${"0".repeat(KEY_DIGITS)}${between}${"0".repeat(LENGTH_DIGITS)}\r\n\r\n`,
    );
    const [prefix, suffix] = [Buffer.from(target.prefix), Buffer.from(target.suffix)];
    this.#parts = [this.#head, prefix, Buffer.alloc(0), suffix].filter(
      (part, at) => at === 2 || part.length > 0,
    );
    this.#aroundBytes = prefix.length + suffix.length;
    this.#bodyPart = prefix.length > 0 ? 2 : 1;
  }

  send(body: Buffer, done: (error: Error | undefined, status: number) => void): void {
    keys += 1;
    this.#head.write(String(keys).padStart(KEY_DIGITS, "0"), this.#keyAt, "latin1");
    const length = String(body.length + this.#aroundBytes).padStart(LENGTH_DIGITS, "0");
    this.#head.write(length, this.#lengthAt, "latin1");
    this.#parts[this.#bodyPart] = body;
    let whole = 0;
    for (const part of this.#parts) whole += part.length;
    if (whole <= SMALL_BYTES) {
      let at = 0;
      for (const part of this.#parts) at += part.copy(this.#small, at);
      this.connection.send([this.#small.subarray(0, whole)], done);
    } else this.connection.send(this.#parts, done);
  }
}

/** One run of a SendOrder: who is free, what is next, how long each took. */
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

  /** Open loop: a request that is due waits for a free connection, and its wait counts. */
  #sendDue(): void {
    const { perSecond } = this.#order;
    const due = ((performance.now() - this.#startedAt) * perSecond) / 1000;
    while (this.batches < due && !this.#isLast && this.#free.length > 0) {
      const sender = this.#free.pop() as Sender;
      const dueAt = this.#startedAt + (this.batches * 1000) / perSecond;
      this.#send(sender, dueAt, () => {
        this.#free.push(sender);
        // With a connection free again, what is overdue goes at once.
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
      else if (
        status !== this.#order.target.status ||
        !sender.connection.answerHolds(this.#order.target.answerHolds)
      )
        this.#finished.reject(new Error(`Answered ${status}: ${sender.connection.answer.slice(0, 800)}`));
      else next();
    });
  }
}
