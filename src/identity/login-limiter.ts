import { monotonicNow, noteInWindow, SharedTable, waitOfWindow } from "../platform/runtime/shared-memory.ts";
import { countedOrigin, ORIGIN_NUMBERS } from "./counted-origin.ts";

/**
 * Wrong passwords for one name from one address within the window. Unlike a client's secret, a password can be guessed, so
 * Bellhop checks no password beyond this limit, not even the right one.
 */
const ATTEMPTS_MAX = 10;
/** Attempts per address for all names together. Each takes 0.2 s of CPU time in a queue that invented names could otherwise fill. */
const ADDRESS_ATTEMPTS_MAX = 30;
const WINDOW_MS = 300_000;
/** A code has six digits and can be tried only after the correct password. */
const CODES_MAX = 5;
const CODES_WINDOW_MS = 900_000;
/** Holds only names of existing operators. A separate table, because invented names can evict rows of the attempts table. */
const CODES = { rows: 1_024, numbers: CODES_MAX } as const;

/** Pairs of address and name. An address creates at most ADDRESS_ATTEMPTS_MAX of them per window. */
const PAIRS = { rows: 10_000, numbers: ATTEMPTS_MAX } as const;
/** A separate table, so that pairs evict no address. */
const ADDRESSES = { rows: 10_000, numbers: Math.max(ADDRESS_ATTEMPTS_MAX, ORIGIN_NUMBERS) } as const;

/** Memory for attempts and codes, shared by all threads of the process. */
export interface LoginMemory {
  readonly pairs: SharedArrayBuffer;
  readonly addresses: SharedArrayBuffer;
  readonly codes: SharedArrayBuffer;
}

export function allocateLogins(): LoginMemory {
  return {
    pairs: SharedTable.allocate(PAIRS),
    addresses: SharedTable.allocate(ADDRESSES),
    codes: SharedTable.allocate(CODES),
  };
}

const OF_PAIR = { most: ATTEMPTS_MAX, windowMs: WINDOW_MS };
const OF_ADDRESS = { most: ADDRESS_ATTEMPTS_MAX, windowMs: WINDOW_MS };
const OF_CODES = { most: CODES_MAX, windowMs: CODES_WINDOW_MS };

function forget(table: SharedTable, key: string, { most }: { readonly most: number }): void {
  table.useKnown(key, (times) => {
    for (let at = 0; at < most; at += 1) times.set(at, Number.NEGATIVE_INFINITY);
  });
}

export type LoginLimiter = ReturnType<typeof createLoginLimiter>;

/** Creates the limiter: exact sliding windows, shared by the threads of this node. */
export function createLoginLimiter(clock: () => number = monotonicNow, memory = allocateLogins()) {
  const pairs = new SharedTable(memory.pairs, PAIRS);
  const addresses = new SharedTable(memory.addresses, ADDRESSES);
  const codes = new SharedTable(memory.codes, CODES);
  const pairOf = (origin: string, name: string) => `${origin} ${name}`;
  const note = (table: SharedTable, key: string, now: number, window: typeof OF_PAIR): number =>
    table.use(key, now, (times) => noteInWindow(times, now, window)) ?? 0;
  return {
    /** Counts a TOTP code for a name, from any address; returns as `take`. */
    takeCode: (name: string) => note(codes, name, clock(), OF_CODES),
    forgetCodes: (name: string) => forget(codes, name, OF_CODES),
    /** Counts an attempt before its password is checked. Returns 0, or the seconds until the next attempt is allowed. */
    take(address: string, name: string): number {
      const now = clock();
      const origin = countedOrigin(addresses, address, now, WINDOW_MS);
      // A refused address creates no pair: invented names would evict the pairs that limit guesses.
      const wait = addresses.useKnown(origin, (times) => waitOfWindow(times, now, OF_ADDRESS));
      if (wait !== undefined && wait > 0) return wait;
      // An attempt refused for its name costs no hash and does not count for its address.
      return note(pairs, pairOf(origin, name), now, OF_PAIR) || note(addresses, origin, now, OF_ADDRESS);
    },
    /** Clears the attempts of this pair and of this address after a correct password. */
    forget(address: string, name: string): void {
      const origin = countedOrigin(addresses, address, clock(), WINDOW_MS);
      forget(pairs, pairOf(origin, name), OF_PAIR);
      forget(addresses, origin, OF_ADDRESS);
    },
  };
}
