import type { SimulatedDatabase } from "./database.ts";
import { Transaction } from "./store.ts";

/** An error that the database answers with. */
export class DatabaseError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** A lock that is held until the end of a transaction, by name. */
export interface LockWait {
  readonly lock: string;
}

/**
 * A statement as the database runs it: yields milliseconds that it takes, or a lock that it needs and goes on once it has
 * it; returns its answer.
 */
export type Work = Generator<number | LockWait, unknown, void>;
export type Statement = "begin" | "commit" | "rollback" | ((backend: Backend) => Work);

/** client_connection_check_interval (`endWithClient` of src/platform/db/connection.ts). */
const CLIENT_CHECK_MS = 2_000;
/** idle_in_transaction_session_timeout of src/platform/db/connection.ts, and of src/apply/state/look-up.ts. */
const IDLE_IN_TRANSACTION_MS = { accept: 5_000, apply: 60_000 } as const;

/** Where a backend's answers go. */
export interface Peer {
  /** Whether the process that asked is gone, heard of or not. */
  readonly isGone: boolean;
  answer(result: unknown): void;
  refuse(error: DatabaseError): void;
  /** The backend ended the connection, or its host did. */
  closed(error: Error): void;
}

/** What a backend does with what it was asked, beside the work itself. */
interface Asked {
  readonly name: string;
  readonly statement: Statement;
}

/**
 * One server process: runs statements one after another, each in a transaction of its own unless one was begun, as
 * PostgreSQL does at read committed. Whoever is ended or cut off loses what is not committed.
 */
export class Backend {
  readonly name: string;
  readonly pid: number;
  readonly startedAt: number;
  readonly application: "accept" | "apply";
  readonly peer: Peer;
  transaction: Transaction | undefined;
  isAlive = true;
  /** state_change of pg_stat_activity: when it last began or ended a statement, by the database's clock. */
  spokeAt: number;
  /** Nobody hears it any more, which it learns when it looks. */
  isClientGone = false;
  readonly #database: SimulatedDatabase;
  readonly #statementTimeoutMs: number;
  #running: Asked | undefined;
  #work: Work | undefined;
  #isImplicit = false;
  #waitsFor: Transaction | undefined;
  #run = 0;
  #timeOutAt = 0;
  #isIdleWatched = false;
  #isCommitting = false;
  #endsAfterCommit: DatabaseError | undefined;

  constructor(
    database: SimulatedDatabase,
    identity: { pid: number; startedAt: number; application: "accept" | "apply" },
    statementTimeoutMs: number,
    peer: Peer,
  ) {
    this.#database = database;
    this.pid = identity.pid;
    this.startedAt = identity.startedAt;
    this.spokeAt = identity.startedAt;
    this.application = identity.application;
    this.name = `${this.application}#${this.pid}`;
    this.#statementTimeoutMs = statementTimeoutMs;
    this.peer = peer;
  }

  get waitsFor(): Transaction | undefined {
    return this.#waitsFor;
  }

  /** The statement it is at. */
  get statement(): string | undefined {
    return this.#running?.name;
  }

  /** Runs a statement that arrived; the client sends the next one only when it has the answer. */
  receive(name: string, statement: Statement): void {
    if (!this.isAlive) return;
    this.#running = { name, statement };
    this.spokeAt = this.#database.clockMs;
    this.#run += 1;
    const run = this.#run;
    this.#timeOutAt = this.#database.now + this.#statementTimeoutMs;
    const refused = this.#database.conditions.refuse(this, name);
    if (refused !== undefined) {
      this.#fail(refused);
      return;
    }
    this.#begin(run);
  }

