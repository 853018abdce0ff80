import { setTimeout as delay } from "node:timers/promises";
import type { PackedPart } from "./packed-day.ts";
import { QUARTER_SECONDS } from "./simulated-time.ts";

/** Lets simulated time pass so many times as fast as time does, from the first wave on. */
export class Pace {
  readonly #speed: number;
  readonly #signal: AbortSignal | undefined;
  /** The first wave's last quarter of an hour, and when it was sent, in milliseconds. */
  #start: { readonly quarter: number; readonly atMs: number } | undefined;

  constructor(speed: number, signal: AbortSignal | undefined) {
    this.#speed = speed;
    this.#signal = signal;
  }

  /** The parts of a wave when they are due, those that are overdue together. Rejects with the signal's reason once that is aborted. */
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
