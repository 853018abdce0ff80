import type { AcceptLog } from "../ingest/log/accept-log.ts";

/**
 * The log for batches of backfills, by log writers of their own: opened when the first of them comes, so that a node without any
 * holds no connection for them.
 */
export class BackfillLog {
  readonly #openLog: () => Promise<AcceptLog>;
  #log: Promise<AcceptLog> | undefined;
  #closed = false;

  constructor(openLog: () => Promise<AcceptLog>) {
    this.#openLog = openLog;
  }

  /** Rejects where it cannot be opened now; the next batch tries again. */
  open(): Promise<AcceptLog> {
    if (this.#closed) return Promise.reject(new Error("The service is stopping."));
    this.#log ??= this.#openLog().catch((error: unknown) => {
      this.#log = undefined;
      throw error;
    });
    return this.#log;
  }

  /** Lets what waits be written, then closes the log writers. */
  async close(): Promise<void> {
    this.#closed = true;
    const log = await this.#log?.catch(() => undefined);
    await log?.close();
  }
}
