import { setTimeout as delay } from "node:timers/promises";
import type { PackedPart } from "./packed-day.ts";
import { QUARTER_SECONDS } from "./simulated-record.ts";

/** Runs simulated time at `speed` times real time, from the first wave on. */
export class Pace {
  readonly #speed: number;
  readonly #signal: AbortSignal | undefined;
  /** The last quarter of the first wave, and when it was sent. */
  #start: { readonly quarter: number; readonly atMs: number } | undefined;

  constructor(speed: number, signal: AbortSignal | undefined) {
    this.#speed = speed;
    this.#signal = signal;
  }

  /** Yields the parts of a wave when they are due; overdue ones together. */
  async *due(wave: readonly PackedPart[]): AsyncGenerator<readonly PackedPart[]> {
    this.#start ??= { quarter: wave.at(-1)?.quarter ?? 0, atMs: performance.now() };
    let due: PackedPart[] = [];
    for (const part of wave) {
      const { quarter, atMs } = this.#start;
      const dueMs = atMs + ((part.quarter - quarter) * QUARTER_SECONDS * 1_000) / this.#speed;
      if (dueMs - performance.now() > 1) {
        if (due.length > 0) yield due;
        due = [];
        const waitMs = dueMs - performance.now();
        if (waitMs > 1)
          await delay(waitMs, undefined, this.#signal === undefined ? {} : { signal: this.#signal });
      }
      due.push(part);
    }
    if (due.length > 0) yield due;
  }
}
