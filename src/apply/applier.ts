import pg from "pg";
import { readStatement } from "../db/statement.ts";
import { STATE_SCHEMA } from "../state/state-schema.ts";
import { openStateSession, planByKeys } from "../state/state-session.ts";
import { applyParts, countOutcomes, type OutcomeCounts } from "./apply-parts.ts";
import { applyResolution } from "./apply-resolution.ts";
import { type LogPart, readBacklog } from "./backlog.ts";
import { BucketTurns } from "./bucket-turns.ts";
import { ContextWarnings } from "./context-warnings.ts";
import { Ownership, OwnershipLost } from "./ownership.ts";
import type { PropertyDirectory } from "./property-directory.ts";
import { type ReadPart, readPart } from "./read-part.ts";

const retireLanes = readStatement(new URL("./sql/retire-lanes.sql", import.meta.url));

/** How often lanes are sealed and retired, and unowned buckets tried again. */
const UPKEEP_MS = 2_000;
const RETRY_MS_MAX = 5_000;
const STATEMENT_TIMEOUT_MS = 60_000;
/** One transaction applies up to about this many bytes as sent (the part that passes it is the last): memory is bounded. */
const INFLATED_BYTES_TARGET = 16 * 1_048_576;

export interface ApplierEvents {
  /** After each transaction: what its records became, when its oldest part was received, and milliseconds. */
  applied?(counts: OutcomeCounts, oldestReceivedAt: Date, durationMs: number): void;
  failed?(error: unknown): void;
}

export interface ApplierOptions {
  readonly clientConfig: pg.ClientConfig;
  readonly pool: pg.Pool;
  readonly properties: PropertyDirectory;
  /** Names this applier in the lease, for people. */
  readonly owner: string;
  /** The buckets it applies when nobody else holds them. */
  readonly buckets: readonly number[];
  readonly pollMs: number;
  readonly events: ApplierEvents;
}

function bucketsOf(parts: readonly LogPart[]): readonly number[] {
  return [...new Set(parts.map(({ bucket }) => bucket))];
}

/** What one session of an applier holds; all of it ends with the connection. */
interface Session {
  readonly client: pg.Client;
  readonly ownership: Ownership;
  readonly context: ContextWarnings;
  upkeepAt: number;
}

/**
 * Applies the buckets it owns, one transaction after another, on one connection. `wake` names buckets with something
 * new; what others accepted is found by polling. Every failure but a record's own is retried, with growing delays.
 */
export class Applier {
  readonly #options: ApplierOptions;
  readonly #turns = new BucketTurns();
  #stopped = false;
  #wakeUp: (() => void) | undefined;
  #finished: Promise<void> | undefined;

  constructor(options: ApplierOptions) {
    this.#options = options;
  }

  start(): void {
    this.#finished = this.#run();
  }

  wake(buckets: Iterable<number>): void {
    this.#turns.hint([...buckets].filter((bucket) => this.#options.buckets.includes(bucket)));
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
        try {
          await this.#applyUntilStopped(session, () => {
            failures = 0;
          });
        } catch (error) {
          if (!this.#stopped) this.#options.events.failed?.(error);
        } finally {
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
    await openStateSession(client, STATE_SCHEMA);
    await planByKeys(client, true);
    const ownership = new Ownership(client, owner);
    return { client, ownership, context: new ContextWarnings(pool, client), upkeepAt: 0 };
  }

  async #applyUntilStopped(session: Session, succeeded: () => void): Promise<void> {
    while (!this.#stopped) {
      await this.#upkeep(session);
      const { buckets, polled } = this.#turns.next(session.ownership.buckets, performance.now());
      const parts = buckets.length === 0 ? [] : await readBacklog(session.client, buckets);
      if (parts.length > 0) {
        await this.#applyRun(session, parts);
        // There may be more where these came from.
        this.#turns.hint(buckets);
        if (polled) this.#turns.poll();
      } else this.#turns.succeeded(buckets);
      succeeded();
      if (parts.length === 0 && !this.#turns.waiting) await this.#sleep(this.#options.pollMs);
    }
  }

  async #upkeep(session: Session): Promise<void> {
    if (performance.now() < session.upkeepAt) return;
    session.upkeepAt = performance.now() + UPKEEP_MS;
    const taken = await session.ownership.take(this.#options.buckets);
    if (taken.length > 0) this.#turns.poll();
    await session.client.query(retireLanes);
  }

  /**
   * Applies a run of batches as one transaction, or one resolution as its own. When that fails and the session lives,
   * its buckets are tried again one by one.
   */
  async #applyRun(session: Session, parts: readonly LogPart[]): Promise<void> {
    let run = parts;
    try {
      const first = parts[0] as LogPart;
      const read = first.kind === "b" ? await this.#readRun(parts) : [];
      run = read.length > 0 ? read.map(({ part }) => part) : [first];
      await this.#applyTransaction(session, run, read);
      this.#turns.succeeded(bucketsOf(run));
    } catch (error) {
      session.context.forget();
      this.#options.events.failed?.(error);
      if (!(error instanceof OwnershipLost)) this.#turns.failed(bucketsOf(run), performance.now());
      // A session that is lost cannot roll back: it ends here, and the next reads everything anew.
      await session.client.query("rollback");
    }
  }

  async #applyTransaction(
    session: Session,
    run: readonly LogPart[],
    read: readonly ReadPart[],
  ): Promise<void> {
    const startedAt = performance.now();
    const { client, ownership, context } = session;
    const first = run[0] as LogPart;
    await client.query("begin");
    const counters = await ownership.lock(bucketsOf(run));
    const counts =
      read.length > 0
        ? await applyParts(client, read, counters, context)
        : countOutcomes([await applyResolution(client, first, counters, this.#options.properties, context)]);
    await client.query("commit");
    this.#options.events.applied?.(counts, first.receivedAt, performance.now() - startedAt);
  }

  /** Reads the batches before the first resolution, as many as one transaction may take. */
  async #readRun(parts: readonly LogPart[]): Promise<ReadPart[]> {
    const read: ReadPart[] = [];
    let inflatedBytes = 0;
    for (const part of parts) {
      if (part.kind !== "b" || inflatedBytes >= INFLATED_BYTES_TARGET) break;
      const records = await readPart(part, this.#options.properties);
      inflatedBytes += records.inflatedBytes;
      read.push(records);
    }
    return read;
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#turns.poll();
        done();
      }, ms);
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
