import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";

const POLL_MS = 3;
const DRAIN_MS_MAX = 300_000;

/** Whether a part lies behind a bucket's cursor in any lane: 64 looks into an index a lane, and no row is read. */
const BACKLOG = `select exists (
    select from bellhop.lane as lane
    cross join generate_series(0, 63) as b (bucket)
    left join bellhop_state.apply_cursor as done on done.bucket = b.bucket and done.lane_id = lane.lane_id
    cross join lateral (
      select from bellhop.accept_log as part
      where part.bucket = b.bucket and part.lane_id = lane.lane_id
        and part.request_id > coalesce(done.request_id, '00000000-0000-0000-0000-000000000000')
      limit 1
    ) as waiting
    where lane.retired_at is null
  ) as waiting`;

/**
 * Waits until everything accepted is applied; answers when that was seen, in milliseconds since 1970. PostgreSQL is
 * asked and not /metrics, which would take the service's own threads.
 */
export async function untilDrained(client: pg.ClientBase): Promise<number> {
  const deadline = Date.now() + DRAIN_MS_MAX;
  for (;;) {
    const { rows } = await client.query<{ waiting: boolean }>({ name: "backlog", text: BACKLOG });
    if (rows[0]?.waiting === false) return performance.timeOrigin + performance.now();
    if (Date.now() > deadline) throw new Error("The backlog was not drained in five minutes.");
    await delay(POLL_MS);
  }
}
