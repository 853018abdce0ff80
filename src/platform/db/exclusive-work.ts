import type pg from "pg";
import { OperatorError } from "../errors/operator-error.ts";

/**
 * Advisory lock of whoever reads the whole log to put something in the place of what is there, or takes something out of it:
 * a replay, an erasure, a deletion, retention. One at a time: a replay that had read a part before it was redacted would bring back what
 * is gone.
 */
const EXCLUSIVE_WORK_LOCK = 7_302_021;

/** Another replay, erasure, deletion or retention run, or a backup, is under way; the message says so, for whoever asked. */
export class WorkUnderWay extends OperatorError {}

const UNDER_WAY =
  "A replay, an erasure, a deletion, a run of retention or a backup is under way: try again when it is done.";

/**
 * Has the log stay as it is, but for what is added, until the client's session ends: others may read it so at the same time. Throws
 * WorkUnderWay at once where somebody rewrites or replays it.
 */
export async function holdOffExclusiveWork(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock_shared($1) as taken", [
    EXCLUSIVE_WORK_LOCK,
  ]);
  if (rows[0]?.taken !== true) throw new WorkUnderWay(UNDER_WAY);
}

/**
 * Runs `work` while nobody else rewrites or replays the log. The lock is the session's: it ends with the client's connection.
 * Throws WorkUnderWay at once where another holds it.
 */
export async function withExclusiveWork<Result>(
  client: pg.ClientBase,
  work: () => Promise<Result>,
): Promise<Result> {
  const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_lock($1) as taken", [
    EXCLUSIVE_WORK_LOCK,
  ]);
  if (rows[0]?.taken !== true) throw new WorkUnderWay(UNDER_WAY);
  try {
    return await work();
  } finally {
    await client.query("select pg_advisory_unlock($1)", [EXCLUSIVE_WORK_LOCK]).catch(() => undefined);
  }
}
