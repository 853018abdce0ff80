import type { Presence, Role } from "../db/presence.ts";

const INDEX = { accept: 0, read: 1 } as const satisfies Partial<Record<Role, number>>;

/** The roles in which requests come to a node. */
export type ServingRole = keyof typeof INDEX;

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
