import { BUCKET_COUNT } from "../../src/ingest/log/part-name.ts";
import { Backend, DatabaseError, type Peer } from "./backend.ts";
import type { Checker } from "./checker.ts";
import type { Conditions } from "./conditions.ts";
import type { Scheduler } from "./scheduler.ts";
import { type LeaseRow, Store, type Transaction } from "./store.ts";
import type { Trace } from "./trace.ts";

/** What the database's clock shows when a run begins (ms since 1970). */
const CLOCK_AT_START_MS = Date.UTC(2026, 0, 1);
/** How many pids there are: more than sessions at any time, few enough that they come again. */
const PIDS = 300;

/**
 * A PostgreSQL as far as the protocol can tell it from a real one: backends with an identity, transactions that others
 * see once they are committed, locks that are waited for, deadlocks, crashes after which only what was committed is left.
 */
export class SimulatedDatabase {
  store = new Store();
  readonly backends = new Map<number, Backend>();
  readonly scheduler: Scheduler;
  readonly trace: Trace;
  readonly conditions: Conditions;
  readonly checker: Checker;
  readonly buckets: readonly number[];
  /** Undefined while it is down. */
  isUp = true;
  clockOffsetMs = 0;
  hasPartitions = true;
  nextLogWriterId = 1;
  nextPresenceId = 1;
  readonly #locks = new Map<string, Transaction>();
  #stalledUntil = 0;
  #nextPid = 100;

  constructor(
    scheduler: Scheduler,
    trace: Trace,
    conditions: Conditions,
    checker: Checker,
    buckets: readonly number[],
  ) {
    this.scheduler = scheduler;
    this.trace = trace;
    this.conditions = conditions;
    this.checker = checker;
    this.buckets = buckets;
    for (let bucket = 0; bucket < BUCKET_COUNT; bucket += 1) {
      const lease: LeaseRow = { epoch: 0, owner: "", pid: 0, startedAt: 0, nextChange: 1 };
      this.store.leases.set(bucket, lease);
    }
  }

  get now(): number {
    return this.scheduler.now;
  }

  /** clock_timestamp(), in ms. */
  get clockMs(): number {
    return CLOCK_AT_START_MS + this.now + this.clockOffsetMs;
  }

  /** Goes on after so long, and not before a stalled disk is back. */
  plan(ms: number, call: () => void): void {
    this.scheduler.after(Math.max(ms, this.#stalledUntil - this.now), call);
  }

  stall(ms: number): void {
    this.#stalledUntil = Math.max(this.#stalledUntil, this.now + ms);
  }

  /** A new backend. */
  start(application: "accept" | "apply", statementTimeoutMs: number, peer: Peer): Backend {
    do this.#nextPid = 100 + ((this.#nextPid - 99) % PIDS);
    while (this.backends.has(this.#nextPid));
    const identity = { pid: this.#nextPid, startedAt: this.clockMs, application };
    const backend = new Backend(this, identity, statementTimeoutMs, peer);
    this.backends.set(backend.pid, backend);
    this.trace.add(backend.name, "starts");
    return backend;
  }

  /** Whether pg_stat_activity shows this backend. */
  isRunning(pid: number, startedAt: number): boolean {
    return this.backends.get(pid)?.startedAt === startedAt;
  }

  /** Gives a lock to a transaction, or answers who holds it. */
  lock(name: string, transaction: Transaction): Transaction | undefined {
    const holder = this.#locks.get(name);
    if (holder === transaction) return undefined;
    if (holder !== undefined) return holder;
    this.#locks.set(name, transaction);
    transaction.locks.push(name);
    return undefined;
  }

  /** Whether whom it waits for waits, by whatever way, for it. */
  isDeadlock(backend: Backend): boolean {
    let holder = backend.waitsFor;
    for (let hop = 0; holder !== undefined && hop <= this.backends.size; hop += 1) {
      if (holder.pid === backend.pid) return true;
      holder = this.backends.get(holder.pid)?.waitsFor;
    }
    return false;
  }

  /** On disk and visible to everybody from now on. */
  commit(backend: Backend, transaction: Transaction): void {
    this.checker.beforeCommit(this, backend, transaction);
    this.store.apply(transaction);
    this.release(transaction);
  }

  /** The end of a transaction, whichever: what waited for it goes on. */
  release(transaction: Transaction): void {
    for (const lock of transaction.locks) this.#locks.delete(lock);
    const { waiting } = transaction;
    if (waiting.length === 0) return;
    transaction.waiting = [];
    for (const call of waiting) call();
  }

  /** Every process dies at once; connections are refused until it has recovered. */
  crash(recoveryMs: number): void {
    this.trace.add("postgres", "crashes");
    this.isUp = false;
    for (const backend of [...this.backends.values()]) backend.crash(this.conditions.isOnDisk());
    this.plan(recoveryMs, () => {
      this.isUp = true;
      this.trace.add("postgres", "has recovered");
    });
  }

  refuseConnection(): DatabaseError | undefined {
    return this.isUp ? undefined : new DatabaseError("57P03", "the database system is starting up");
  }
}
