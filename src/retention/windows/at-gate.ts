import type pg from "pg";
import { announceGate, closeGate } from "../../db/apply-gate.ts";
import { sqlState } from "../../db/sql-state.ts";

const LOCK_NOT_AVAILABLE = "55P03";
/** Whoever accepts or reads waits behind a lock that is waited for: this long at most. */
const LOCK_MS_MAX = 50;
/** For large apply transactions, and then for the short ones behind which appliers wait. */
const GATE_MS_MAX = 2_000;
const TRIES_MAX = 200;
const PAUSE_MS = 250;

/** For how long others were held up, in milliseconds, and how often it was tried. */
export interface HeldUp {
  readonly tries: number;
  /** From when appliers were held up until they were let go on. */
  readonly gateMs: number;
}

/**
 * Runs a few statements, which lock a table for themselves, in a transaction while no applier is under way: they are told to be short, waited for,
 * and held up, and after that a lock has to be had in 50 ms, or all is tried again a little later. `before` is done in the same
 * transaction before anybody is held up; what it answers false to is not done (undefined).
 * Throws what the statements threw, or that no lock could be had in some hundred tries.
 */
export async function atGate(
  client: pg.ClientBase,
  work: () => Promise<unknown>,
  before?: () => Promise<boolean>,
): Promise<HeldUp | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      await client.query(`begin; set local lock_timeout = ${LOCK_MS_MAX}`);
      if (before !== undefined && !(await before())) {
        await client.query("rollback");
        return undefined;
      }
      await client.query(`set local lock_timeout = ${GATE_MS_MAX}`);
      await announceGate(client);
      const closedAt = performance.now();
      await closeGate(client);
      await client.query(`set local lock_timeout = ${LOCK_MS_MAX}`);
      await work();
      await client.query("commit");
      return { tries, gateMs: performance.now() - closedAt };
    } catch (error) {
      await client.query("rollback");
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries === TRIES_MAX) throw error;
      await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    }
  }
}
