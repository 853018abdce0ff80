import { freeDiskBytes } from "./open-database.ts";

const LOOK_MS = 1_000;

/**
 * Watches the free space under the embedded database. PostgreSQL panics when its write-ahead log cannot be written, so
 * batches are refused before that.
 */
export class DiskWatch {
  #blocked: string | undefined;
  readonly #timer: NodeJS.Timeout | undefined;

  constructor(directory: string | undefined, minFreeBytes: number) {
    if (directory === undefined || minFreeBytes === 0) return;
    const look = () =>
      freeDiskBytes(directory).then(
        (bytes) => {
          this.#blocked = bytes < minFreeBytes ? "The disk is almost full." : undefined;
        },
        () => {
          this.#blocked = "The free disk space cannot be read.";
        },
      );
    void look();
    this.#timer = setInterval(look, LOOK_MS).unref();
  }

  /** Why nothing may be accepted now; undefined when there is room. */
  get blocked(): string | undefined {
    return this.#blocked;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
