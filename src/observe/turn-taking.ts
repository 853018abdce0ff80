import type { DestinationStream } from "pino";
import { SharedLock } from "../memory/shared-lock.ts";

/** Memory for the lock under which the threads of a process write to one place. */
export function allocateTurns(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
}

/**
 * Writes while no other thread does, so that lines stay whole: a pipe whose reader is slow takes a write in pieces, and
 * those of several threads would mix. Whoever waits for a slow reader holds up the others, as it holds up one thread alone.
 */
export class TurnTaking implements DestinationStream {
  readonly #destination: DestinationStream;
  readonly #lock: SharedLock;

  /** `destination` writes at once and whole. */
  constructor(destination: DestinationStream, turns: SharedArrayBuffer) {
    this.#destination = destination;
    this.#lock = new SharedLock(new Int32Array(turns), 0, Number.POSITIVE_INFINITY);
  }

  write(lines: string): void {
    this.#lock.run(() => this.#destination.write(lines));
  }
}
