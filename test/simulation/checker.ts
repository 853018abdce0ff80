import type { Backend } from "./backend.ts";
import type { Attempt, Batch } from "./batch.ts";
import type { SimulatedDatabase } from "./database.ts";
import { type LogRow, type LogWriterRow, positionOf, type Transaction } from "./store.ts";

/**
 * What must be true whatever happens, called with everything the moment it happens. It keeps its own count of what was stored
 * and applied and believes no cursor. The first thing that is wrong is kept.
 */
export class Checker {
  failure: string | undefined;
  /** Every time a batch was sent, by number. */
  readonly attempts: Attempt[] = [];
  /** Rows in the log, and applied, in all. */
  stored = 0;
  applied = 0;
  /** The longest that a part has waited to be applied (ms). */
  waitedMsMax = 0;
  readonly #storedAt = new Map<LogRow, number>();
  readonly #newestOfLogWriter = new Map<string, string>();
  /** How many rows of a bucket and log writer are applied: always the first ones. */
  readonly #appliedAt = new Map<string, number>();

  fail(message: string): void {
    this.failure ??= message;
  }

  /** Just before a transaction becomes visible. */
  beforeCommit(database: SimulatedDatabase, backend: Backend, transaction: Transaction): void {
    if (transaction.rows.length > 0) this.#checkAppend(database, backend, transaction);
    if (transaction.outcomes.length > 0 || transaction.cursors.size > 0)
      this.#checkApply(database, backend, transaction);
    for (const logWriter of transaction.closed) this.#checkClosed(database, logWriter);
    for (const logWriter of transaction.retired) this.#checkRetirement(database, logWriter);
  }

  /** A client was answered that a batch is stored. */
  answered(database: SimulatedDatabase, attempt: Attempt, requestId: string, isRepeated: boolean): void {
    const { batch } = attempt;
    const rows = database.store.rowsOfRequest.get(requestId);
    if (rows === undefined) {
      this.fail(`batch ${batch.number} was answered 202 as ${requestId}, which is not in the log`);
      return;
    }
    if (batch.storedAs !== requestId && batch.idempotency !== null) {
      this.fail(`batch ${batch.number} is stored as ${batch.storedAs} and was answered ${requestId}`);
      return;
    }
    if (batch.idempotency === null && attempt.storedAs !== requestId) {
      this.fail(`an attempt of batch ${batch.number} was answered ${requestId}, not its own id`);
      return;
    }
    if (!isRepeated && attempt.storedAs !== requestId) {
      this.fail(`batch ${batch.number} was answered ${requestId} as new, which it is not`);
      return;
    }
    if (!isRepeated && requestId <= attempt.answeredBefore) {
      this.fail(`${requestId} was sent after ${attempt.answeredBefore} was answered by the same node`);
      return;
    }
    batch.answeredAs = requestId;
  }

  /** A client was answered that another batch holds its key. */
  answeredHeld(database: SimulatedDatabase, batch: Batch): void {
    const held = database.store.keys.get(`client/${batch.idempotency?.key}`);
    if (held === undefined || held.fingerprint === batch.idempotency?.fingerprint)
      this.fail(`batch ${batch.number} was answered that another holds its key, which none does`);
  }

