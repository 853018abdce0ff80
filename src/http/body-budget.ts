import { monotonicNow } from "../memory/clock.ts";
import { SharedLock } from "../memory/shared-lock.ts";
import { SharedTable } from "../memory/shared-table.ts";

/** Clients that may have bodies in flight at once; each has a row only as long as it has. */
const SHAPE = { rows: 16_384, numbers: 1 } as const;
const BYTES = 0;
/** Before the table: the lock of the sum, and the sum. */
const SUM_BYTES = 16;

/** The memory of one process's budget, which all its threads share. */
export interface BudgetMemory {
  readonly sum: SharedArrayBuffer;
  readonly clients: SharedArrayBuffer;
}

export function allocateBudget(): BudgetMemory {
  return { sum: new SharedArrayBuffer(SUM_BYTES), clients: SharedTable.allocate(SHAPE) };
}

/**
 * The bytes of all bodies in flight, decompressed, under one bound, so that many large bodies at once are refused
 * instead of exhausting the memory: one budget for all threads of the process. One client gets half of it at most: what it
 * stalls on must not keep out the others.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #clientBytesMax: number;
  readonly #lock: SharedLock;
  readonly #sum: Float64Array;
  readonly #clients: SharedTable;

  /** `bodyBytesMax` is the largest body there is: a client's half is never less than that. */
  constructor(bytesMax: number, bodyBytesMax: number, memory = allocateBudget()) {
    this.#bytesMax = bytesMax;
    this.#clientBytesMax = Math.max(bytesMax / 2, bodyBytesMax);
    this.#lock = new SharedLock(new Int32Array(memory.sum, 0, 1), 0);
    this.#sum = new Float64Array(memory.sum, Float64Array.BYTES_PER_ELEMENT, 1);
    this.#clients = new SharedTable(memory.clients, SHAPE);
  }

  get bytesInUse(): number {
    return this.#lock.run(() => this.#sum[0] as number);
  }

  /** Takes bytes for a client if there is room; `false` otherwise. */
  take(clientId: string, bytes: number): boolean {
    const taken = this.#clients.use(
      clientId,
      monotonicNow(),
      (client) => {
        const ofClient = client.get(BYTES) + bytes;
        if (ofClient > this.#clientBytesMax || !this.#addToSum(bytes)) return false;
        client.set(BYTES, ofClient);
        return true;
      },
      (other) => other.get(BYTES) === 0,
    );
    return taken === true;
  }

  /** Gives back bytes that were taken. */
  release(clientId: string, bytes: number): void {
    if (bytes === 0) return;
    this.#clients.use(clientId, monotonicNow(), (client) => {
      client.set(BYTES, client.get(BYTES) - bytes);
      this.#addToSum(-bytes);
    });
  }

  #addToSum(bytes: number): boolean {
    return this.#lock.run(() => {
      const sum = (this.#sum[0] as number) + bytes;
      if (sum > this.#bytesMax) return false;
      this.#sum[0] = sum;
      return true;
    });
  }
}
