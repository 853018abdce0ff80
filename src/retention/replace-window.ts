import type pg from "pg";
import {
  boundsClause,
  type TimeWindow,
  type WindowedTable,
  windowName,
} from "../platform/db/time-windows.ts";
import { atGate, type HeldUp } from "./at-gate.ts";

/** Two sessions of a run: nobody waits for the first, so it may give way to others; everybody for what the second does. */
export interface RetentionSessions {
  /** Reads and copies. */
  readonly copying: pg.ClientBase;
  /** Puts tables in the place of others. */
  readonly replacing: pg.ClientBase;
}

/** How a window was replaced. */
export interface Replaced extends HeldUp {
  /** For how long whoever accepts was held up, in milliseconds, but for the commit. */
  readonly lockMs: number;
}

/** Makes the table that is to stand in a window's place: beside it, and sure to have only what belongs there. */
export async function makeSuccessor(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
): Promise<string> {
  const { schema, table } = of;
  const suffix = `_${Date.now().toString(36)}`;
  const name = windowName(table, window.fromMs, suffix);
  await client.query(`create table ${schema}.${name} (like ${schema}.${table} including all)`);
  return name;
}

/** What is to be done in the transaction that replaces a window. */
export interface Replacement {
  /** The table that takes its place; undefined: nothing of it is kept. */
  readonly successor: string | undefined;
  /** Asked before anybody is held up. False ends it: what was copied is no longer all that there is. */
  readonly isComplete?: (replacing: pg.ClientBase) => Promise<boolean>;
  /** Done while appliers are held up, and nobody writes to the window: short. */
  readonly complete?: (replacing: pg.ClientBase) => Promise<void>;
}

/**
 * Puts a successor in the place of a window, or nothing, in one transaction, and drops the former one after that. Undefined
 * where it was not complete: then the successor is dropped. Throws as `atGate`.
 */
export async function replaceWindow(
  { copying, replacing }: RetentionSessions,
  of: WindowedTable,
  window: TimeWindow,
  { successor, isComplete, complete }: Replacement,
): Promise<Replaced | undefined> {
  const { schema, table } = of;
  if (successor !== undefined) await constrain(copying, of, window, successor);
  let lockMs = 0;
  const heldUp = await atGate(
    replacing,
    `${schema}.${window.name}`,
    async () => {
      await complete?.(replacing);
      const askedAt = performance.now();
      // Its windows need not be locked: whoever wants one comes by the table.
      await replacing.query(`lock table only ${schema}.${table} in access exclusive mode`);
      await swap(replacing, of, window, successor);
      lockMs = performance.now() - askedAt;
    },
    isComplete && (() => isComplete(replacing)),
  );
  if (heldUp !== undefined) await copying.query(`drop table ${schema}.${window.name}`);
  else if (successor !== undefined) await copying.query(`drop table ${schema}.${successor}`);
  return heldUp && { ...heldUp, lockMs };
}

/** With such a constraint PostgreSQL need not read the table when it is attached. */
async function constrain(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
  successor: string,
): Promise<void> {
  const column = of.column;
  const least = Number.isFinite(window.fromMs) ? ` and ${column} >= '${of.boundOf(window.fromMs)}'` : "";
  await client.query(
    `alter table ${of.schema}.${successor} add constraint ${successor}_window
      check (${column} is not null${least} and ${column} < '${of.boundOf(window.toMs)}')`,
  );
}

async function swap(
  client: pg.ClientBase,
  of: WindowedTable,
  window: TimeWindow,
  successor: string | undefined,
): Promise<void> {
  const { schema, table } = of;
  await client.query(`alter table ${schema}.${table} detach partition ${schema}.${window.name}`);
  if (successor === undefined) return;
  await client.query(
    `alter table ${schema}.${table} attach partition ${schema}.${successor} ${boundsClause(of, window)}`,
  );
  await client.query(`alter table ${schema}.${successor} drop constraint ${successor}_window`);
}
