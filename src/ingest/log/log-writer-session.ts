import type { PendingAppend } from "./log-entry.ts";

/** SQLSTATE of an append whose ids are at or below what was promised: division by zero. */
export const PROMISED = "22012";

/** One append of a flush with the id stamped for it. */
export interface StampedAppend {
  readonly append: PendingAppend;
  readonly requestId: string;
}

/** What the database says of a log writer that it has just registered. `floor`: the newest id of the log, if it has any. */
export interface LogWriterBirth {
  readonly log_writer_id: string;
  readonly floor: string | null;
  readonly database_now_ms: number;
}

/** One row that an append wrote. */
export interface AppendedRow {
  readonly request_id: string;
  readonly database_now_ms: number;
}

export interface HeldKey {
  readonly client_id: string;
  readonly key: string;
  readonly request_id: string;
  readonly fingerprint: string;
}

/**
 * What a log writer asks of the database: one connection, statement by statement. Every promise rejects with what the database
 * answered (with its SQLSTATE as `code`), or with another error when there was no answer. PostgreSQL's is in
 * postgres-log writer-session.ts, that of a simulation in test/simulation.
 */
export interface LogWriterSession {
  /** Begins the transaction in which the log writer is born, and waits until no other is being born. */
  beginBirth(): Promise<unknown>;
  /** Undefined when the database does not show this connection. */
  register(): Promise<LogWriterBirth | undefined>;
  commit(): Promise<unknown>;
  /** Makes the log's partitions for this time and what follows. */
  makePartitions(atMs: number): Promise<void>;
  /**
   * Writes a flush as one transaction; rows whose Idempotency-Key another request holds are left out. `clockReadBy`: by when, of this
   * machine's monotonic clock, the database's had been read, where that is not the end of it.
   */
  append(
    logWriterId: string,
    stamped: readonly StampedAppend[],
  ): Promise<{ readonly rows: readonly AppendedRow[]; readonly clockReadBy?: number }>;
  /** The id at or below which none is taken any more; an append with such a one fails with PROMISED. */
  readPromise(): Promise<string | undefined>;
  readHeldKeys(
    wanted: readonly { readonly client_id: string; readonly key: string | undefined }[],
  ): Promise<{ readonly rows: readonly HeldKey[] }>;
  close(): Promise<void>;
}

/** Opens a session; `lost` is called when it ends, perhaps more than once. */
export type OpenLogWriterSession = (lost: (error: unknown) => void) => Promise<LogWriterSession>;