  /** The client said goodbye or its host did: a running statement goes on until the server looks, what is not committed is lost. */
  clientGone(): void {
    this.isClientGone = true;
    if (this.#running === undefined) {
      this.end();
      return;
    }
    const run = this.#run;
    this.#database.plan(CLIENT_CHECK_MS, () => {
      if (this.#run === run) this.end();
    });
  }

  /**
   * All processes die at once. Of a transaction whose commit is under way it is not known whether it reached the disk:
   * `isOnDisk` says so.
   */
  crash(isOnDisk: boolean): void {
    const committed = this.#isCommitting && isOnDisk ? this.transaction : undefined;
    if (committed !== undefined) {
      this.transaction = undefined;
      this.#database.commit(this, committed);
    }
    this.#isCommitting = false;
    this.end(new DatabaseError("57P02", "terminating connection because of crash of another server process"));
  }

  /** Writes the running transaction to the disk, then calls on. */
  commit(done: () => void): void {
    const transaction = this.transaction as Transaction;
    if (!transaction.hasWritten) {
      this.transaction = undefined;
      this.#database.release(transaction);
      done();
      return;
    }
    const run = this.#run;
    this.#isCommitting = true;
    this.#database.plan(this.#database.conditions.commitMs(), () => {
      if (this.#run !== run || !this.isAlive) return;
      this.#isCommitting = false;
      this.transaction = undefined;
      this.#database.commit(this, transaction);
      if (this.#endsAfterCommit !== undefined) this.end(this.#endsAfterCommit);
      else done();
    });
  }

  /** Ends at once, as a backend that is asked to at a moment when it looks; a commit under way is not stopped. */
  end(error = new DatabaseError("57P01", "terminating connection due to administrator command")): void {
    if (!this.isAlive) return;
    if (this.#isCommitting) {
      this.#endsAfterCommit = error;
      return;
    }
    this.isAlive = false;
    this.#work = undefined;
    this.#running = undefined;
    this.#waitsFor = undefined;
    this.#database.trace.add(this.name, "ends");
    const { transaction } = this;
    this.transaction = undefined;
    this.#database.backends.delete(this.pid);
    if (transaction !== undefined) this.#database.release(transaction);
    this.peer.closed(error);
  }

  #begin(run: number): void {
    if (this.#run !== run || this.#running === undefined || !this.isAlive) return;
    const { statement } = this.#running;
    if (typeof statement === "string") {
      this.#endOrBegin(statement);
      return;
    }
    if (this.transaction?.hasFailed) {
      this.#fail(new DatabaseError("25P02", "current transaction is aborted"));
      return;
    }
    this.#isImplicit = this.transaction === undefined;
    this.transaction ??= new Transaction(this.pid);
    this.#work = statement(this);
    this.#goOn(run);
  }

  #endOrBegin(statement: "begin" | "commit" | "rollback"): void {
    const { transaction } = this;
    this.#isImplicit = false;
    if (statement === "begin") {
      this.transaction ??= new Transaction(this.pid);
      this.#answer("BEGIN");
      return;
    }
    if (transaction !== undefined && statement === "commit" && !transaction.hasFailed) {
      this.commit(() => this.#answer("COMMIT"));
      return;
    }
    this.transaction = undefined;
    if (transaction !== undefined) this.#database.release(transaction);
    this.#answer(transaction === undefined && statement === "commit" ? "COMMIT" : "ROLLBACK");
  }

  #goOn(run: number): void {
    const work = this.#work;
    if (this.#run !== run || work === undefined || !this.isAlive) return;
    this.#waitsFor = undefined;
    try {
      for (;;) {
        const step = work.next();
        if (step.done) {
          this.#finish(step.value);
          return;
        }
        if (typeof step.value === "number") {
          this.#database.plan(step.value, () => this.#goOn(run));
          return;
        }
        const holder = this.#database.lock(step.value.lock, this.transaction as Transaction);
        if (holder !== undefined) {
          this.#waitFor(holder, step.value, run);
          return;
        }
      }
    } catch (error) {
      if (!(error instanceof DatabaseError)) throw error;
      this.#fail(error);
    }
  }

  #waitFor(holder: Transaction, { lock }: LockWait, run: number): void {
    this.#waitsFor = holder;
    this.#database.plan(Math.max(0, this.#timeOutAt - this.#database.now), () => {
      if (this.#run === run && this.#waitsFor !== undefined && this.isAlive)
        this.#fail(new DatabaseError("57014", "canceling statement due to statement timeout"));
    });
    if (this.#database.isDeadlock(this)) {
      this.#waitsFor = undefined;
      this.#fail(new DatabaseError("40P01", "deadlock detected"));
      return;
    }
    const retry = (): void => {
      if (this.#run !== run || this.#work === undefined || !this.isAlive) return;
      this.#waitsFor = undefined;
      const next = this.#database.lock(lock, this.transaction as Transaction);
      if (next !== undefined) this.#waitFor(next, { lock }, run);
      else this.#goOn(run);
    };
    holder.waiting.push(() => this.#database.plan(0, retry));
  }

  /** A statement outside of a transaction commits at its end; that is when others see what it did. */
  #finish(result: unknown): void {
    if (this.#isImplicit) this.commit(() => this.#answer(result));
    else this.#answer(result);
  }

  #answer(result: unknown): void {
    this.#database.trace.add(this.name, "done", this.#running?.name ?? "");
    this.#becomeIdle();
    const lost = this.#database.conditions.loseAnswer(this);
    if (lost !== undefined) {
      this.end(lost);
      return;
    }
    this.peer.answer(result);
    if (this.isClientGone) this.end();
  }

  #fail(error: DatabaseError): void {
    this.#database.trace.add(this.name, "fails", `${this.#running?.name} ${error.code}`);
    this.#becomeIdle();
    const { transaction } = this;
    if (transaction !== undefined && this.#isImplicit) {
      this.transaction = undefined;
      this.#database.release(transaction);
    } else if (transaction !== undefined) transaction.hasFailed = true;
    this.peer.refuse(error);
    if (this.isClientGone) this.end();
  }

  #becomeIdle(): void {
    this.#work = undefined;
    this.#running = undefined;
    this.#waitsFor = undefined;
    this.#run += 1;
    this.spokeAt = this.#database.clockMs;
    if (this.transaction !== undefined && !this.#isImplicit) this.#watchIdle();
  }

  /** One timer a backend: a transaction in which the client says nothing for too long ends with its session. */
  #watchIdle(): void {
    if (this.#isIdleWatched) return;
    this.#isIdleWatched = true;
    const run = this.#run;
    this.#database.scheduler.after(IDLE_IN_TRANSACTION_MS[this.application], () => {
      this.#isIdleWatched = false;
      if (!this.isAlive || this.transaction === undefined) return;
      if (this.#run === run)
        this.end(new DatabaseError("25P03", "terminating connection due to idle-in-transaction timeout"));
      else if (this.#running === undefined) this.#watchIdle();
    });
  }
}
