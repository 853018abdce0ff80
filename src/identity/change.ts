import type { ClientBase, Pool } from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { type AuditEntry, recordAudit } from "./audit.ts";

/** The row's lock puts changes of auth data one after another until their transactions end. */
const RAISE_AUTH_EPOCH = namedStatement(
  "raise-auth-epoch",
  `update bellhop.auth_epoch set epoch = epoch + 1 returning epoch::text as epoch`,
);

/** A transaction that changes auth data: `epoch` goes into the `changed_epoch` of every row it touches. */
export interface AuthChange {
  readonly connection: ClientBase;
  readonly epoch: string;
  audit(entry: AuditEntry): Promise<void>;
}

/**
 * Runs `work` in a transaction that holds the epoch row, so changes of auth data happen one after another and
 * become visible to every node in order. Rolled back when `work` throws.
 */
export async function changeAuth<T>(pool: Pool, work: (change: AuthChange) => Promise<T>): Promise<T> {
  return withTransaction(pool, async (connection) => {
    const { rows } = await connection.query<{ epoch: string }>(RAISE_AUTH_EPOCH);
    const epoch = rows[0]?.epoch;
    if (epoch === undefined) throw new Error("bellhop.auth_epoch has no row: the migrations did not run");
    return work({ connection, epoch, audit: (entry) => recordAudit(connection, entry) });
  });
}
