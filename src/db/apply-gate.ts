import type pg from "pg";

/**
 * Advisory lock that every apply transaction shares, and that retention takes alone for the milliseconds in which it puts a
 * window in the place of another: then no applier holds a lock on the table, and nobody who accepts has to wait for one.
 */
export const APPLY_GATE = 7_302_006;
/** Begins a transaction that goes through the gate; one statement, as it is asked for by every apply transaction. */
export const BEGIN_BEHIND_GATE = `begin; select pg_advisory_xact_lock_shared(${APPLY_GATE})`;

/** Waits until no apply transaction is under way, and holds up those that come, until the caller's transaction ends. */
export async function closeGate(client: pg.ClientBase): Promise<void> {
  await client.query("select pg_advisory_xact_lock($1)", [APPLY_GATE]);
}
