import type { OtlpSender } from "./sender.ts";

/** How long a process that stops waits for a collector. */
const STOP_MS = 1_000;

/** Sends what there is to tell every so often, one sending at a time, and a last time as the process stops. */
export class PeriodicSending {
  readonly #sender: OtlpSender;
  readonly #sendAll: () => Promise<void>;
  readonly #timer: NodeJS.Timeout;
  #sending: Promise<void> | undefined;

  /** `sendAll` sends what waits, by that sender; it does not reject. */
  constructor(sender: OtlpSender, intervalMs: number, sendAll: () => Promise<void>) {
    this.#sender = sender;
    this.#sendAll = sendAll;
    this.#timer = setInterval(() => this.sendNow(), intervalMs).unref();
  }

  /** Begins to send, unless a sending is under way: what waits goes with its next. */
  sendNow(): void {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Sends what there is to tell at the end, for a second at most. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const late = setTimeout(() => this.#sender.close(), STOP_MS);
    await this.#sending;
    this.sendNow();
    await this.#sending;
    clearTimeout(late);
    this.#sender.close();
  }
}
