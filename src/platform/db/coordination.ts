import type pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import { Repeat } from "../runtime/repeat.ts";
import { lockEverywhere, query } from "./dialect.ts";
import { namedStatement, readStatement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

const enterPresenceStatement = readStatement(new URL("./sql/enter-presence.sql", import.meta.url));
/** Counts present nodes by role: their session exists and was active within $1 seconds, or its activity is hidden (another role's). */
const countPresentStatement = namedStatement(
  "count-present",
  `select present.role, count(*)::integer as present
  from bellhop.presence as present
  join pg_stat_activity as backend on backend.pid = present.backend_pid
    and coalesce(backend.backend_start, present.backend_start) = present.backend_start
  where backend.pid = pg_backend_pid()
    or coalesce(backend.state_change, clock_timestamp()) > clock_timestamp() - make_interval(secs => $1)
  group by present.role`,
);

/** A node is present in `accept` and `read` by one session each, in `apply` by each of its appliers. */
export type Role = "accept" | "apply" | "read";

/** `deliver`: the session that holds the webhook shards of a node that applies. */
export type Presence = Role | "deliver";

/**
 * A session silent for longer is not present, and is terminated if it holds a bucket or log writer. Sessions are active every 1.2 s,
 * and every PULSE_MS while reading (docs/decisions/0009-nodes-and-leases.md). With 3 s, a takeover needed 4.94 s of its limit of 5 s.
 */
export const SILENCE_SECONDS_MAX = 2.5;

const PULSE_MS = 500;

/** Makes a session present in these roles until it ends, and returns the presence ids. */
export async function enterPresence(
  client: pg.ClientBase,
  roles: readonly Presence[],
  owner: string,
): Promise<readonly string[]> {
  const { rows } = await client.query<{ presence_id: string }>({
    ...enterPresenceStatement,
    values: [roles, owner],
  });
  if (rows.length !== roles.length)
    throw new Error("The database does not show this connection in pg_stat_activity.");
  return rows.map(({ presence_id }) => presence_id);
}

/** The number present in each role, including this session. Roles without any are omitted. */
export async function countPresent(client: Queryable): Promise<ReadonlyMap<Presence, number>> {
  const { rows } = await client.query<{ role: Presence; present: number }>({
    ...countPresentStatement,
    values: [SILENCE_SECONDS_MAX],
  });
  return new Map(rows.map(({ role, present }) => [role, present]));
}

/** Keeps a session active by a statement every PULSE_MS until `stop`. */
export function startPulse(client: pg.ClientBase): { stop(): void } {
  // The next statement of the session's owner will report the error.
  const failed = () => undefined;
  return new Repeat(() => client.query(""), PULSE_MS, failed);
}

/** Counts leases without a holder, defined as in src/apply/sql/read-cluster-view.sql. */
const countUnowned = namedStatement(
  "count-unowned-buckets",
  `select count(*)::integer as unowned
  from bellhop.bucket_lease as lease
  where not exists (
    select from pg_stat_activity as backend
    where backend.pid = lease.backend_pid and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
  )`,
);

/** The number of buckets without an applier. */
export async function countUnownedBuckets(on: Queryable): Promise<number> {
  return (await query<{ unowned: number }>(on, countUnowned)).rows[0]?.unowned ?? 0;
}

/**
 * Advisory lock shared by apply transactions. Retention takes it exclusively for the milliseconds in which it replaces a window, so that
 * no applier locks the table and accepting need not wait.
 */
export const APPLY_GATE = 7_302_006;
/** Advisory lock taken exclusively before the gate is closed. An apply transaction that cannot share it must be short. */
const CLOSING_SOON = 7_302_007;
/** Begins an apply transaction in one round trip. */
const BEGIN_BEHIND_GATE = `begin; select pg_advisory_xact_lock_shared(${APPLY_GATE}), pg_try_advisory_xact_lock_shared(${CLOSING_SOON}) as has_time`;

/** Begins an apply transaction and runs `also` in it. Returns true if the gate will soon be closed, so it should be short. */
export async function beginBehindGate(client: pg.ClientBase, bounds: object, also = ""): Promise<boolean> {
  // Several statements return an array, which pg's types omit.
  const answers: unknown = await client.query({ text: `${BEGIN_BEHIND_GATE}; ${also}`, ...bounds });
  const [, gate] = answers as pg.QueryResult<{ has_time: boolean }>[];
  return gate?.rows[0]?.has_time === false;
}

/** Waits for all apply transactions begun before; later ones are short. Fails after `lock_timeout`. Lasts until the transaction ends. */
export async function announceGate(client: pg.ClientBase): Promise<void> {
  await lockEverywhere(client, CLOSING_SOON);
}

/** Waits until no apply transaction is running, and blocks new ones until the caller's transaction ends. */
export async function closeGate(client: pg.ClientBase): Promise<void> {
  await lockEverywhere(client, APPLY_GATE);
}

/** Advisory lock of replay, erasure, deletion and retention: a replay that read a part before its redaction would restore the data. */
const EXCLUSIVE_WORK_LOCK = 7_302_021;

/** Another replay, erasure, deletion, retention run or backup is in progress. */
export class WorkUnderWay extends OperatorError {}

async function lockExclusiveWork(client: pg.ClientBase, lock: string): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(`select ${lock}($1) as taken`, [
    EXCLUSIVE_WORK_LOCK,
  ]);
  if (rows[0]?.taken !== true)
    throw new WorkUnderWay(
      "A replay, erasure, deletion, retention run or backup is running: try again when it has ended.",
    );
}

/** Prevents rewrites of the log until the session ends; can be shared. Throws WorkUnderWay if it is being rewritten or replayed. */
export async function holdOffExclusiveWork(client: pg.ClientBase): Promise<void> {
  await lockExclusiveWork(client, "pg_try_advisory_lock_shared");
}

/** Runs `work` while no other session rewrites or replays the log. Throws WorkUnderWay if one does. The lock ends with the session. */
export async function withExclusiveWork<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
): Promise<Result> {
  await lockExclusiveWork(client, "pg_try_advisory_lock");
  try {
    return await work();
  } finally {
    await client.query("select pg_advisory_unlock($1)", [EXCLUSIVE_WORK_LOCK]).catch(() => undefined);
  }
}
