import { pause } from "./fetch-within.ts";

/** A limit that a service announces is not waited for longer than this before it is tried whether it still holds. */
const HOLD_MS_MAX = 60_000;

/** What all requests of one client pass: closed for as long as the service has asked one of them to wait. */
export class Gate {
  #opensAt = 0;

  /** Nothing passes for `ms` milliseconds from now. */
  hold(ms: number): void {
    this.#opensAt = Math.max(this.#opensAt, performance.now() + Math.min(ms, HOLD_MS_MAX));
  }

  /**
   * Heeds `RateLimit` of an answer (`"requests";r=0;t=1`): with no request left, the next one waits for one to come back, which is
   * quicker than to be refused. `t` is in whole seconds; of the last of them the policy (`q` requests in `w` seconds) tells
   * how much of it one request takes.
   */
  heed(headers: Headers): void {
    const announced = /^"requests";r=0;t=(\d{1,6})$/.exec(headers.get("ratelimit") ?? "")?.[1];
    if (announced === undefined) return;
    const [, quota = "1", seconds = "1"] =
      /^"requests";q=(\d{1,9});w=(\d{1,9})$/.exec(headers.get("ratelimit-policy") ?? "") ?? [];
    const oneMs = (1000 * Number(seconds)) / Math.max(1, Number(quota));
    this.hold(announced === "1" ? Math.min(1000, oneMs) : Number(announced) * 1000);
  }

  /** Waits until it is open. Rejects with the signal's reason once that is aborted. */
  async pass(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    for (;;) {
      const leftMs = this.#opensAt - performance.now();
      if (leftMs <= 0) return;
      await pause(leftMs, signal);
    }
  }
}
