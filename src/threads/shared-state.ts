import { RequestIdStamp } from "../accept/request-id.ts";
import { allocateFailures } from "../auth/failure-limiter.ts";
import { allocateLogins } from "../auth/login-limiter.ts";
import { allocateRates } from "../auth/rate-limiter.ts";
import { allocateBudget, type BudgetMemory } from "../http/body-budget.ts";
import { SharedCounter } from "../memory/shared-counter.ts";
import { BucketHints } from "./bucket-hints.ts";
import { NodeCounts } from "./node-counts.ts";

/** What must be counted once for the whole process, in memory that all its threads share (4 MB). */
export interface SharedState {
  readonly hints: SharedArrayBuffer;
  readonly stamp: SharedArrayBuffer;
  readonly rates: SharedArrayBuffer;
  readonly failures: SharedArrayBuffer;
  /** Passwords tried at the console. */
  readonly logins: SharedArrayBuffer;
  readonly budget: BudgetMemory;
  /** Changes of clients, keys and denied tokens that a thread of this process was told of. */
  readonly authChanges: SharedArrayBuffer;
  /** How many nodes share a client's request rate. */
  readonly nodes: SharedArrayBuffer;
  /** Above zero once the process was told to stop. */
  readonly leaving: SharedArrayBuffer;
}

/** `applyWriters`: how many threads apply. */
export function allocateSharedState(applyWriters: number): SharedState {
  return {
    hints: BucketHints.allocate(applyWriters),
    stamp: RequestIdStamp.allocate(),
    rates: allocateRates(),
    failures: allocateFailures(),
    logins: allocateLogins(),
    budget: allocateBudget(),
    authChanges: SharedCounter.allocate(),
    nodes: NodeCounts.allocate(),
    leaving: SharedCounter.allocate(),
  };
}
