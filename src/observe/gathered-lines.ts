import type { DestinationStream } from "pino";

/** More than this is not kept waiting for the end of the turn. */
const CHARACTERS_MAX = 65_536;

/**
 * Gathers the lines of one turn of the event loop and writes them at its end in one system call, which for a line by
 * itself costs as much as making it. What is left when the process ends by itself or by an error is written then, and
 * at once when a fatal line came (pino calls `flushSync`): only a kill can take the lines of the turn it falls into.
 */
export class GatheredLines implements DestinationStream {
  readonly #destination: DestinationStream;
  #lines = "";
  #scheduled = false;

  constructor(destination: DestinationStream) {
    this.#destination = destination;
    process.on("exit", () => this.flushSync());
  }

  /** Takes one line. */
  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length > CHARACTERS_MAX) this.flushSync();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flushSync();
      });
    }
  }

  /** Writes what was gathered. */
  flushSync(): void {
    const lines = this.#lines;
    if (lines === "") return;
    this.#lines = "";
    this.#destination.write(lines);
  }
}
