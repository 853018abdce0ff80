import { sqlState } from "../db/sql-state.ts";
import { type LaneSession, type OpenLaneSession, PROMISED, type StampedAppend } from "./lane-session.ts";
import type { PendingAppend } from "./log-entry.ts";
import { microsecondsOf, type RequestIdStamp } from "./request-id.ts";

const NO_PARTITION = "23514";
/** What is promised lies behind the clock, so new ids are above it unless each try waits for long. */
const TRIES_MAX = 3;

/** What became of one append of a flush. `held`: another request holds its Idempotency-Key. */
export type FlushResult =
  | { readonly kind: "written"; readonly requestId: string }
  | { readonly kind: "held"; readonly requestId: string; readonly fingerprint: string };

/**
 * One session that appends flushes one after another, so that the ids of the lane become visible in order.
 * It lives and dies with its session; ids come from the stamp that the log's lanes share.
 */
export class Lane {
  readonly laneId: string;
  readonly #session: LaneSession;
  readonly #stamp: RequestIdStamp;

  private constructor(session: LaneSession, laneId: string, stamp: RequestIdStamp) {
    this.#session = session;
    this.laneId = laneId;
    this.#stamp = stamp;
  }

  /** Opens a lane whose ids come from `stamp`, which all lanes of an accept log share. */
  static async open(
    openSession: OpenLaneSession,
    stamp: RequestIdStamp,
    lost: (error: unknown) => void,
  ): Promise<Lane> {
    const session = await openSession(lost);
    try {
      await session.beginBirth();
      const sentAt = stamp.now();
      const birth = await session.register();
      const receivedAt = stamp.now();
      await session.commit();
      if (birth === undefined)
        throw new Error("The database does not show this connection in pg_stat_activity.");
      await session.makePartitions(birth.database_now_ms);
      stamp.observe(birth.database_now_ms, sentAt, receivedAt);
      if (birth.floor !== null) stamp.raise(birth.floor);
      return new Lane(session, birth.lane_id, stamp);
    } catch (error) {
      await session.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Writes every append in one transaction; the results are in the same order. When it throws a data error nothing was
   * written; when it throws anything else the outcome is unknown and the lane is not to be used again.
   */
  async flush(appends: readonly PendingAppend[]): Promise<FlushResult[]> {
    const { stamped, written } = await this.#stampAndAppend(appends);
    if (stamped.every(({ requestId }) => written.has(requestId))) {
      return stamped.map(({ requestId }) => ({ kind: "written", requestId }));
    }
    return this.#withHeldKeys(stamped, written);
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** Ids that were taken too long ago, or by a clock that was set back, are taken anew: nothing of theirs was written. */
  async #stampAndAppend(
    appends: readonly PendingAppend[],
  ): Promise<{ readonly stamped: readonly StampedAppend[]; readonly written: ReadonlySet<string> }> {
    for (let tries = 1; ; tries += 1) {
      const stamped = appends.map((append) => ({ append, requestId: this.#stamp.next() }));
      try {
        return { stamped, written: await this.#appendWherePartitionsAre(stamped) };
      } catch (error) {
        if (sqlState(error) !== PROMISED) throw error;
        if (tries === TRIES_MAX)
          throw new Error("The ids of an append were too old each time.", { cause: error });
        const promised = await this.#session.readPromise();
        if (promised !== undefined) this.#stamp.raise(promised);
      }
    }
  }

  #appendWherePartitionsAre(stamped: readonly StampedAppend[]): Promise<Set<string>> {
    return this.#append(stamped).catch(async (error) => {
      if (sqlState(error) !== NO_PARTITION) throw error;
      await this.#session.makePartitions(microsecondsOf(stamped[0]?.requestId ?? "") / 1000);
      return this.#append(stamped);
    });
  }

  async #append(stamped: readonly StampedAppend[]): Promise<Set<string>> {
    const sentAt = this.#stamp.now();
    const { rows, clockReadBy = this.#stamp.now() } = await this.#session.append(this.laneId, stamped);
    const now = rows.at(-1)?.database_now_ms;
    if (now !== undefined) this.#stamp.observe(now, sentAt, clockReadBy);
    return new Set(rows.map((row) => row.request_id));
  }

  async #withHeldKeys(
    stamped: readonly StampedAppend[],
    written: ReadonlySet<string>,
  ): Promise<FlushResult[]> {
    const wanted = stamped
      .filter(({ requestId }) => !written.has(requestId))
      .map(({ append }) => ({ client_id: append.clientId, key: append.idempotency?.key }));
    const { rows } = await this.#session.readHeldKeys(wanted);
    return stamped.map(({ append, requestId }) => {
      if (written.has(requestId)) return { kind: "written", requestId };
      const holder = rows.find(
        (row) => row.client_id === append.clientId && row.key === append.idempotency?.key,
      );
      if (holder === undefined)
        throw new Error("An append was neither written nor is its Idempotency-Key held.");
      // It may be another node's: what its client sends here after this answer is to have a greater id all the same.
      this.#stamp.raise(holder.request_id);
      return { kind: "held", requestId: holder.request_id, fingerprint: holder.fingerprint };
    });
  }
}
