import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { announceGate, closeGate } from "../platform/db/apply-gate.ts";
import { sqlState } from "../platform/db/sql-state.ts";

const LOCK_NOT_AVAILABLE = "55P03";
/**
 * Everybody waits behind a lock that is waited for: appliers behind the gate, whoever accepts or reads behind a table. So it is given up
 * soon and tried again: with the change itself nobody should wait for 100 ms. Longer only after many tries, each of which found
 * somebody under way for as long.
 */
const WAIT_MS_MAX = 30;
/** Every so many tries it may take as long once more, so that it is done in the end on a machine where nothing is short. */
const PATIENT_AFTER = 50;
const TRIES_MAX = 1_000;
/** Between tries: a transaction of an applier that was told to be short takes about as long on a busy machine. */
const PAUSE_MS = 50;
/** Tries for which appliers are told to be short; then they may work as they like for a while. */
const TRIES_ANNOUNCED = 20;
const RESPITE_MS = 500;
/** For what nobody waits behind: large apply transactions to end, and a vacuum, which PostgreSQL ends after a second for who waits. */
const UNFELT_MS_MAX = 3_000;

/** For how long others were held up, in milliseconds, and how often it was tried. */
export interface HeldUp {
  readonly tries: number;
  /** From when appliers were held up until they were let go on. */
  readonly gateMs: number;
  /** The part of it that went by until the running ones had ended. */
  readonly waitMs: number;
}

/**
 * Runs a few statements, which lock a table for themselves, in a transaction while no applier is under way: they are told to be short, waited for,
 * and held up, and after that a lock has to be had at once, or they are let go and all is tried again a little later. Vacuum is kept from `table`
 * before: PostgreSQL ends one of its own accord that somebody waits for, but only after a second, and nobody could be held up at the gate for so
 * long. `before` is done in the same transaction before anybody is held up; what it answers false to is not done (undefined). What `work` did is
 * undone before it is tried again. Throws what the statements threw, or that no lock could be had in a thousand tries.
 */
export async function atGate(
  client: pg.ClientBase,
  table: string,
  work: () => Promise<unknown>,
  before?: () => Promise<boolean>,
): Promise<HeldUp | undefined> {
  let tries = 0;
  for (;;) {
    try {
      // Nobody is to wait for the disk at the gate. What a crash may undo is whole before and after; and what is done next, the dropping
      // of the former table, is on disk only after this.
      await client.query(
        `begin; set local synchronous_commit = off; set local lock_timeout = ${UNFELT_MS_MAX}`,
      );
      await client.query(`lock table only ${table} in share update exclusive mode`);
      if (before !== undefined && !(await before())) {
        await client.query("rollback");
        return undefined;
      }
      await announceGate(client);
      for (let announced = 0; announced < TRIES_ANNOUNCED; announced += 1) {
        tries += 1;
        const heldUp = await tryOnce(client, tries, work);
        if (heldUp !== undefined) return heldUp;
        await delay(PAUSE_MS);
      }
      await client.query("rollback");
    } catch (error) {
      await client.query("rollback");
      if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries >= TRIES_MAX) throw error;
      tries += 1;
    }
    await delay(RESPITE_MS);
  }
}

/** Undefined where somebody was in the way for too long, who by then is waited for no more. */
async function tryOnce(
  client: pg.ClientBase,
  tries: number,
  work: () => Promise<unknown>,
): Promise<HeldUp | undefined> {
  const waitMsMax = WAIT_MS_MAX * Math.ceil(tries / PATIENT_AFTER);
  await client.query(`savepoint before_gate; set local lock_timeout = ${waitMsMax}`);
  const closedAt = performance.now();
  try {
    await closeGate(client);
    const waitMs = performance.now() - closedAt;
    await work();
    await client.query("commit");
    return { tries, gateMs: performance.now() - closedAt, waitMs };
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE || tries >= TRIES_MAX) throw error;
    await client.query("rollback to savepoint before_gate");
    return undefined;
  }
}
