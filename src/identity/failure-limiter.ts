import { monotonicNow } from "../platform/runtime/clock.ts";
import { SharedTable } from "../platform/runtime/shared-table.ts";
import { noteInWindow } from "../platform/runtime/sliding-window.ts";
import { countedOrigin, ORIGIN_NUMBERS } from "./counted-origin.ts";
import { looksLikeCredential } from "./secrets.ts";

/** Failed authentications a minute for each address (of IPv6: each network) and client id (contract, "Limits"). */
const FAILURES_PER_MINUTE = 20;

const WINDOW = { most: FAILURES_PER_MINUTE, windowMs: 60_000 } as const;

/**
 * Pairs of address and client id remembered; each holds at most 20 times. Whoever pushes others out by inventing ids
 * gains guesses at a 256-bit secret, which is nothing.
 */
const SHAPE = { rows: 10_000, numbers: Math.max(FAILURES_PER_MINUTE, ORIGIN_NUMBERS) } as const;

export interface FailureLimiter {
  /**
   * Notes a failed authentication. Returns 0 when it is within the limit, else the seconds until another would be.
   * Ids that no client can have count as one.
   * Never asked about a correct secret, so nobody can lock a partner out by failing in its name.
   */
  fail(address: string, clientId: string): number;
}

/** Memory for the failures that one process remembers, which all its threads share. */
export function allocateFailures(): SharedArrayBuffer {
  return SharedTable.allocate(SHAPE);
}

/** Makes the limiter: a sliding minute, exact, in the memory of this node, whichever of its threads is asked. */
export function createFailureLimiter(
  clock: () => number = monotonicNow,
  memory = allocateFailures(),
): FailureLimiter {
  const failures = new SharedTable(memory, SHAPE);
  return {
    fail(address, clientId) {
      const now = clock();
      // An id that no client can have is as long as its form, and another each time: remembered as sent they would push
      // out those that matter.
      const origin = countedOrigin(failures, address, now, WINDOW.windowMs);
      const pair = `${origin} ${looksLikeCredential(clientId) ? clientId : ""}`;
      return failures.use(pair, now, (times) => noteInWindow(times, now, WINDOW)) ?? 0;
    },
  };
}
