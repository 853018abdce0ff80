import type pg from "pg";

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

/** Begins an apply transaction. True: the gate is about to be closed, so it should be short. */
export async function beginBehindGate(client: pg.ClientBase, bounds: object): Promise<boolean> {
  // Two statements have two answers, of which the types know nothing.
  const answers = (await client.query({ text: BEGIN_BEHIND_GATE, ...bounds })) as unknown as pg.QueryResult<{
    has_time: boolean;
  }>[];
  return answers[1]?.rows[0]?.has_time === false;
}

/**
 * Waits until every apply transaction has ended that began without knowing of it, while others begin and are short; throws as
 * PostgreSQL does where that takes longer than the session's `lock_timeout`. Ends with the caller's transaction.
 */
export async function announceGate(client: pg.ClientBase): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1)", [CLOSING_SOON]);
}

/** Waits until no apply transaction is under way, and holds up those that come, until the caller's transaction ends. */
export async function closeGate(client: pg.ClientBase): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1)", [APPLY_GATE]);
}
