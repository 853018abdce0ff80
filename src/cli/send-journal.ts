import { appendFileSync, closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import type { SendJournal } from "#client";
import { UsageError } from "./verb.ts";

/** For whom a file was being sent: what was accepted from one client is nothing to another. */
export interface JournalOwner {
  readonly url: string;
  readonly clientId: string;
}

const LINE = /^([\x21-\x7e]{1,255}) ([0-9a-f-]{36})$/;

/**
 * What has been accepted of a file, in a file of its own: a head that says for whom, then a line a batch. A line that a kill cut off
 * is no line; its batch is sent again, under the same Idempotency-Key.
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

  /** Opens the journal at `path`, or begins one. Throws UsageError where what lies there is another's, or no journal. */
  static open(path: string, owner: JournalOwner): FileJournal {
    const head = JSON.stringify({ bellhop: "send", ...owner });
    if (!existsSync(path)) return new FileJournal(path, new Map(), `${head}\n`);
    const [first, ...lines] = readFileSync(path, "utf8").split("\n");
    if (first !== head)
      throw new UsageError(
        `${path} is not the state of this send (another service, another client, or another file): give --state FILE, or remove it.`,
      );
    const accepted = new Map<string, string>();
    for (const line of lines) {
      const [, key, requestId] = LINE.exec(line) ?? [];
      if (key !== undefined && requestId !== undefined) accepted.set(key, requestId);
    }
    // Whatever a kill left of a line ends here.
    return new FileJournal(path, accepted, "\n");
  }

  find(idempotencyKey: string): string | undefined {
    return this.#accepted.get(idempotencyKey);
  }

  note(idempotencyKey: string, requestId: string): void {
    appendFileSync(this.#file, `${idempotencyKey} ${requestId}\n`);
  }

  /** `done`: nothing is left to go on with, and the file goes, too. */
  close(done: boolean): void {
    closeSync(this.#file);
    if (done) rmSync(this.#path, { force: true });
  }
}
