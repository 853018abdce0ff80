import pg from "pg";
import { endWithClient } from "../db/connection.ts";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import { type StatementWatch, watchStatements } from "../db/watch-statements.ts";
import { appendDistributed } from "./append-distributed.ts";
import type {
  AppendedRow,
  HeldKey,
  LaneBirth,
  LaneSession,
  OpenLaneSession,
  StampedAppend,
} from "./lane-session.ts";
import { flushParameters } from "./log-entry.ts";
import { newestId } from "./newest-id.ts";
import { ensurePartitions } from "./partitions.ts";
import type { PayloadKey } from "./seal-body.ts";

const registerLane = readStatement(new URL("./sql/register-lane.sql", import.meta.url));
const appendEntries = readStatement(new URL("./sql/append-entries.sql", import.meta.url));
const registerLaneDistributed = readStatement(
  new URL("./sql/register-lane-distributed.sql", import.meta.url),
);
const readPromise = readStatement(new URL("./sql/read-promise.sql", import.meta.url));
const readIdempotencyKeys = readStatement(new URL("./sql/read-idempotency-keys.sql", import.meta.url));

/** Advisory lock held while a lane is born, so that floors are taken one after another. */
const LANE_BIRTH_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome: its connection, and so its lane, is given up. */
const FLUSH_TIMEOUT_MS = 20_000;

/** The key that records are sealed with from now on; undefined where they are stored readable. */
export type SealingKey = () => PayloadKey | undefined;

/** How lanes write; by default for appliers to read in the order of receipt, and readable. */
export interface LaneSettings {
  /** Appliers read them after the others. */
  readonly isBackfill?: boolean;
  readonly sealingKey?: SealingKey;
  /** Hears of slow statements. */
  readonly watch?: StatementWatch;
}

class PostgresLaneSession implements LaneSession {
  readonly #client: pg.Client;
  readonly #isDistributed: boolean;
  readonly #isBackfill: boolean;
  readonly #sealingKey: SealingKey;
  #isInDoubt = false;

  constructor(client: pg.Client, isDistributed: boolean, { isBackfill, sealingKey }: LaneSettings) {
    this.#client = client;
    this.#isBackfill = isBackfill ?? false;
    this.#sealingKey = sealingKey ?? (() => undefined);
    this.#isDistributed = isDistributed;
    if (isDistributed) client.on("notice", ({ message }) => this.#hear(message));
  }

  /**
   * What was committed and prepared on every worker is on disk, but a worker that then went away shows it only when Citus
   * has recovered: what this lane would write there next would be seen before it. So the lane ends with this flush.
   */
  #hear(message: string | undefined): void {
    if (message?.startsWith("failed to commit transaction") === true) this.#isInDoubt = true;
  }

  async beginBirth(): Promise<void> {
    await this.#client.query("begin");
    await this.#client.query("select pg_advisory_xact_lock($1)", [LANE_BIRTH_LOCK]);
  }

  async register(): Promise<LaneBirth | undefined> {
    const values = [this.#isBackfill];
    if (!this.#isDistributed)
      return (await this.#client.query<LaneBirth>({ ...registerLane, values })).rows[0];
    const floor = await newestId(this.#client);
    // Last: the clock that it answers is taken for that of the moment.
    const { rows } = await this.#client.query<Omit<LaneBirth, "floor">>({
      ...registerLaneDistributed,
      values,
    });
    return rows[0] && { ...rows[0], floor };
  }

  commit(): Promise<unknown> {
    return this.#client.query("commit");
  }

  makePartitions(atMs: number): Promise<void> {
    return ensurePartitions(this.#client, atMs);
  }

  async append(
    laneId: string,
    stamped: readonly StampedAppend[],
  ): Promise<{ readonly rows: AppendedRow[]; readonly clockReadBy?: number }> {
    if (this.#isDistributed) {
      const appended = await appendDistributed(this.#client, laneId, stamped, this.#sealingKey());
      if (this.#isInDoubt) void this.#client.end();
      return appended;
    }
    const values = flushParameters(laneId, stamped, this.#sealingKey());
    return this.#client.query({ ...appendEntries, values });
  }

  async readPromise(): Promise<string | undefined> {
    return (await this.#client.query<{ promised: string }>(readPromise)).rows[0]?.promised;
  }

  readHeldKeys(wanted: readonly object[]): Promise<{ readonly rows: HeldKey[] }> {
    return this.#client.query({ ...readIdempotencyKeys, values: [JSON.stringify(wanted)] });
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

/** Sessions of lanes on PostgreSQL. */
export function laneSessions(clientConfig: pg.ClientConfig, settings: LaneSettings = {}): OpenLaneSession {
  return async (lost) => {
    const client = new pg.Client({
      ...clientConfig,
      application_name: "bellhop accept",
      query_timeout: FLUSH_TIMEOUT_MS,
      statement_timeout: FLUSH_TIMEOUT_MS - 5_000,
    });
    client.on("error", lost);
    client.on("end", () => lost(new Error("The lane's connection ended.")));
    if (settings.watch !== undefined) watchStatements(client, settings.watch);
    await client.connect();
    try {
      await endWithClient(client);
      return new PostgresLaneSession(client, await isDistributed(client), settings);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
