import pg from "pg";
import { endWithClient } from "../db/connection.ts";
import { sqlState } from "../db/sql-state.ts";
import { readStatement } from "../db/statement.ts";
import { monotonicNow } from "../memory/clock.ts";
import { flushParameters, type PendingAppend } from "./log-entry.ts";
import { ensurePartitions } from "./partitions.ts";
import { microsecondsOf, type RequestIdStamp } from "./request-id.ts";

const registerLane = readStatement(new URL("./sql/register-lane.sql", import.meta.url));
const appendEntries = readStatement(new URL("./sql/append-entries.sql", import.meta.url));
const readIdempotencyKeys = readStatement(new URL("./sql/read-idempotency-keys.sql", import.meta.url));

/** Advisory lock held while a lane is born, so that floors are taken one after another. */
const LANE_BIRTH_LOCK = 7_302_003;
/** A flush that takes longer has an unknown outcome: its connection, and so its lane, is given up. */
const FLUSH_TIMEOUT_MS = 20_000;
const NO_PARTITION = "23514";

/** What became of one append of a flush. `held`: another request holds its Idempotency-Key. */
export type FlushResult =
  | { readonly kind: "written"; readonly requestId: string }
  | { readonly kind: "held"; readonly requestId: string; readonly fingerprint: string };

/**
 * One connection that appends flushes one after another, so that the ids of the lane become visible in order.
 * It lives and dies with its connection (`lost` is called once); ids come from the stamp that the log's lanes share.
 */
export class Lane {
  readonly laneId: string;
  readonly #client: pg.Client;
  readonly #stamp: RequestIdStamp;

  private constructor(client: pg.Client, laneId: string, stamp: RequestIdStamp) {
    this.#client = client;
    this.laneId = laneId;
    this.#stamp = stamp;
  }

  /** Opens a lane whose ids come from `stamp`, which all lanes of an accept log share. */
  static async open(
    clientConfig: pg.ClientConfig,
    stamp: RequestIdStamp,
    lost: (error: unknown) => void,
  ): Promise<Lane> {
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
      await client.query("begin");
      await client.query("select pg_advisory_xact_lock($1)", [LANE_BIRTH_LOCK]);
      const sentAt = monotonicNow();
      const { rows } = await client.query<{ lane_id: string; floor: string | null; database_now_ms: number }>(
        registerLane,
      );
      const receivedAt = monotonicNow();
      await client.query("commit");
      const row = rows[0];
      if (row === undefined)
        throw new Error("The database does not show this connection in pg_stat_activity.");
      await ensurePartitions(client, row.database_now_ms);
      stamp.observe(row.database_now_ms, sentAt, receivedAt);
      if (row.floor !== null) stamp.raise(row.floor);
      return new Lane(client, row.lane_id, stamp);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Writes every append in one transaction; the results are in the same order. When it throws a data error nothing was
   * written; when it throws anything else the outcome is unknown and the lane is not to be used again.
   */
  async flush(appends: readonly PendingAppend[]): Promise<FlushResult[]> {
    const stamped = appends.map((append) => ({ append, requestId: this.#stamp.next() }));
    const parameters = flushParameters(this.laneId, stamped);
    const written = await this.#append(parameters).catch(async (error) => {
      if (sqlState(error) !== NO_PARTITION) throw error;
      await ensurePartitions(this.#client, microsecondsOf(stamped[0]?.requestId ?? "") / 1000);
      return this.#append(parameters);
    });
    if (stamped.every(({ requestId }) => written.has(requestId))) {
      return stamped.map(({ requestId }) => ({ kind: "written", requestId }));
    }
    return this.#withHeldKeys(stamped, written);
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #append(parameters: [string, Buffer]): Promise<Set<string>> {
    const sentAt = monotonicNow();
    const { rows } = await this.#client.query<{ request_id: string; database_now_ms: number }>({
      ...appendEntries,
      values: parameters,
    });
    const now = rows.at(-1)?.database_now_ms;
    if (now !== undefined) this.#stamp.observe(now, sentAt, monotonicNow());
    return new Set(rows.map((row) => row.request_id));
  }

  async #withHeldKeys(
    stamped: readonly { append: PendingAppend; requestId: string }[],
    written: ReadonlySet<string>,
  ): Promise<FlushResult[]> {
    const wanted = stamped
      .filter(({ requestId }) => !written.has(requestId))
      .map(({ append }) => ({ client_id: append.clientId, key: append.idempotency?.key }));
    const { rows } = await this.#client.query<{
      client_id: string;
      key: string;
      request_id: string;
      fingerprint: string;
    }>({ ...readIdempotencyKeys, values: [JSON.stringify(wanted)] });
    return stamped.map(({ append, requestId }) => {
      if (written.has(requestId)) return { kind: "written", requestId };
      const holder = rows.find(
        (row) => row.client_id === append.clientId && row.key === append.idempotency?.key,
      );
      if (holder === undefined)
        throw new Error("An append was neither written nor is its Idempotency-Key held.");
      return { kind: "held", requestId: holder.request_id, fingerprint: holder.fingerprint };
    });
  }
}
