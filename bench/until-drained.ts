import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";

/**
 * The minimum polling interval, which grows to a hundredth of the elapsed time. Polling every 3 ms cost PostgreSQL 3 to
 * 5 of the 28 µs measured per record.
 */
const POLL_MS_MIN = 3;
const POLL_SHARE = 0.01;
const DRAIN_MS_MAX = 300_000;

/** Whether a part is after a bucket's cursor in any log writer: 64 index lookups per log writer, without reading rows. */
const BACKLOG = `select exists (
    select from bellhop.log_writer as log_writer
    cross join generate_series(0, 63) as b (bucket)
    left join lateral (
      select request_id from bellhop_state.apply_cursor as passed
      where passed.bucket = b.bucket and passed.log_writer_id = log_writer.log_writer_id
      order by passed.request_id desc limit 1
    ) as done on true
    cross join lateral (
      select from bellhop.accept_log as part
      where part.bucket = b.bucket and part.log_writer_id = log_writer.log_writer_id
        and part.request_id > coalesce(done.request_id, '00000000-0000-0000-0000-000000000000')
      limit 1
    ) as waiting
    where log_writer.retired_at is null
  ) as waiting`;

/**
 * Waits until all accepted batches are applied, and returns when (milliseconds since 1970). Polls PostgreSQL, because
 * /metrics would use the service's threads. `startedAt`: the start of the load.
 */
export async function untilDrained(client: pg.ClientBase, startedAt: number): Promise<number> {
  const deadline = Date.now() + DRAIN_MS_MAX;
  for (;;) {
    const { rows } = await client.query<{ waiting: boolean }>({ name: "backlog", text: BACKLOG });
    if (rows[0]?.waiting === false) return performance.timeOrigin + performance.now();
    if (Date.now() > deadline) throw new Error("The backlog was not drained in five minutes.");
    await delay(Math.max(POLL_MS_MIN, (Date.now() - startedAt) * POLL_SHARE));
  }
}
