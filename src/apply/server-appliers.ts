import type pg from "pg";
import { openSession, withSession } from "../platform/db/connection.ts";
import { enterPresence } from "../platform/db/coordination.ts";
import { type BucketServer, BucketServers, retireLogWriters } from "../platform/db/dialect.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import { SHORT } from "./backlog.ts";
import { retireLogWritersStatement } from "./postgres-apply-session.ts";

/** How often it is looked where buckets lie, and how often log writers of the first server are closed and retired. */
const LOOK_MS = 1_000;
const RETIRE_MS = 5_000;

/** What applies the buckets of one server. */
export interface Appliers {
  readonly ready: boolean;
  start(): void;
  wake(buckets: Iterable<number>): void;
  offered(): void;
  stop(): Promise<void>;
}

export interface ServerAppliersOptions {
  readonly clientConfig: pg.ClientConfig;
  /** Names this thread among those present, for people. */
  readonly owner: string;
  /** Makes the appliers of a server; without one, those of a database that has only one. */
  readonly appliersAt: (
    server: BucketServer | undefined,
    owns: (buckets: readonly number[]) => void,
  ) => Appliers;
  /** Which buckets are applied here from now on, on whatever server. */
  readonly owns?: (buckets: readonly number[]) => void;
  readonly failed: (error: unknown) => void;
}

/**
 * The appliers of one thread: on plain PostgreSQL those of the one server, on Citus some at each worker that has buckets, so that a
 * worker that is down or hangs stops its own buckets only. Workers that come and go are followed.
 */
export class ServerAppliers implements Appliers {
  readonly #options: ServerAppliersOptions;
  readonly #at = new Map<string, Appliers>();
  readonly #owned = new Map<string, readonly number[]>();
  #servers: BucketServers | undefined;
  #session: pg.Client | undefined;
  #retiring: Promise<void> | undefined;
  #retireAt = 0;
  #look: Repeat | undefined;

  constructor(options: ServerAppliersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#look = new Repeat(() => this.#follow(), LOOK_MS, this.#options.failed, 0);
  }

  /** Whether it has a session to apply on, at one server at least. */
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

  /** Lets the running transactions end, then releases everything. */
  async stop(): Promise<void> {
    await this.#look?.stop();
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
    await this.#lookOn(await this.#sessionAtFirst(), this.#servers);
    const wanted = new Map(this.#servers.all.map((server) => [server.key, server]));
    for (const [key, server] of wanted) if (!this.#at.has(key)) this.#startAt(key, server);
    for (const [key, appliers] of this.#at) {
      if (wanted.has(key)) continue;
      this.#at.delete(key);
      this.#owned.delete(key);
      // Not waited for: the server may hang.
      appliers.stop().catch(this.#options.failed);
    }
    this.#retire();
  }

  /** By it the thread is present at the first server, too. */
  async #sessionAtFirst(): Promise<pg.Client> {
    const { clientConfig, owner } = this.#options;
    this.#session ??= await openSession({ ...clientConfig, ...SHORT }, "apply servers", (client) =>
      enterPresence(client, ["apply"], owner),
    );
    return this.#session;
  }

  async #lookOn(session: pg.Client, servers: BucketServers): Promise<void> {
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

  /** In a session of its own: all workers are asked for it, and one of them may hang. */
  #retire(): void {
    const now = performance.now();
    if (this.#retiring !== undefined || now < this.#retireAt) return;
    this.#retireAt = now + RETIRE_MS;
    const { clientConfig, failed } = this.#options;
    this.#retiring = withSession({ ...clientConfig, ...SHORT }, "retire", (client) =>
      retireLogWriters(client, { ...retireLogWritersStatement, ...SHORT }),
    )
      .catch(failed)
      .finally(() => {
        this.#retiring = undefined;
      });
  }
}
