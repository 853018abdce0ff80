import { originOf } from "../platform/http/networks.ts";
import { monotonicNow, noteInWindow, SharedTable, waitOfWindow } from "../platform/runtime/shared-memory.ts";
import { looksLikeCredential } from "./secrets.ts";

/** This many /64 networks of one /48 are counted separately; any further ones are counted together as the /48. */
const SUBNETS_OF_SITE = 8;

/** Minimum `numbers` per row of a table passed to `countedOrigin`. */
const ORIGIN_NUMBERS = 2 * SUBNETS_OF_SITE;

/**
 * The network that an address is counted under: an IPv4 address itself; an IPv6 address's /64, or its /48 if many other /64 networks of
 * it were counted within the window, because a provider assigns a whole /48 to one customer. The table records those /64 networks.
 */
function countedOrigin(table: SharedTable, address: string, now: number, windowMs: number): string {
  const { subnet, site, subnetNumber } = originOf(address);
  if (site === subnet) return subnet;
  const countsAlone = table.use(`subnets of ${site}`, now, (row) => {
    let free: number | undefined;
    for (let at = 0; at < ORIGIN_NUMBERS; at += 2) {
      if (row.isNew) row.set(at + 1, Number.NEGATIVE_INFINITY);
      const isCurrent = row.get(at + 1) > now - windowMs;
      if (isCurrent && row.get(at) === subnetNumber) {
        free = at;
        break;
      }
      if (!isCurrent) free ??= at;
    }
    if (free === undefined) return false;
    row.set(free, subnetNumber);
    row.set(free + 1, now);
    return true;
  });
  return countsAlone === true ? subnet : site;
}

/** Failed authentications per minute for each network (IPv4: address) and client id (contract, "Limits"). */
const FAILURES_PER_MINUTE = 20;

const WINDOW = { most: FAILURES_PER_MINUTE, windowMs: 60_000 } as const;

/**
 * Stored pairs of address and client id, with at most 20 times each. An attacker can evict pairs by inventing ids, but gains only
 * guesses at a 256-bit secret.
 */
const FAILURES = { rows: 10_000, numbers: Math.max(FAILURES_PER_MINUTE, ORIGIN_NUMBERS) } as const;

/** Memory for the failures, shared by all threads of the process. */
export function allocateFailures(): SharedArrayBuffer {
  return SharedTable.allocate(FAILURES);
}

export type FailureLimiter = ReturnType<typeof createFailureLimiter>;

/** Creates the limiter: an exact sliding minute, shared by the threads of this node. */
export function createFailureLimiter(clock: () => number = monotonicNow, memory = allocateFailures()) {
  const failures = new SharedTable(memory, FAILURES);
  return {
    /**
     * Records a failed authentication. Returns 0 within the limit, otherwise seconds until the next attempt is allowed. Not called for a
     * correct secret, so nobody can lock out a partner by failing in its name.
     */
    fail(address: string, clientId: string): number {
      const now = clock();
      // Malformed ids share one entry: stored as sent, they would be long and would evict real ones.
      const origin = countedOrigin(failures, address, now, WINDOW.windowMs);
      const pair = `${origin} ${looksLikeCredential(clientId) ? clientId : ""}`;
      return failures.use(pair, now, (times) => noteInWindow(times, now, WINDOW)) ?? 0;
    },
  };
}

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
