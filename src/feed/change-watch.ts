import { ALL_BUCKETS } from "../accept/bucket.ts";
import type { Queryable } from "../db/transaction.ts";
import { currentWaits } from "../observe/request-waits.ts";
import { readChangeEnds } from "./change-ends.ts";
import type { Positions } from "./positions.ts";

/** How often the counters are looked at while anybody waits: once for all of them, at some 0.3 ms. */
const LOOK_MS = 100;
/** Who comes when so many wait, or so many of one client, does not wait. */
const WAITING_MAX = 1_000;
const WAITING_OF_ONE_MAX = 100;

/** Who waits, and for what. */
export interface Wait {
  /** Whose it is: so that one cannot take all the room there is. */
  readonly who: string;
  /** Where the reader stands; there is something new once a change of one of these buckets lies behind it. */
  readonly positions: Positions;
  readonly waitMsMax: number;
  /** Not woken by a change before this: for who was woken by those of others. */
  readonly waitMsMin?: number;
  readonly signal?: AbortSignal;
}

interface Waiter {
  readonly positions: Positions;
  /** By `performance.now()`. */
  readonly notBefore: number;
  wake(): void;
}

/**
 * Has readers of the feed wait until there may be something for them. However many wait, the database is asked one thing, ten
 * times a second; while nobody does, nothing.
 */
export class ChangeWatch {
  readonly #on: Queryable;
  readonly #waiters = new Set<Waiter>();
  readonly #waitingOf = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isOver = false;

  constructor(on: Queryable) {
    this.#on = on;
  }

  /**
   * Resolves with true when there may be something new, when the time is over, or when the database cannot be asked (whoever
   * asks it next is told why); with false where there is no sense in waiting on: too many wait, `signal` says so, or the watch
   * has ended.
   */
  async wait({ who, positions, waitMsMax, waitMsMin = 0, signal }: Wait): Promise<boolean> {
    const ofWho = this.#waitingOf.get(who) ?? 0;
    const isFull = this.#waiters.size >= WAITING_MAX || ofWho >= WAITING_OF_ONE_MAX;
    if (isFull || this.#isSenseless(signal)) return false;
    this.#waitingOf.set(who, ofWho + 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { positions, notBefore: performance.now() + waitMsMin, wake: () => resolve() };
    const timeout = setTimeout(waiter.wake, waitMsMax);
    signal?.addEventListener("abort", waiter.wake);
    this.#waiters.add(waiter);
    this.#lookLater();
    const waits = currentWaits();
    const beganAt = performance.now();
    await promise;
    if (waits !== undefined) waits.asked += performance.now() - beganAt;
    clearTimeout(timeout);
    signal?.removeEventListener("abort", waiter.wake);
    this.#waiters.delete(waiter);
    const left = (this.#waitingOf.get(who) ?? 1) - 1;
    if (left > 0) this.#waitingOf.set(who, left);
    else this.#waitingOf.delete(who);
    return !this.#isSenseless(signal);
  }

  #isSenseless(signal: AbortSignal | undefined): boolean {
    return this.#isOver || signal?.aborted === true;
  }

  /** Wakes everybody; nobody waits from now on. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const { wake } of this.#waiters) wake();
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#isLooking || this.#isOver || this.#waiters.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#look();
    }, LOOK_MS);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    try {
      const ends = await readChangeEnds(this.#on, ALL_BUCKETS);
      const now = performance.now();
      for (const { positions, notBefore, wake } of this.#waiters)
        if (notBefore <= now && isBehind(positions, ends)) wake();
    } catch {
      for (const { wake } of this.#waiters) wake();
    } finally {
      this.#isLooking = false;
      this.#lookLater();
    }
  }
}

function isBehind(positions: Positions, ends: Positions): boolean {
  for (const [bucket, position] of positions) if ((ends.get(bucket) ?? 0) > position) return true;
  return false;
}
