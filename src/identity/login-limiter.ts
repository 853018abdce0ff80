import { monotonicNow } from "../platform/runtime/clock.ts";
import { SharedTable } from "../platform/runtime/shared-table.ts";
import { noteInWindow } from "../platform/runtime/sliding-window.ts";
import { countedOrigin, ORIGIN_NUMBERS } from "./counted-origin.ts";

/**
 * Wrong passwords for one name from one address within the window. A password can be guessed, unlike a client's secret: so
 * beyond them none is looked at, the right one neither.
 */
const ATTEMPTS_MAX = 10;
/**
 * And from one address for all names together: each is a fifth of a second of a processor and stands in a queue, which whoever
 * made up another name each time could keep full.
 */
const ADDRESS_ATTEMPTS_MAX = 30;
const WINDOW_MS = 300_000;

/** Addresses, and pairs of address and name, that are remembered: each attempt costs a hash, one after another. */
const SHAPE = { rows: 10_000, numbers: Math.max(ADDRESS_ATTEMPTS_MAX, ORIGIN_NUMBERS) } as const;

export interface LoginLimiter {
  /**
   * Notes an attempt before its password is looked at; answers 0, or the seconds until another may be made. An address of IPv6
   * counts as its network.
   */
  take(address: string, name: string): number;
  /** Forgets the attempts of this pair and of this address: the password was right. */
  forget(address: string, name: string): void;
}

/** Memory for the attempts that one process remembers, which all its threads share. */
export function allocateLogins(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

/** Makes the limiter: a sliding window, exact, in the memory of this node, whichever of its threads is asked. */
export function createLoginLimiter(
  clock: () => number = monotonicNow,
  memory = allocateLogins(),
): LoginLimiter {
  const attempts = new SharedTable(memory, SHAPE);
  const pairOf = (origin: string, name: string) => `${origin} ${name}`;
  const note = (key: string, now: number, most: number): number =>
    attempts.use(key, now, (times) => noteInWindow(times, now, { most, windowMs: WINDOW_MS })) ?? 0;
  const forget = (key: string, now: number, attemptsMax: number): void => {
    attempts.use(key, now, (times) => {
      for (let at = 0; at < attemptsMax; at += 1) times.set(at, Number.NEGATIVE_INFINITY);
    });
  };
  return {
    take(address, name) {
      const now = clock();
      const origin = countedOrigin(attempts, address, now, WINDOW_MS);
      // What is refused for its name costs nothing, and is not counted for its address.
      return note(pairOf(origin, name), now, ATTEMPTS_MAX) || note(origin, now, ADDRESS_ATTEMPTS_MAX);
    },
    forget(address, name) {
      const now = clock();
      const origin = countedOrigin(attempts, address, now, WINDOW_MS);
      forget(pairOf(origin, name), now, ATTEMPTS_MAX);
      forget(origin, now, ADDRESS_ATTEMPTS_MAX);
    },
  };
}
