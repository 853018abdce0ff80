import { apartFromReader } from "../db/readers.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";

const INSERT_AUDIT_ENTRY = readStatement(new URL("./sql/insert-audit-entry.sql", import.meta.url));

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
