import type { ClientBase, Pool } from "pg";
import { apartFromReader } from "../platform/db/connection.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";

const INSERT_AUDIT_ENTRY = namedStatement(
  "insert-audit-entry",
  `insert into bellhop.audit_entry (who, what, client_id, detail, role, lists)
  values ($1, $2, $3, $4, (select role from bellhop.operator where 'console:' || name = $1), $5)`,
);

/** Of lists, `detail` has this much: a page of the audit reads the details of thousands of entries, and a client may have 20,000 grants. */
const LIST_ENTRIES_MAX = 100;
const LISTS_CHARACTERS_MAX = 4_096;

type Detail = Readonly<Record<string, unknown>>;

/** A detail whose lists are bounded, and those of them that it does not have whole, by their path. */
function withBoundedLists(
  detail: Detail,
  path = "",
  room = { characters: LISTS_CHARACTERS_MAX },
): { readonly detail: Detail; readonly lists: Detail } {
  const bounded: Record<string, unknown> = {};
  const lists: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(detail)) {
    bounded[name] = value;
    if (Array.isArray(value)) {
      const kept = beginningOf(value, room);
      if (kept.length === value.length) continue;
      bounded[name] = [...kept, `and ${value.length - kept.length} more`];
      lists[path + name] = value;
    } else if (typeof value === "object" && value !== null && !(value instanceof Date)) {
      const inner = withBoundedLists(value as Detail, `${path}${name}.`, room);
      bounded[name] = inner.detail;
      Object.assign(lists, inner.lists);
    }
  }
  return { detail: bounded, lists };
}

/** The entries that fit the room, which they take. */
function beginningOf(list: readonly unknown[], room: { characters: number }): readonly unknown[] {
  const end = list.findIndex((entry, at) => {
    const characters = JSON.stringify(entry)?.length ?? 0;
    if (at === LIST_ENTRIES_MAX || characters > room.characters) return true;
    room.characters -= characters;
    return false;
  });
  return end < 0 ? list : list.slice(0, end);
}

/** An action or a refusal. `detail` never contains a secret, a token or a guest's name. */
interface AuditEntry {
  /** `cli:<user>`, `client:<client id>` or `console:<operator>`. */
  readonly who: string;
  /** A verb-noun such as `create-client`. */
  readonly what: string;
  readonly clientId?: string | undefined;
  readonly detail?: Detail;
}

/** Writes one audit entry, within the transaction if given its connection. The client that it concerns may have been deleted. */
export async function recordAudit(connection: Queryable, entry: AuditEntry): Promise<void> {
  const { detail, lists } = withBoundedLists(entry.detail ?? {});
  const isWhole = Object.keys(lists).length === 0;
  const texts = [JSON.stringify(detail), isWhole ? null : JSON.stringify(lists)];
  const values = [entry.who, entry.what, entry.clientId ?? null, ...texts];
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
