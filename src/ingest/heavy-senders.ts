import type { RateLimiter } from "../identity/rate-limiter.ts";
import { monotonicNow, SharedCounter } from "../platform/runtime/shared-memory.ts";

/**
 * Values of a reservation or group up to which its nights are usually one row of the night ledger; beyond, about three values make a row.
 */
const VALUES_OF_RECORD = 200;
/** Values beyond that a second, about a tenth of what an applier takes, and at once. */
const VALUES = { perSecond: 30_000, atOnce: 100_000 } as const;
/** Rows of the night ledger that a record may make without being counted. */
const ROWS_OF_RECORD = 20;
/** Rows beyond that, likewise. */
const ROWS = { perSecond: 10_000, atOnce: 100_000 } as const;

/** The values of a record that count as more than usual. */
export function valuesBeyondUsual(values: number): number {
  return Math.max(0, values - VALUES_OF_RECORD);
}

/**
 * Finds the clients whose records take appliers far longer than their request cost suggests: by the values of their batches, and by the
 * rows of the ledger that appliers of this process have made of them, where a record out of order counts as 100 rows. Their batches yield
 * to others (docs/decisions/0007), so that the records of others are applied without waiting for theirs.
 */
export class HeavySenders {
  readonly #rates: RateLimiter;
  /** The second of the clock until which some client yields. Without one, a usual batch needs no look at its client's rates. */
  readonly #someUntil: SharedCounter;
  readonly #clock: () => number;

  /** `rates` and `someUntil`: in memory that the threads of a process share. `clock`: the one of `rates`. */
  constructor(rates: RateLimiter, someUntil = new SharedCounter(), clock: () => number = monotonicNow) {
    this.#rates = rates;
    this.#someUntil = someUntil;
    this.#clock = clock;
  }

  /** Counts a batch with so many values beyond the usual; returns whether it is to yield. */
  yields(clientId: string, values: number): boolean {
    if (values === 0 && !this.#isSomeHeavy()) return false;
    const ofValues = this.#isPast(clientId, "values", values, VALUES);
    return this.#isPast(clientId, "rows", 0, ROWS) || ofValues;
  }

  /** Reports that a batch or piece of so many records made so many rows. */
  applied(clientId: string, records: number, rows: number): void {
    const more = rows - records * ROWS_OF_RECORD;
    if (more > 0) this.#isPast(clientId, "rows", more, ROWS);
  }

  #isPast(
    clientId: string,
    what: string,
    more: number,
    { perSecond, atOnce }: typeof VALUES | typeof ROWS,
  ): boolean {
    // No client id has a space.
    const { remaining, resetSeconds } = this.#rates.charge(`${clientId} ${what}`, more, perSecond, atOnce);
    if (remaining > 0) return false;
    const until = Math.ceil(this.#clock() / 1_000) + resetSeconds;
    if (until > this.#someUntil.value) this.#someUntil.value = until;
    return true;
  }

  #isSomeHeavy(): boolean {
    const until = this.#someUntil.value;
    return until > 0 && this.#clock() / 1_000 <= until;
  }
}
