import type { ClientBase, Pool } from "pg";
import { apartFromReader } from "../platform/db/connection.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";

const INSERT_AUDIT_ENTRY = namedStatement(
  "insert-audit-entry",
  `insert into bellhop.audit_entry (who, what, client_id, detail, role)
  values ($1, $2, $3, $4, (select role from bellhop.operator where 'console:' || name = $1))`,
);

/** An action or a refusal. `detail` never contains a secret, a token or a guest's name. */
interface AuditEntry {
  /** `cli:<user>`, `client:<client id>` or `console:<operator>`. */
  readonly who: string;
  /** A verb-noun such as `create-client`. */
  readonly what: string;
  readonly clientId?: string | undefined;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Writes one audit entry, within the transaction if given its connection. The client that it concerns may have been deleted. */
export async function recordAudit(connection: Queryable, entry: AuditEntry): Promise<void> {
  const values = [entry.who, entry.what, entry.clientId ?? null, JSON.stringify(entry.detail ?? {})];
  await apartFromReader(() => connection.query({ ...INSERT_AUDIT_ENTRY, values }));
}

/** The row's lock serializes changes of auth data. */
const RAISE_AUTH_EPOCH = namedStatement(
  "raise-auth-epoch",
  `update bellhop.auth_epoch set epoch = epoch + 1 returning epoch::text as epoch`,
);

/** A transaction that changes auth data. Every row it touches gets `epoch` as its `changed_epoch`. */
export interface AuthChange {
  readonly connection: ClientBase;
  readonly epoch: string;
  audit(entry: AuditEntry): Promise<void>;
}

/** The auth data in the database and this node's copy. */
interface AuthData {
  readonly pool: Pool;
  readonly directory: { renew(): Promise<void> };
}

/**
 * Runs `work` in a transaction that holds the lock of the epoch row, so changes are serialized and visible in order: on this node at once,
 * on others within a second. Rolls back if `work` throws.
 */
export async function changeAuth<T>(
  { pool, directory }: AuthData,
  work: (change: AuthChange) => Promise<T>,
): Promise<T> {
  const result = await withTransaction(pool, async (connection) => {
    const { rows } = await connection.query<{ epoch: string }>(RAISE_AUTH_EPOCH);
    const epoch = rows[0]?.epoch;
    if (epoch === undefined) throw new Error("bellhop.auth_epoch has no row: the migrations did not run");
    return work({ connection, epoch, audit: (entry) => recordAudit(connection, entry) });
  });
  await directory.renew();
  return result;
}
