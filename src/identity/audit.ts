import { apartFromReader } from "../platform/db/readers.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";

const INSERT_AUDIT_ENTRY = namedStatement(
  "insert-audit-entry",
  `insert into bellhop.audit_entry (who, what, client_id, detail) values ($1, $2, $3, $4)`,
);

/** What was done or refused. `detail` never holds a secret, a token or a guest's name. */
export interface AuditEntry {
  /** `cli:<user>`, `client:<client id>` or `console:<operator>`. */
  readonly who: string;
  /** A verb-noun such as `create-client`. */
  readonly what: string;
  readonly clientId?: string | undefined;
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Writes one audit entry, inside the transaction when given its connection; also when the client that it is about has left. */
export async function recordAudit(connection: Queryable, entry: AuditEntry): Promise<void> {
  const values = [entry.who, entry.what, entry.clientId ?? null, JSON.stringify(entry.detail ?? {})];
  await apartFromReader(() => connection.query({ ...INSERT_AUDIT_ENTRY, values }));
}
