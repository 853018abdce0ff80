import type { IncomingMessage } from "node:http";

/** The least progress per period: this many bytes, and this share of what the body holds. */
const BYTES_MIN = 1_024;
const HELD_SHARE_MIN = 1 / 32;

/** A body that is being received. */
interface ArrivingBody {
  /** Bytes received and decompressed so far. */
  readonly progress: number;
  /** Bytes of memory that it holds. */
  readonly held: number;
}

interface Watched {
  readonly body: ArrivingBody;
  progressBefore: number;
}

/** Ends bodies that arrive too slowly for the memory that they hold. */
export class ArrivingBodies {
  readonly #periodMs: number;
  readonly #end: (request: IncomingMessage) => void;
  readonly #watched = new Map<IncomingMessage, Watched>();
  #timer: NodeJS.Timeout | undefined;
  #checkedAtMs = 0;

  /** `periodMs`: how often progress is checked. `end` answers the request and closes its connection. */
  constructor(periodMs: number, end: (request: IncomingMessage) => void) {
    this.#periodMs = periodMs;
    this.#end = end;
  }

  /** Watches a body until `forget`. Idempotent. */
  watch(request: IncomingMessage, body: ArrivingBody): void {
    if (this.#watched.has(request)) return;
    this.#watched.set(request, { body, progressBefore: Number.NEGATIVE_INFINITY });
    if (this.#timer === undefined) this.#startTimer();
  }

  forget(request: IncomingMessage): void {
    this.#watched.delete(request);
  }

  #startTimer(): void {
    this.#checkedAtMs = performance.now();
    // After the next read of all sockets: a busy thread is late in reading what has arrived.
    this.#timer = setInterval(() => setImmediate(() => this.#check()), this.#periodMs).unref();
  }

  #check(): void {
    if (this.#watched.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    const now = performance.now();
    const isLate = now - this.#checkedAtMs > 2 * this.#periodMs;
    this.#checkedAtMs = now;
    for (const [request, watched] of this.#watched) {
      const { progress, held } = watched.body;
      const progressed = progress - watched.progressBefore;
      watched.progressBefore = progress;
      // A body that has not begun holds nothing.
      if (isLate || request.complete || progress === 0) continue;
      if (progressed < Math.max(BYTES_MIN, held * HELD_SHARE_MIN)) this.#end(request);
    }
  }
}