  #checkAppend(database: SimulatedDatabase, backend: Backend, { rows }: Transaction): void {
    for (const row of rows) {
      const logWriter = database.store.logWriters.get(row.logWriterId);
      if (logWriter === undefined) {
        this.fail(`log writer ${row.logWriterId} has a row and is not registered`);
        return;
      }
      if (logWriter.pid !== backend.pid || logWriter.startedAt !== backend.startedAt) {
        this.fail(`log writer ${row.logWriterId} has a row of another backend`);
        return;
      }
      if (logWriter.isClosed || logWriter.isRetired) {
        this.fail(`log writer ${row.logWriterId} is closed, and ${row.requestId} became visible in it`);
        return;
      }
      const newest = this.#newestOfLogWriter.get(row.logWriterId);
      if (newest !== undefined && row.requestId < newest) {
        this.fail(`${row.requestId} became visible after ${newest} in log writer ${row.logWriterId}`);
        return;
      }
      this.#newestOfLogWriter.set(row.logWriterId, row.requestId);
      this.#checkStored(row, rows);
    }
    this.stored += rows.length;
    for (const row of rows) this.#storedAt.set(row, database.now);
  }

  #checkStored(row: LogRow, rows: readonly LogRow[]): void {
    const attempt = this.attempts[row.attempt] as Attempt;
    const { batch } = attempt;
    if (batch.kind === "poison") {
      this.fail(`batch ${batch.number} cannot be stored, and was`);
      return;
    }
    if (attempt.storedAs === undefined) {
      const parts = rows.filter(({ requestId }) => requestId === row.requestId).length;
      if (parts !== batch.properties.length) {
        this.fail(`${row.requestId} has ${parts} parts instead of ${batch.properties.length}`);
        return;
      }
      if (batch.storedAs !== undefined && batch.idempotency !== null) {
        this.fail(`batch ${batch.number} is stored as ${batch.storedAs} and as ${row.requestId}`);
        return;
      }
      if (row.requestId <= attempt.answeredBefore) {
        this.fail(`${row.requestId} was sent after ${attempt.answeredBefore} was answered by the same node`);
        return;
      }
      attempt.storedAs = row.requestId;
      batch.storedAs = row.requestId;
    } else if (attempt.storedAs !== row.requestId) {
      this.fail(
        `one sending of batch ${batch.number} is stored as ${attempt.storedAs} and as ${row.requestId}`,
      );
    }
  }

  #checkApply(
    database: SimulatedDatabase,
    backend: Backend,
    { outcomes, cursors, locks }: Transaction,
  ): void {
    const last = new Map<string, string>();
    for (const row of outcomes) {
      const lease = database.store.leases.get(row.bucket);
      if (lease?.pid !== backend.pid || lease.startedAt !== backend.startedAt) {
        this.fail(`${backend.name} applied to bucket ${row.bucket}, which is ${lease?.owner}'s`);
        return;
      }
      if (!locks.includes(`lease ${row.bucket}`)) {
        this.fail(`${backend.name} applied to bucket ${row.bucket} without holding its lease`);
        return;
      }
      const position = positionOf(row.bucket, row.logWriterId);
      const at = this.#appliedAt.get(position) ?? 0;
      const due = (database.store.logWriters.get(row.logWriterId) as LogWriterRow).rows.get(row.bucket)?.[at];
      if (due !== row) {
        this.fail(
          `${row.requestId} of bucket ${row.bucket} was applied when ${due?.requestId ?? "nothing"} was due in log writer ${row.logWriterId}`,
        );
        return;
      }
      this.#appliedAt.set(position, at + 1);
      const waitedMs = database.now - (this.#storedAt.get(row) ?? 0);
      if (waitedMs > this.waitedMsMax) this.waitedMsMax = waitedMs;
      last.set(position, row.requestId);
    }
    this.applied += outcomes.length;
    for (const [position, id] of cursors) {
      if (!position.endsWith("/all") && last.get(position) !== id) {
        this.fail(`the cursor of ${position} was moved to ${id}, and ${last.get(position)} was applied`);
        return;
      }
    }
  }

  #checkClosed(database: SimulatedDatabase, logWriter: LogWriterRow): void {
    if (database.isRunning(logWriter.pid, logWriter.startedAt))
      this.fail(`log writer ${logWriter.logWriterId} was closed while its backend runs`);
  }

  #checkRetirement(database: SimulatedDatabase, logWriter: LogWriterRow): void {
    if (database.isRunning(logWriter.pid, logWriter.startedAt)) {
      this.fail(`log writer ${logWriter.logWriterId} was retired while its backend runs`);
      return;
    }
    for (const [bucket, rows] of logWriter.rows) {
      const applied = this.#appliedAt.get(positionOf(bucket, logWriter.logWriterId)) ?? 0;
      if (applied < rows.length) {
        this.fail(
          `log writer ${logWriter.logWriterId} was retired before ${rows[applied]?.requestId} was applied`,
        );
        return;
      }
    }
  }
}
