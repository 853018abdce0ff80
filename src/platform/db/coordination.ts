import type pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";
import { Repeat } from "../runtime/repeat.ts";
import { lockEverywhere, query } from "./dialect.ts";
import { namedStatement, readStatement } from "./statement.ts";
import type { Queryable } from "./transaction.ts";

const enterPresenceStatement = readStatement(new URL("./sql/enter-presence.sql", import.meta.url));
/**
 * How many nodes are present in each role: those whose own session lives and has said something within $1 seconds. One
 * whose activity is hidden (another role's, or track_activities off) counts.
 */
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

/** What a node may be there for: `accept` and `read` by a session of its own, `apply` by each of its appliers. */
export type Role = "accept" | "apply" | "read";

/** A node that applies is present once more: by the session that holds its shards of webhooks. */
export type Presence = Role | "deliver";

/**
 * A session silent for longer is unresponsive: it does not count, and is ended if it holds what others need. Sessions
 * report every 1.2 s, and every PULSE_MS while reading; under tenfold overload the longest silence was 1.5 s
 * (docs/decisions/0009-nodes-and-leases.md). With 3 s, a takeover needed 4.94 of its limit of 5 s.
 */
export const SILENCE_SECONDS_MAX = 2.5;

const PULSE_MS = 500;

/** Enters the client's session as present in these roles for as long as it lives; answers the id of each entry. */
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

/** How many are present in each role now, this session among them; a role of nobody is left out. */
export async function countPresent(client: Queryable): Promise<ReadonlyMap<Presence, number>> {
  const { rows } = await client.query<{ role: Presence; present: number }>({
    ...countPresentStatement,
    values: [SILENCE_SECONDS_MAX],
  });
  return new Map(rows.map(({ role, present }) => [role, present]));
}

/** Has the client say something now and again while its owner works without it; `stop` ends that. */
export function startPulse(client: pg.ClientBase): { stop(): void } {
  // The next statement of its owner fails of the same.
  const failed = () => undefined;
  return new Repeat(() => client.query(""), PULSE_MS, failed);
}

/**
 * The leases that nobody holds: never held, given up, or held by a backend that is gone. One whose start is hidden (another
 * role's) counts as the holder, as in src/apply/sql/read-cluster-view.sql.
 */
const countUnowned = namedStatement(
  "count-unowned-buckets",
  `select count(*)::integer as unowned
  from bellhop.bucket_lease as lease
  where not exists (
    select from pg_stat_activity as backend
    where backend.pid = lease.backend_pid and coalesce(backend.backend_start, lease.backend_start) = lease.backend_start
  )`,
);

/** How many buckets have no applier. */
export async function countUnownedBuckets(on: Queryable): Promise<number> {
  return (await query<{ unowned: number }>(on, countUnowned)).rows[0]?.unowned ?? 0;
}

/**
 * Advisory lock that every apply transaction shares, and that retention takes alone for the milliseconds in which it puts a
 * window in the place of another: then no applier holds a lock on the table, and nobody who accepts has to wait for one.
 */
export const APPLY_GATE = 7_302_006;
/**
 * Taken alone before the gate is closed, and shared by every apply transaction that finds it free: who does not find it free is to be
 * quick, as others will soon wait for it.
 */
const CLOSING_SOON = 7_302_007;
/** Begins a transaction that goes through the gate; one statement, as it is asked for by every apply transaction. */
const BEGIN_BEHIND_GATE = `begin; select pg_advisory_xact_lock_shared(${APPLY_GATE}), pg_try_advisory_xact_lock_shared(${CLOSING_SOON}) as has_time`;

/** Begins an apply transaction, with `also` as its next statement. True: the gate is about to be closed, so it should be short. */
export async function beginBehindGate(client: pg.ClientBase, bounds: object, also = ""): Promise<boolean> {
  // Several statements have several answers, of which the types know nothing.
  const answers: unknown = await client.query({ text: `${BEGIN_BEHIND_GATE}; ${also}`, ...bounds });
  const [, gate] = answers as pg.QueryResult<{ has_time: boolean }>[];
  return gate?.rows[0]?.has_time === false;
}

/**
 * Waits until every apply transaction has ended that began without knowing of it, while others begin and are short; throws as
 * PostgreSQL does where that takes longer than the session's `lock_timeout`. Ends with the caller's transaction.
 */
export async function announceGate(client: pg.ClientBase): Promise<void> {
  await lockEverywhere(client, CLOSING_SOON);
}

/** Waits until no apply transaction is under way, and holds up those that come, until the caller's transaction ends. */
export async function closeGate(client: pg.ClientBase): Promise<void> {
  await lockEverywhere(client, APPLY_GATE);
}

/**
 * Advisory lock of a replay, an erasure, a deletion and retention, which read the whole log to replace or remove data.
 * One at a time: a replay that had read a part before its redaction would bring the data back.
 */
const EXCLUSIVE_WORK_LOCK = 7_302_021;

/** Another replay, erasure, deletion, retention run or backup is in progress; the message says so. */
export class WorkUnderWay extends OperatorError {}

async function lockExclusiveWork(client: pg.ClientBase, lock: string): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>(`select ${lock}($1) as taken`, [
    EXCLUSIVE_WORK_LOCK,
  ]);
  if (rows[0]?.taken !== true)
    throw new WorkUnderWay(
      "A replay, an erasure, a deletion, a run of retention or a backup is under way: try again when it is done.",
    );
}

/**
 * Has the log stay as it is, but for what is added, until the client's session ends: others may read it so at the same time. Throws
 * WorkUnderWay at once where somebody rewrites or replays it.
 */
export async function holdOffExclusiveWork(client: pg.ClientBase): Promise<void> {
  await lockExclusiveWork(client, "pg_try_advisory_lock_shared");
}

/**
 * Runs `work` while nobody else rewrites or replays the log. The lock is the session's: it ends with the client's connection.
 * Throws WorkUnderWay at once where another holds it.
 */
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
