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

/**
 * Citus names what it prepares on a worker by the coordinator's group (0) and backend, and its sessions there by a number that ends in
 * the backend's, of ten digits behind the node's. (A worker's backend of the same number holds a lane up for a moment.)
 */
const BEGUN_BY = /^citus_(?:0_|internal gpid=)(\d+)/;
const BACKENDS_OF_NODE = 10_000_000_000;
const BEGUN_ON_WORKER = `
  select coalesce(json_agg(name), '[]') from (
    select gid from pg_prepared_xacts where database = current_database()
    union all
    select application_name from pg_stat_activity where datname = current_database() and xact_start is not null
  ) as begun (name)`;

/**
 * A flush of several workers is prepared on each, and committed on the coordinator first. Where a worker was away at that
 * moment its rows appear only when Citus has recovered, perhaps long after the writer's session is gone; and a statement of one
 * worker may still be at work there. So a lane is sealed once its session is gone and no worker, asked after that, has anything
 * that the session began.
 */
async function sealLanes(client: pg.ClientBase): Promise<void> {
  const { rows: dead } = await client.query<{ lane_id: string; backend_pid: number }>({
    ...findDeadLanes,
    ...SHORT,
  });
  if (dead.length === 0) return;
  const { rows } = await client.query<{ success: boolean; result: string }>({
    ...SHORT,
    text: "select success, result from run_command_on_workers($1)",
    values: [BEGUN_ON_WORKER],
  });
  if (rows.some(({ success }) => !success)) return;
  const atWork = new Set(
    rows
      .flatMap(({ result }) => JSON.parse(result) as string[])
      .map((name) => Number(BEGUN_BY.exec(name)?.[1]) % BACKENDS_OF_NODE),
  );
  const ended = dead.filter(({ backend_pid }) => !atWork.has(backend_pid));
  await client.query({
    ...SHORT,
    text: "update bellhop.lane set sealed_at = clock_timestamp() where lane_id = any ($1::bigint[]) and sealed_at is null",
    values: [ended.map(({ lane_id }) => lane_id)],
  });
}

async function retireSealed(client: pg.ClientBase): Promise<void> {
  const sealed = await client.query<{ lane_id: string }>({
    ...SHORT,
    text: "select lane_id::text as lane_id from bellhop.lane where sealed_at is not null and retired_at is null",
  });
  if (sealed.rows.length === 0) return;
  const lanes = sealed.rows.map(({ lane_id }) => lane_id);
  const { rows } = await client.query<{ lane_id: string }>({ ...findUnreadLanes, ...SHORT, values: [lanes] });
  const unread = new Set(rows.map(({ lane_id }) => lane_id));
  await client.query({
    ...SHORT,
    text: "update bellhop.lane set retired_at = clock_timestamp() where lane_id = any ($1::bigint[]) and retired_at is null",
    values: [lanes.filter((lane) => !unread.has(lane))],
  });
}
