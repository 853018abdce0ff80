import type pg from "pg";
import { isDistributed } from "../db/distribution.ts";
import { readStatement } from "../db/statement.ts";
import { SHORT } from "./answer-bounds.ts";

const retireLanesStatement = readStatement(new URL("./sql/retire-lanes.sql", import.meta.url));
const findDeadLanes = readStatement(new URL("./sql/find-dead-lanes.sql", import.meta.url));
const findUnreadLanes = readStatement(new URL("./sql/find-unread-lanes-distributed.sql", import.meta.url));

/** Seals lanes in which nothing can appear any more, retires those of them of which all is applied. */
export async function retireLanes(client: pg.ClientBase): Promise<void> {
  if (!(await isDistributed(client))) await client.query({ ...retireLanesStatement, ...SHORT });
  else {
    await sealLanes(client);
    await retireSealed(client);
  }
}

/** Citus names a transaction that it prepares on a worker by the coordinator's group (0) and backend. */
const PREPARED_BY = /^citus_0_(\d+)_/;

/**
 * A flush of several workers is prepared on each, and committed on the coordinator first. Where a worker was away at that
 * moment its rows appear only when Citus has recovered, perhaps long after the writer's session is gone. So a lane is
 * sealed once its session is gone and no worker, asked after that, holds anything that the session prepared.
 */
async function sealLanes(client: pg.ClientBase): Promise<void> {
  const { rows: dead } = await client.query<{ lane_id: string; backend_pid: number }>(findDeadLanes);
  if (dead.length === 0) return;
  const { rows } = await client.query<{ success: boolean; result: string }>(
    `select success, result from run_command_on_workers(
      'select coalesce(json_agg(gid), ''[]'') from pg_prepared_xacts where database = current_database()')`,
  );
  if (rows.some(({ success }) => !success)) return;
  const preparing = new Set(
    rows
      .flatMap(({ result }) => JSON.parse(result) as string[])
      .map((gid) => Number(PREPARED_BY.exec(gid)?.[1])),
  );
  const ended = dead.filter(({ backend_pid }) => !preparing.has(backend_pid));
  await client.query(
    "update bellhop.lane set sealed_at = clock_timestamp() where lane_id = any ($1::bigint[]) and sealed_at is null",
    [ended.map(({ lane_id }) => lane_id)],
  );
}

async function retireSealed(client: pg.ClientBase): Promise<void> {
  const sealed = await client.query<{ lane_id: string }>(
    "select lane_id::text as lane_id from bellhop.lane where sealed_at is not null and retired_at is null",
  );
  if (sealed.rows.length === 0) return;
  const lanes = sealed.rows.map(({ lane_id }) => lane_id);
  const { rows } = await client.query<{ lane_id: string }>({ ...findUnreadLanes, values: [lanes] });
  const unread = new Set(rows.map(({ lane_id }) => lane_id));
  await client.query(
    "update bellhop.lane set retired_at = clock_timestamp() where lane_id = any ($1::bigint[]) and retired_at is null",
    [lanes.filter((lane) => !unread.has(lane))],
  );
}
