import type pg from "pg";
import { openSession, withSession } from "../platform/db/connection.ts";
import { enterPresence } from "../platform/db/coordination.ts";
import { type BucketServer, BucketServers, retireLogWriters } from "../platform/db/dialect.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import { SHORT_TIMEOUT } from "./backlog.ts";
import { retireLogWritersStatement } from "./postgres-apply-session.ts";

/** Interval at which the placement of buckets is read. */
const PLACEMENT_MS = 1_000;
const RETIRE_MS = 5_000;

/** The appliers of one server's buckets. */
export interface Appliers {
  readonly ready: boolean;
  start(): void;
  wake(buckets: Iterable<number>): void;
  offered(): void;
  stop(): Promise<void>;
}

export interface ServerAppliersOptions {
  readonly clientConfig: pg.ClientConfig;
  /** Human-readable name of this thread's presence. */
  readonly owner: string;
  /** Creates the appliers of a server; `server` is undefined on plain PostgreSQL. */
  readonly appliersAt: (
    server: BucketServer | undefined,
    owns: (buckets: readonly number[]) => void,
  ) => Appliers;
  /** Called with the complete list of owned buckets on all servers. */
  readonly owns?: (buckets: readonly number[]) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The appliers of one thread: of the only server on plain PostgreSQL, of each worker with buckets on Citus, so that a worker that
 * is down or hangs stops its own buckets only. Follows workers that are added or removed.
 */
export class ServerAppliers implements Appliers {
  readonly #options: ServerAppliersOptions;
  readonly #at = new Map<string, Appliers>();
  readonly #owned = new Map<string, readonly number[]>();
  #servers: BucketServers | undefined;
  #session: pg.Client | undefined;
  #retiring: Promise<void> | undefined;
  #retireAt = 0;
  #following: Repeat | undefined;

  constructor(options: ServerAppliersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#following = new Repeat(() => this.#follow(), PLACEMENT_MS, this.#options.failed, 0);
  }

  /** Whether the appliers of at least one server have a session. */
  get ready(): boolean {
    return [...this.#at.values()].some((appliers) => appliers.ready);
  }

  wake(buckets: Iterable<number>): void {
    const woken = [...buckets];
    for (const appliers of this.#at.values()) appliers.wake(woken);
  }

  offered(): void {
    for (const appliers of this.#at.values()) appliers.offered();
  }

  /** Waits for the running transactions, then closes all sessions. */
  async stop(): Promise<void> {
    await this.#following?.stop();
    await Promise.all([this.#retiring, ...[...this.#at.values()].map((appliers) => appliers.stop())]);
    await this.#session?.end().catch(() => undefined);
  }

  async #follow(): Promise<void> {
    const { clientConfig } = this.#options;
    if (this.#servers === undefined) {
      if (this.#at.size > 0) return;
      this.#servers = await BucketServers.find(clientConfig);
      if (this.#servers === undefined) return this.#startAt("", undefined);
    }
    await this.#readPlacement(await this.#coordinatorSession(), this.#servers);
    const wanted = new Map(this.#servers.all.map((server) => [server.key, server]));
    for (const [key, server] of wanted) if (!this.#at.has(key)) this.#startAt(key, server);
    for (const [key, appliers] of this.#at) {
      if (wanted.has(key)) continue;
      this.#at.delete(key);
      this.#owned.delete(key);
      // Not awaited: the server may hang.
      appliers.stop().catch(this.#options.failed);
    }
    this.#retire();
  }

  /** Also makes the thread present at the coordinator. */
  async #coordinatorSession(): Promise<pg.Client> {
    const { clientConfig, owner } = this.#options;
    this.#session ??= await openSession({ ...clientConfig, ...SHORT_TIMEOUT }, "apply servers", (client) =>
      enterPresence(client, ["apply"], owner),
    );
    return this.#session;
  }

  async #readPlacement(session: pg.Client, servers: BucketServers): Promise<void> {
    try {
      await servers.look(session);
    } catch (error) {
      this.#session = undefined;
      await session.end().catch(() => undefined);
      throw error;
    }
  }

  #startAt(key: string, server: BucketServer | undefined): void {
    const appliers = this.#options.appliersAt(server, (buckets) => {
      this.#owned.set(key, buckets);
      this.#options.owns?.([...this.#owned.values()].flat());
    });
    this.#at.set(key, appliers);
    appliers.start();
  }

  /** Uses a separate session: the statement reaches all workers, one of which may hang. */
  #retire(): void {
    const now = performance.now();
    if (this.#retiring !== undefined || now < this.#retireAt) return;
    this.#retireAt = now + RETIRE_MS;
    const { clientConfig, failed } = this.#options;
    this.#retiring = withSession({ ...clientConfig, ...SHORT_TIMEOUT }, "retire", (client) =>
      retireLogWriters(client, { ...retireLogWritersStatement, ...SHORT_TIMEOUT }),
    )
      .catch(failed)
      .finally(() => {
        this.#retiring = undefined;
      });
  }
}
