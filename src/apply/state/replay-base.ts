import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import { STATE_SCHEMA } from "./state-schema.ts";
import { VERSION_TABLES } from "./version-tables.ts";

/** In milliseconds since 1970, what retention has taken out: of the log by receipt, of versions by source time. */
const readHorizons = namedStatement(
  "read-horizons",
  `select
    (extract(epoch from max(known_from) filter (where kind in ('payloads', 'outcomes'))) * 1000)::float8 as log_ms,
    (extract(epoch from max(known_from) filter (where kind = 'versions')) * 1000)::float8 as versions_ms
  from bellhop.retention_horizon`,
);

/** From when on the log is whole, and of which instants versions are gone (milliseconds since 1970; null: of none). */
export interface ReplayHorizon {
  readonly logMs: number | null;
  readonly versionsMs: number | null;
}

/** How far back a replay can derive the state: before that, retention has taken out of the log what it was made of. */
export async function readReplayHorizon(client: pg.ClientBase): Promise<ReplayHorizon> {
  const { rows } = await client.query<{ log_ms: number | null; versions_ms: number | null }>(readHorizons);
  return { logMs: rows[0]?.log_ms ?? null, versionsMs: rows[0]?.versions_ms ?? null };
}

/**
 * Begins a rebuilt state with what cannot be derived any more: the versions that the live one has of what was received before
 * `firstId` (null: nothing), and of each key the newest of them as the current one. Their receipts lie before all that is replayed, so nothing
 * of it can have changed them.
 */
export async function copyBase(client: pg.ClientBase, schema: string, firstId: string | null): Promise<void> {
  if (firstId === null) return;
  for (const [resource, { table }] of Object.entries(VERSION_TABLES)) {
    await client.query(
      `insert into ${schema}.${table} select * from ${STATE_SCHEMA}.${table} where request_id < $1`,
      [firstId],
    );
    await client.query(
      `insert into ${schema}.current_record (bucket, property_id, resource, key, source_time, request_id, record_index,
        content_hash, facts_source_time, status, from_date, to_date)
      select distinct on (bucket, property_id, key) bucket, property_id, '${resource}', key, source_time, request_id,
        record_index, content_hash, facts_source_time, status, from_date, to_date
      from ${schema}.${table}
      order by bucket, property_id, key, source_time desc, request_id desc, record_index desc`,
    );
  }
  await client.query(`insert into ${schema}.known_room_type select * from ${STATE_SCHEMA}.known_room_type`);
}
