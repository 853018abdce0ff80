import { SharedLock, SharedTable } from "../runtime/shared-memory.ts";
import { monotonicNow } from "../runtime/time.ts";
import { BodyBuffers } from "./body-buffers.ts";

/** Clients that may have bodies in flight at once; each has a row only as long as it has. */
const SHAPE = { rows: 16_384, numbers: 1 } as const;
const BYTES = 0;
/** A lock, what is counted in all, and how much of that is kept for bodies to come. */
const SUMS_BYTES = 24;
const ALL = 0;
const KEPT = 1;

/** The memory of one process's budget, which all its threads share. */
export interface BudgetMemory {
  readonly sums: SharedArrayBuffer;
  readonly clients: SharedArrayBuffer;
}

export function allocateBudget(): BudgetMemory {
  return { sums: new SharedArrayBuffer(SUMS_BYTES), clients: SharedTable.allocate(SHAPE) };
}

/**
 * The memory of all bodies in flight under one bound, so that many large bodies at once are refused instead of exhausting
 * it: one budget for all threads of the process. It counts room, not bytes: what was made for a body, whether or not it is
 * filled yet, and the buffers that are kept for the next bodies. One client gets half of it at most: what it stalls on must
 * not keep out the others.
 */
export class BodyBudget {
  readonly #bytesMax: number;
  readonly #clientBytesMax: number;
  readonly #lock: SharedLock;
  readonly #sums: Float64Array;
  readonly #clients: SharedTable;
  readonly #buffers = new BodyBuffers();

  /** `bodyBytesMax` is the room of the largest body there is: a client's half is never less than that. */
  constructor(bytesMax: number, bodyBytesMax: number, memory = allocateBudget()) {
    this.#bytesMax = bytesMax;
    this.#clientBytesMax = Math.max(bytesMax / 2, bodyBytesMax);
    this.#lock = new SharedLock(new Int32Array(memory.sums, 0, 1), 0);
    this.#sums = new Float64Array(memory.sums, Float64Array.BYTES_PER_ELEMENT, 2);
    this.#clients = new SharedTable(memory.clients, SHAPE);
  }

  /** Of the bodies in flight, without what is kept for the next ones. */
  get bytesInUse(): number {
    return this.#lock.run(() => (this.#sums[ALL] as number) - (this.#sums[KEPT] as number));
  }

  /** Takes bytes for a client if there is room; `false` otherwise. */
  take(clientId: string, bytes: number): boolean {
    if (this.#takeFor(clientId, bytes, () => this.#add(bytes, 0))) return true;
    const kept = this.#buffers.clear();
    if (kept === 0) return false;
    this.#add(-kept, -kept);
    return this.#takeFor(clientId, bytes, () => this.#add(bytes, 0));
  }

  /** Gives back bytes that were taken. */
  release(clientId: string, bytes: number): void {
    if (bytes !== 0) this.#giveBack(clientId, bytes, () => this.#add(-bytes, 0));
  }

  /** A buffer of exactly so many bytes, taken for a client: one that was kept, or a new one. Undefined without room. */
  takeBuffer(clientId: string, size: number): Buffer | undefined {
    const kept = this.#buffers.takeKept(size);
    if (kept === undefined) return this.take(clientId, size) ? Buffer.allocUnsafeSlow(size) : undefined;
    if (this.#takeFor(clientId, size, () => this.#add(0, -size))) return kept;
    if (!this.#buffers.giveBack(kept)) this.#add(-size, -size);
    return undefined;
  }

  /** Gives back a buffer that nothing refers to any more: it is kept for the next body, or freed. */
  giveBackBuffer(clientId: string, buffer: Buffer): void {
    const size = buffer.length;
    const stays = this.#buffers.giveBack(buffer);
    this.#giveBack(clientId, size, () => (stays ? this.#add(0, size) : this.#add(-size, 0)));
  }

  #takeFor(clientId: string, bytes: number, count: () => boolean): boolean {
    const taken = this.#clients.use(
      clientId,
      monotonicNow(),
      (client) => {
        const ofClient = client.get(BYTES) + bytes;
        if (ofClient > this.#clientBytesMax || !count()) return false;
        client.set(BYTES, ofClient);
        return true;
      },
      (other) => other.get(BYTES) === 0,
    );
    return taken === true;
  }

  #giveBack(clientId: string, bytes: number, count: () => boolean): void {
    this.#clients.use(clientId, monotonicNow(), (client) => {
      client.set(BYTES, client.get(BYTES) - bytes);
      count();
    });
  }

  #add(all: number, kept: number): boolean {
    return this.#lock.run(() => {
      const sum = (this.#sums[ALL] as number) + all;
      if (all > 0 && sum > this.#bytesMax) return false;
      this.#sums[ALL] = sum;
      this.#sums[KEPT] = (this.#sums[KEPT] as number) + kept;
      return true;
    });
  }
}
