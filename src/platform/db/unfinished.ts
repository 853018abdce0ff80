import type pg from "pg";
import type { Queryable } from "./transaction.ts";

/**
 * A database that is not to be used as it is says so itself: one that a restore or a move is filling, and one that was moved
 * away. The schema is the first thing that is made there, and the last that goes.
 */
export const UNFINISHED_SCHEMA = "bellhop_unfinished";

export interface Unfinished {
  /** One line for whoever starts something on it, which says what to do. */
  readonly note: string;
  /** Whether it holds only what a restore or move has put there so far. */
  readonly isDisposable: boolean;
}

/** What a database says of itself; undefined for one that may be used. */
export async function readUnfinished(client: Queryable): Promise<Unfinished | undefined> {
  const { rows } = await client.query<{ found: boolean }>("select to_regclass($1) is not null as found", [
    `${UNFINISHED_SCHEMA}.note`,
  ]);
  if (rows[0]?.found !== true) return undefined;
  const said = await client.query<Unfinished>(
    `select note, is_disposable as "isDisposable" from ${UNFINISHED_SCHEMA}.note`,
  );
  return said.rows[0];
}

/** Has the database say so from now on. */
export async function markUnfinished(
  client: pg.ClientBase,
  { note, isDisposable }: Unfinished,
): Promise<void> {
  await client.query("begin");
  await client.query(`create schema ${UNFINISHED_SCHEMA}`);
  await client.query(
    `create table ${UNFINISHED_SCHEMA}.note (note text not null, is_disposable boolean not null)`,
  );
  await client.query(`insert into ${UNFINISHED_SCHEMA}.note values ($1, $2)`, [note, isDisposable]);
  await client.query("commit");
}

/** It may be used now; in the caller's transaction, where there is one. */
export async function clearUnfinished(client: pg.ClientBase): Promise<void> {
  await client.query(`drop schema ${UNFINISHED_SCHEMA} cascade`);
}
