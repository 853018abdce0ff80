import pg from "pg";
import { endWithClient } from "../db/connection.ts";
import { readStatement } from "../db/statement.ts";
import type {
  AppendedRow,
  HeldKey,
  LaneBirth,
  LaneSession,
  OpenLaneSession,
  StampedAppend,
} from "./lane-session.ts";
import { flushParameters } from "./log-entry.ts";
import { ensurePartitions } from "./partitions.ts";

const registerLane = readStatement(new URL("./sql/register-lane.sql", import.meta.url));
const appendEntries = readStatement(new URL("./sql/append-entries.sql", import.meta.url));
const readIdempotencyKeys = readStatement(new URL("./sql/read-idempotency-keys.sql", import.meta.url));

/** Advisory lock held while a lane is born, so that floors are taken one after another. */
const LANE_BIRTH_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome: its connection, and so its lane, is given up. */
const FLUSH_TIMEOUT_MS = 20_000;

class PostgresLaneSession implements LaneSession {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  async beginBirth(): Promise<void> {
    await this.#client.query("begin");
    await this.#client.query("select pg_advisory_xact_lock($1)", [LANE_BIRTH_LOCK]);
  }

  async register(): Promise<LaneBirth | undefined> {
    return (await this.#client.query<LaneBirth>(registerLane)).rows[0];
  }

  commit(): Promise<unknown> {
    return this.#client.query("commit");
  }

  makePartitions(atMs: number): Promise<void> {
    return ensurePartitions(this.#client, atMs);
  }

  append(laneId: string, stamped: readonly StampedAppend[]): Promise<{ readonly rows: AppendedRow[] }> {
    return this.#client.query({ ...appendEntries, values: flushParameters(laneId, stamped) });
  }

  readHeldKeys(wanted: readonly object[]): Promise<{ readonly rows: HeldKey[] }> {
    return this.#client.query({ ...readIdempotencyKeys, values: [JSON.stringify(wanted)] });
  }

  close(): Promise<void> {
    return this.#client.end();
  }
}

/** Sessions of lanes on PostgreSQL. */
export function laneSessions(clientConfig: pg.ClientConfig): OpenLaneSession {
  return async (lost) => {
    const client = new pg.Client({
      ...clientConfig,
      application_name: "bellhop accept",
      query_timeout: FLUSH_TIMEOUT_MS,
      statement_timeout: FLUSH_TIMEOUT_MS - 5_000,
    });
    client.on("error", lost);
    client.on("end", () => lost(new Error("The lane's connection ended.")));
    await client.connect();
    try {
      await endWithClient(client);
      return new PostgresLaneSession(client);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  };
}
