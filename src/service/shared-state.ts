import { allocateFailures } from "../identity/failure-limiter.ts";
import { allocateLogins, type LoginMemory } from "../identity/login-limiter.ts";
import { allocateRates } from "../identity/rate-limiter.ts";
import { BUCKET_COUNT, RequestIdStamp } from "../ingest/log/part-name.ts";
import { allocateBudget, type BudgetMemory } from "../platform/http/receive-body.ts";
import { SharedCounter, SharedHints } from "../platform/runtime/shared-memory.ts";

/** State shared by all threads of the process (4 MB). */
export interface SharedState {
  readonly hints: SharedArrayBuffer;
  readonly stamp: SharedArrayBuffer;
  readonly rates: SharedArrayBuffer;
  /** Of HeavySenders. */
  readonly heavyUntil: SharedArrayBuffer;
  readonly failures: SharedArrayBuffer;
  /** Login attempts at the console. */
  readonly logins: LoginMemory;
  readonly budget: BudgetMemory;
  /** Number of auth data changes that this process has been notified of. */
  readonly authChanges: SharedArrayBuffer;
  /** Number of nodes per kind of request, as last counted by the main thread. */
  readonly nodes: Readonly<Record<"accept" | "read", SharedArrayBuffer>>;
  /** Positive once the process is stopping. */
  readonly leaving: SharedArrayBuffer;
}

/** `applyWriters`: number of apply threads. */
export function allocateSharedState(applyWriters: number): SharedState {
  return {
    hints: SharedHints.allocate(BUCKET_COUNT, applyWriters),
    stamp: RequestIdStamp.allocate(),
    rates: allocateRates(),
    heavyUntil: SharedCounter.allocate(),
    failures: allocateFailures(),
    logins: allocateLogins(),
    budget: allocateBudget(),
    authChanges: SharedCounter.allocate(),
    nodes: { accept: SharedCounter.allocate(), read: SharedCounter.allocate() },
    leaving: SharedCounter.allocate(),
  };
}
