import { readFile, rename, writeFile } from "node:fs/promises";

/**
 * The last accepted version of each reservation, so that only changes are sent. It is written after the 202, never before: if it is
 * lost, or outdated after a crash, unchanged reservations are sent again and are duplicates.
 */
export class SentState {
  readonly #file: string;
  readonly #sent: Map<string, string>;

  private constructor(file: string, sent: Map<string, string>) {
    this.#file = file;
    this.#sent = sent;
  }

  static async open(file: string): Promise<SentState> {
    try {
      return new SentState(file, new Map(Object.entries(JSON.parse(await readFile(file, "utf8")))));
    } catch {
      return new SentState(file, new Map());
    }
  }

  /** Whether this very content was accepted before. */
  has(id: string, content: object): boolean {
    return this.#sent.get(id) === JSON.stringify(content);
  }

  note(id: string, content: object): void {
    this.#sent.set(id, JSON.stringify(content));
  }

  /** Whole or not at all: a file that is cut off by a crash would be no JSON. */
  async save(): Promise<void> {
    await writeFile(`${this.#file}.new`, JSON.stringify(Object.fromEntries(this.#sent)));
    await rename(`${this.#file}.new`, this.#file);
  }
}
