import { appendFileSync, closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import type { SendJournal } from "#client";
import { UsageError } from "../platform/errors/operator-error.ts";

/** The service and client that a file is sent to: a journal is valid for one pair only. */
export interface JournalOwner {
  readonly url: string;
  readonly clientId: string;
}

const LINE = /^([\x21-\x7e]{1,255}) ([0-9a-f-]{36})$/;

/**
 * The accepted batches of a file, in a file of its own: a head that names the owner, then a line per batch. A line that a kill cut
 * off does not count: its batch is sent again, under the same Idempotency-Key.
 */
export class FileJournal implements SendJournal {
  /** Batches that an earlier run had sent. */
  readonly resumed: number;
  readonly #path: string;
  readonly #file: number;
  readonly #accepted: Map<string, string>;

  private constructor(path: string, accepted: Map<string, string>, head: string) {
    this.#path = path;
    this.#accepted = accepted;
    this.resumed = accepted.size;
    this.#file = openSync(path, "a", 0o600);
    appendFileSync(this.#file, head);
  }

  /** Opens the journal at `path`, or begins one. Throws UsageError where that file is another owner's, or no journal. */
  static open(path: string, owner: JournalOwner): FileJournal {
    const head = JSON.stringify({ bellhop: "send", ...owner });
    if (!existsSync(path)) return new FileJournal(path, new Map(), `${head}\n`);
    const [first, ...lines] = readFileSync(path, "utf8").split("\n");
    if (first !== head)
      throw new UsageError(
        `${path} is not the state of this send: it belongs to another service, client or file. Use another --state FILE or remove it.`,
      );
    const accepted = new Map<string, string>();
    for (const line of lines) {
      const [, key, requestId] = LINE.exec(line) ?? [];
      if (key !== undefined && requestId !== undefined) accepted.set(key, requestId);
    }
    // Ends a line that a kill cut off.
    return new FileJournal(path, accepted, "\n");
  }

  find(idempotencyKey: string): string | undefined {
    return this.#accepted.get(idempotencyKey);
  }

  note(idempotencyKey: string, requestId: string): void {
    appendFileSync(this.#file, `${idempotencyKey} ${requestId}\n`);
  }

  /** `done`: all is sent, and the file is removed. */
  close(done: boolean): void {
    closeSync(this.#file);
    if (done) rmSync(this.#path, { force: true });
  }
}
