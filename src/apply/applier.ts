import pg from "pg";
import { endWithClient } from "../db/connection.ts";
import { enterPresence, startPulse } from "../db/presence.ts";
import { readStatement } from "../db/statement.ts";
import { STATE_SCHEMA } from "../state/state-schema.ts";
import { openStateSession, planByKeys } from "../state/state-session.ts";
import { advanceCursors, applyParts, countOutcomes, type OutcomeCounts } from "./apply-parts.ts";
import { applyResolution } from "./apply-resolution.ts";
import { type LogPart, readBacklog } from "./backlog.ts";
import { BucketTurns } from "./bucket-turns.ts";
import { ContextWarnings } from "./context-warnings.ts";
import { Ownership, OwnershipLost } from "./ownership.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import { type ReadPart, readPart } from "./read-part.ts";
import { Sharing, type Shift } from "./sharing.ts";
import type { WaitingSession } from "./silent-sessions.ts";

const retireLanes = readStatement(new URL("./sql/retire-lanes.sql", import.meta.url));

/** How often lanes are sealed and retired. */
const RETIRE_MS = 2_000;
/** How often an applier looks around for the others, give or take a fifth, so that they do not all look at once. */
const LOOK_MS = 1_000;
const RETRY_MS_MAX = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;
/**
 * One transaction applies up to about this many bytes as sent (the part that passes it is the last). Two runs are in memory
 * at a time, the one that is applied and the next.
 */
const INFLATED_BYTES_TARGET = 8 * 1_048_576;
/** With fewer records in a run there is hardly more to read: looking ahead would be a statement for nothing. */
const AHEAD_RECORDS_MIN = 1_000;

export interface ApplierEvents {
  /** A session was opened; its process on the database's machine. */
  connected?(processId: number): void;
  /** After each transaction: what its records became, when its oldest part was received, and milliseconds. */
  applied?(counts: OutcomeCounts, oldestReceivedAt: Date, durationMs: number): void;
  failed?(error: unknown): void;
  /** Which buckets are applied here from now on. */
  owns?(buckets: readonly number[]): void;
  /** Another's session was ended: it held something and was silent. */
  ended?(session: WaitingSession): void;
}

export interface ApplierOptions {
  readonly clientConfig: pg.ClientConfig;
  readonly pool: pg.Pool;
  readonly properties: PropertyDirectory;
  /** Names this applier in the lease, for people. */
  readonly owner: string;
  readonly pollMs: number;
  readonly events: ApplierEvents;
}

function bucketsOf(parts: readonly LogPart[]): readonly number[] {
  return [...new Set(parts.map(({ bucket }) => bucket))];
}

/** Whose turn it was, and whether all buckets were read, so that what is left of them needs another poll. */
interface Turn {
  readonly buckets: readonly number[];
  readonly polled: boolean;
}

/** What one transaction applies: batches with their records, or (without `read`) one resolution. Nothing, if no parts. */
interface Run extends Turn {
  readonly parts: readonly LogPart[];
  readonly read: readonly ReadPart[];
}

/** What one session of an applier holds; all of it ends with the connection. */
interface Session {
  readonly client: pg.Client;
  readonly ownership: Ownership;
  readonly context: ContextWarnings;
  readonly sharing: Sharing;
  lookAt: number;
  retireAt: number;
  pollAt: number;
}

/**
 * Applies the buckets it owns (its share of all, see Sharing), one transaction after another, on one connection. `wake` names buckets with something
 * new; what others accepted is found by polling. Every failure but a record's own is retried, with growing delays.
 */
