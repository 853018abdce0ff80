import { setTimeout as delay } from "node:timers/promises";
import type { SimulatedRecord } from "./simulated-record.ts";
import { DAY_SECONDS } from "./simulated-time.ts";

/** What is sent of a day at once. */
const PART_SECONDS = 900;

const partOf = ({ day, second }: SimulatedRecord): number =>
  Math.floor((day * DAY_SECONDS + second) / PART_SECONDS);

/** Lets simulated time pass so many times as fast as time does, from the first record on. */
export class Pace {
  readonly #speed: number;
  readonly #signal: AbortSignal | undefined;
  /** The first part, and when it was sent, in milliseconds. */
  #start: { readonly part: number; readonly atMs: number } | undefined;

  constructor(speed: number, signal: AbortSignal | undefined) {
    this.#speed = speed;
    this.#signal = signal;
  }

  /** The records of a wave when they are due, by quarters of a simulated hour; what is overdue comes at once. */
  async *parts(wave: readonly SimulatedRecord[]): AsyncGenerator<readonly SimulatedRecord[]> {
    const parts = Map.groupBy(wave, partOf);
    let due: SimulatedRecord[] = [];
    this.#start ??= { part: Math.max(...parts.keys()), atMs: performance.now() };
    for (const part of [...parts.keys()].sort((one, other) => one - other)) {
      const dueMs = this.#start.atMs + ((part - this.#start.part) * PART_SECONDS * 1_000) / this.#speed;
      if (dueMs - performance.now() > 1) {
        if (due.length > 0) yield due;
        due = [];
        const waitMs = dueMs - performance.now();
        if (waitMs > 1)
          await delay(waitMs, undefined, this.#signal === undefined ? {} : { signal: this.#signal });
      }
      for (const record of parts.get(part) ?? []) due.push(record);
    }
    if (due.length > 0) yield due;
  }
}
