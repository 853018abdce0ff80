import { allocateFailures, allocateLogins, type LoginMemory } from "../identity/attempt-limiters.ts";
import { allocateRates } from "../identity/authenticator.ts";
import { BUCKET_COUNT, RequestIdStamp } from "../ingest/log/part-name.ts";
import { allocateBudget, type BudgetMemory } from "../platform/http/receive-body.ts";
import { SharedCounter, SharedHints } from "../platform/runtime/shared-memory.ts";

/** What must be counted once for the whole process, in memory that all its threads share (4 MB). */
export interface SharedState {
  readonly hints: SharedArrayBuffer;
  readonly stamp: SharedArrayBuffer;
  readonly rates: SharedArrayBuffer;
  readonly failures: SharedArrayBuffer;
  /** Passwords tried at the console. */
  readonly logins: LoginMemory;
  readonly budget: BudgetMemory;
  /** Counts the changes of clients, keys and denied tokens that this process has been notified of. */
  readonly authChanges: SharedArrayBuffer;
  /** How many nodes there are for each kind of request, as the main thread found last. */
  readonly nodes: Readonly<Record<"accept" | "read", SharedArrayBuffer>>;
  /** Above zero once the process is stopping. */
  readonly leaving: SharedArrayBuffer;
}

/** `applyWriters`: how many threads apply. */
export function allocateSharedState(applyWriters: number): SharedState {
  return {
    hints: SharedHints.allocate(BUCKET_COUNT, applyWriters),
    stamp: RequestIdStamp.allocate(),
    rates: allocateRates(),
    failures: allocateFailures(),
    logins: allocateLogins(),
    budget: allocateBudget(),
    authChanges: SharedCounter.allocate(),
    nodes: { accept: SharedCounter.allocate(), read: SharedCounter.allocate() },
    leaving: SharedCounter.allocate(),
  };
}