export class Applier {
  readonly #options: ApplierOptions;
  readonly #turns = new BucketTurns();
  #session: Session | undefined;
  #stopped = false;
  #wakeUp: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  start(): void {
    this.#finished = this.#run();
  }

  /** Whether it has a session to apply on. */
  get ready(): boolean {
    return this.#session !== undefined;
  }

  wake(buckets: Iterable<number>): void {
    this.#turns.hint(buckets);
    if (this.#turns.waiting) this.#wakeUp?.();
  }

  /** Lets the running transaction end, then releases everything. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wakeUp?.();
    await this.#finished;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped) {
      const session = await this.#connect().catch((error) => {
        this.#options.events.failed?.(error);
        return undefined;
      });
      if (session !== undefined) {
        this.#session = session;
        try {
          await this.#applyUntilStopped(session, () => {
            failures = 0;
          });
        } catch (error) {
          if (!this.#stopped) this.#options.events.failed?.(error);
        } finally {
          this.#session = undefined;
          this.#options.events.owns?.([]);
          await session.client.end().catch(() => undefined);
        }
      }
      failures += 1;
      this.#turns.poll();
      if (!this.#stopped) await this.#sleep(Math.min(RETRY_MS_MAX, 100 * 2 ** Math.min(failures, 6)));
    }
  }

  async #connect(): Promise<Session> {
    const { clientConfig, owner, pool } = this.#options;
    const client = new pg.Client({
      ...clientConfig,
      application_name: "bellhop apply",
      query_timeout: STATEMENT_TIMEOUT_MS + 5_000,
      statement_timeout: STATEMENT_TIMEOUT_MS,
    });
    client.on("error", (error) => this.#options.events.failed?.(error));
    await client.connect();
    const { processID } = client as unknown as { readonly processID: number | null };
    if (processID !== null) this.#options.events.connected?.(processID);
    try {
      await openStateSession(client, STATE_SCHEMA);
      await endWithClient(client);
      await planByKeys(client, true);
      const [me = ""] = await enterPresence(client, ["apply"], owner);
      const ownership = new Ownership(client, owner);
      const sharing = new Sharing(client, ownership, me);
      const context = new ContextWarnings(pool, client);
      return { client, ownership, context, sharing, lookAt: 0, retireAt: 0, pollAt: 0 };
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  async #applyUntilStopped(session: Session, succeeded: () => void): Promise<void> {
    let ahead: Run | undefined;
    while (!this.#stopped) {
      const hasShifted = await this.#upkeep(session);
      if (hasShifted && ahead !== undefined) {
        this.#giveBack(ahead);
        ahead = undefined;
      }
      const run = ahead ?? (await this.#readRun(session));
      ahead = undefined;
      if (run !== undefined && run.parts.length > 0) ahead = await this.#applyRun(session, run);
      else if (run !== undefined) this.#turns.succeeded(run.buckets);
      succeeded();
      if ((run?.parts.length ?? 0) === 0 && ahead === undefined && !this.#turns.waiting)
        await this.#sleep(Math.min(session.pollAt, session.lookAt) - performance.now());
    }
  }

  /** Answers whether buckets were taken or given up. */
  async #upkeep(session: Session): Promise<boolean> {
    const now = performance.now();
    // By the clock, or what other nodes accepted would wait for as long as this one is kept busy by what it is told of.
    if (now >= session.pollAt) {
      session.pollAt = now + this.#options.pollMs;
      this.#turns.poll();
    }
    if (now >= session.retireAt) {
      session.retireAt = now + RETIRE_MS;
      await session.client.query(retireLanes);
    }
    if (now < session.lookAt) return false;
    session.lookAt = now + LOOK_MS * (0.8 + 0.4 * Math.random());
    return this.#shift(session, await session.sharing.shift(now));
  }

  #shift({ ownership }: Session, { taken, givenUp, ended }: Shift): boolean {
    const { events } = this.#options;
    for (const session of ended) events.ended?.(session);
    // Told first: what is accepted after the poll that finds the rest is then told to this one.
    events.owns?.(ownership.buckets);
    if (taken.length > 0) this.#turns.poll();
    return taken.length + givenUp.length > 0;
  }

  /** There may be more of these buckets, whether or not what was read of them is applied. */
  #giveBack({ buckets, polled }: Turn): void {
    this.#turns.hint(buckets);
    if (polled) this.#turns.poll();
  }

  /**
   * Reads what is next, from the cursors on: the batches before the first resolution, as many as one transaction may take,
   * or that resolution. Undefined when a part cannot be read: its bucket is then tried again by itself.
   */
  async #readRun(session: Session): Promise<Run | undefined> {
    const turn = this.#turns.next(session.ownership.buckets, performance.now());
    const parts = turn.buckets.length === 0 ? [] : await readBacklog(session.client, turn.buckets);
    try {
      const read = await this.#readParts(session.client, parts);
      return { ...turn, parts: read.length > 0 ? read.map(({ part }) => part) : parts.slice(0, 1), read };
    } catch (error) {
      this.#options.events.failed?.(error);
      this.#turns.failed(bucketsOf(parts), performance.now());
      this.#giveBack(turn);
      return undefined;
    }
  }

  async #readParts(client: pg.Client, parts: readonly LogPart[]): Promise<ReadPart[]> {
    const read: ReadPart[] = [];
    let inflatedBytes = 0;
    const pulse = startPulse(client);
    try {
      for (const part of parts) {
        if (part.kind !== "b" || inflatedBytes >= INFLATED_BYTES_TARGET) break;
        const records = await readPart(part, this.#options.properties);
        inflatedBytes += records.inflatedBytes;
        read.push(records);
      }
      return read;
    } finally {
      pulse.stop();
    }
  }

  /**
   * Applies a run as one transaction, and answers the next run if that was read meanwhile. When it fails and the session
   * lives, its buckets are tried again one by one, and what was read ahead is forgotten: it began where the cursors would
   * have stood.
   */
  async #applyRun(session: Session, run: Run): Promise<Run | undefined> {
    const { client } = session;
    let ahead: Promise<Run | undefined> | undefined;
    try {
      await this.#applyTransaction(session, run, () => {
        this.#giveBack(run);
        ahead = this.#readRun(session);
        // Its failure is that of the transaction that it is a statement of.
        ahead.catch(() => undefined);
      });
      this.#turns.succeeded(bucketsOf(run.parts));
      if (ahead === undefined) this.#giveBack(run);
      return await ahead;
    } catch (error) {
      session.context.forget();
      this.#options.events.failed?.(error);
      if (!(error instanceof OwnershipLost)) this.#turns.failed(bucketsOf(run.parts), performance.now());
      this.#giveBack(run);
      const forgotten = await ahead?.catch((cause) => {
        this.#options.events.failed?.(cause);
        return undefined;
      });
      if (forgotten !== undefined) this.#giveBack(forgotten);
      // A session that is lost cannot roll back: it ends here, and the next reads everything anew.
      await client.query("rollback");
      return undefined;
    }
  }

  /**
   * `readAhead` is called when the transaction has moved the cursors past the run, so that on this very connection, and
   * before the commit, what comes after it can be read. Only where there is probably something.
   */
  async #applyTransaction(session: Session, run: Run, readAhead: () => void): Promise<void> {
    const startedAt = performance.now();
    const { client, ownership, context } = session;
    const first = run.parts[0] as LogPart;
    await client.query("begin");
    const counters = await ownership.lock(bucketsOf(run.parts));
    let counts: OutcomeCounts;
    if (run.read.length > 0) {
      await advanceCursors(client, run.parts);
      if (run.read.reduce((sum, { records }) => sum + records.length, 0) >= AHEAD_RECORDS_MIN) readAhead();
      counts = await applyParts(client, run.read, counters, context);
    } else {
      counts = countOutcomes([
        await applyResolution(client, first, counters, this.#options.properties, context),
      ]);
    }
    const { command } = await client.query("commit");
    // A transaction that failed earlier answers COMMIT with ROLLBACK and no error.
    if (command !== "COMMIT") throw new Error("The transaction had failed and was rolled back at commit.");
    this.#options.events.applied?.(counts, first.receivedAt, performance.now() - startedAt);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => done(), Math.max(0, ms));
      const done = () => {
        clearTimeout(timer);
        this.#wakeUp = undefined;
        resolve();
      };
      this.#wakeUp = done;
      if (this.#stopped) done();
    });
  }
}
