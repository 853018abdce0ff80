import { originOf } from "../platform/http/networks.ts";
import { monotonicNow, noteInWindow, SharedTable } from "../platform/runtime/shared-memory.ts";
import { looksLikeCredential } from "./secrets.ts";

/** So many /64 of one /48 are counted each on its own; more of them count together, as that /48. */
const SUBNETS_OF_SITE = 8;

/** How many numbers the rows of a table have at least that `countedOrigin` is given. */
const ORIGIN_NUMBERS = 2 * SUBNETS_OF_SITE;

/**
 * What an address counts as: an address of IPv4 as itself; one of IPv6 as its /64, and as its /48 where many other /64 of that were
 * counted within the window, since a provider gives a whole /48 to one customer. The table keeps which /64 those are.
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

/** Failed authentications a minute for each address (of IPv6: each network) and client id (contract, "Limits"). */
const FAILURES_PER_MINUTE = 20;

const WINDOW = { most: FAILURES_PER_MINUTE, windowMs: 60_000 } as const;

/**
 * Remembered pairs of address and client id, with at most 20 times each. An attacker can evict pairs by inventing ids, but
 * gains only guesses at a 256-bit secret.
 */
const FAILURES = { rows: 10_000, numbers: Math.max(FAILURES_PER_MINUTE, ORIGIN_NUMBERS) } as const;

/** Memory for the failures that one process remembers, which all its threads share. */
export function allocateFailures(): SharedArrayBuffer {
  return SharedTable.allocate(FAILURES);
}

export type FailureLimiter = ReturnType<typeof createFailureLimiter>;

/** Makes the limiter: a sliding minute, exact, in the memory of this node, whichever of its threads is asked. */
export function createFailureLimiter(clock: () => number = monotonicNow, memory = allocateFailures()) {
  const failures = new SharedTable(memory, FAILURES);
  return {
    /**
     * Notes a failed authentication. Returns 0 when it is within the limit, else the seconds until another would be.
     * Ids that no client can have count as one.
     * Never asked about a correct secret, so nobody can lock a partner out by failing in its name.
     */
    fail(address: string, clientId: string): number {
      const now = clock();
      // An id that no client can have is as long as its form, and another each time: remembered as sent they would push
      // out those that matter.
      const origin = countedOrigin(failures, address, now, WINDOW.windowMs);
      const pair = `${origin} ${looksLikeCredential(clientId) ? clientId : ""}`;
      return failures.use(pair, now, (times) => noteInWindow(times, now, WINDOW)) ?? 0;
    },
  };
}

/**
 * Wrong passwords for one name from one address within the window. Unlike a client's secret, a password can be guessed, so
 * beyond this limit Bellhop checks none, not even the right one.
 */
const ATTEMPTS_MAX = 10;
/**
 * Attempts from one address for all names together: each takes a processor a fifth of a second and waits in a queue, which an
 * attacker could otherwise fill by inventing names.
 */
const ADDRESS_ATTEMPTS_MAX = 30;
const WINDOW_MS = 300_000;
/** A code has six digits, and only who knows the password may try one. */
const CODES_MAX = 5;
const CODES_WINDOW_MS = 900_000;
/** Only names of operators get here. Their own table, because made-up names push rows out of that of attempts. */
const CODES = { rows: 1_024, numbers: CODES_MAX } as const;

/** Addresses, and pairs of address and name, that are remembered: each attempt costs a hash, one after another. */
const LOGINS = { rows: 10_000, numbers: Math.max(ADDRESS_ATTEMPTS_MAX, ORIGIN_NUMBERS) } as const;

/** Memory for the attempts and codes that one process remembers, which all its threads share. */
export interface LoginMemory {
  readonly attempts: SharedArrayBuffer;
  readonly codes: SharedArrayBuffer;
}

export function allocateLogins(): LoginMemory {
  return { attempts: SharedTable.allocate(LOGINS), codes: SharedTable.allocate(CODES) };
}

export type LoginLimiter = ReturnType<typeof createLoginLimiter>;

/** Makes the limiter: a sliding window, exact, in the memory of this node, whichever of its threads is asked. */
export function createLoginLimiter(clock: () => number = monotonicNow, memory = allocateLogins()) {
  const attempts = new SharedTable(memory.attempts, LOGINS);
  const codes = new SharedTable(memory.codes, CODES);
  const pairOf = (origin: string, name: string) => `${origin} ${name}`;
  const note = (table: SharedTable, key: string, now: number, most: number, windowMs = WINDOW_MS): number =>
    table.use(key, now, (times) => noteInWindow(times, now, { most, windowMs })) ?? 0;
  const forget = (table: SharedTable, key: string, now: number, attemptsMax: number): void => {
    table.use(key, now, (times) => {
      for (let at = 0; at < attemptsMax; at += 1) times.set(at, Number.NEGATIVE_INFINITY);
    });
  };
  return {
    /** Notes a code of an authenticator app for a name, whichever address it came from; answers as `take`. */
    takeCode: (name: string) => note(codes, name, clock(), CODES_MAX, CODES_WINDOW_MS),
    forgetCodes: (name: string) => forget(codes, name, clock(), CODES_MAX),
    /**
     * Counts an attempt before its password is checked; returns 0, or the seconds until the next attempt is allowed. IPv6
     * addresses count by network.
     */
    take(address: string, name: string): number {
      const now = clock();
      const origin = countedOrigin(attempts, address, now, WINDOW_MS);
      // What is refused for its name costs nothing, and is not counted for its address.
      return (
        note(attempts, pairOf(origin, name), now, ATTEMPTS_MAX) ||
        note(attempts, origin, now, ADDRESS_ATTEMPTS_MAX)
      );
    },
    /** Forgets the attempts of this pair and of this address: the password was right. */
    forget(address: string, name: string): void {
      const now = clock();
      const origin = countedOrigin(attempts, address, now, WINDOW_MS);
      forget(attempts, pairOf(origin, name), now, ATTEMPTS_MAX);
      forget(attempts, origin, now, ADDRESS_ATTEMPTS_MAX);
    },
  };
}
