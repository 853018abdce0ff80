import { BoundedMap } from "./bounded-map.ts";
import { looksLikeCredential } from "./secrets.ts";

/** Failed authentications a minute for each address and client id (contract, "Limits"). */
const FAILURES_PER_MINUTE = 20;

const MINUTE_MS = 60_000;

/**
 * Pairs of address and client id remembered; each holds at most 20 times. Whoever pushes others out by inventing ids
 * gains guesses at a 256-bit secret, which is nothing.
 */
const PAIRS_MAX = 10_000;

export interface FailureLimiter {
  /**
   * Notes a failed authentication. Returns 0 when it is within the limit, else the seconds until another would be.
   * Ids that no client can have count as one.
   * Never asked about a correct secret, so nobody can lock a partner out by failing in its name.
   */
  fail(address: string, clientId: string): number;
}

/** Makes the limiter: a sliding minute, exact, in the memory of this node. */
export function createFailureLimiter(clock: () => number = () => performance.now()): FailureLimiter {
  const failures = new BoundedMap<string, number[]>(PAIRS_MAX);
  return {
    fail(address, clientId) {
      const now = clock();
      // An id that no client can have is as long as its form: remembered as sent, 10,000 of them would be over 80 MB.
      const pair = `${address} ${looksLikeCredential(clientId) ? clientId : ""}`;
      const recent = (failures.get(pair) ?? []).filter((time) => time > now - MINUTE_MS);
      const oldest = recent[0];
      if (oldest !== undefined && recent.length >= FAILURES_PER_MINUTE) {
        return Math.max(1, Math.ceil((oldest + MINUTE_MS - now) / 1000));
      }
      recent.push(now);
      failures.set(pair, recent);
      return 0;
    },
  };
}
