import { monotonicNow, noteInWindow, SharedTable } from "../platform/runtime/shared-memory.ts";
import { countedOrigin, ORIGIN_NUMBERS } from "./counted-origin.ts";
import { looksLikeCredential } from "./secrets.ts";

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
