import { allocateFailures, allocateLogins } from "../identity/attempt-limiters.ts";
import { allocateRates } from "../identity/rate-limiter.ts";
import { RequestIdStamp } from "../ingest/log/part-name.ts";
import type { Presence, Role } from "../platform/db/presence.ts";
import { allocateBudget, type BudgetMemory } from "../platform/http/receive-body.ts";
import { SharedCounter } from "../platform/runtime/shared-memory.ts";
import { BucketHints } from "./bucket-hints.ts";

const INDEX = { accept: 0, read: 1 } as const satisfies Partial<Record<Role, number>>;

/** The roles in which requests come to a node. */
type ServingRole = keyof typeof INDEX;

/** How many nodes there are for each kind of request, as the main thread found last, in memory that all threads share. */
export class NodeCounts {
  readonly #counts: Int32Array;

  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(Object.keys(INDEX).length * Int32Array.BYTES_PER_ELEMENT);
  }

  constructor(memory = NodeCounts.allocate()) {
    this.#counts = new Int32Array(memory);
  }

  /** At least one: who asks is there. */
  of(role: ServingRole): number {
    return Math.max(1, Atomics.load(this.#counts, INDEX[role]));
  }

  set(present: ReadonlyMap<Presence, number>): void {
    for (const role of ["accept", "read"] as const)
      Atomics.store(this.#counts, INDEX[role], present.get(role) ?? 0);
  }
}

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
