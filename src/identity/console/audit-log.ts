import type pg from "pg";
import type { AuditItem } from "../../console/answers.ts";
import { readStatement } from "../../platform/db/statement.ts";
import type { Position, PositionShape } from "../../platform/http/position.ts";

const listStatement = readStatement(new URL("./sql/list-audit-page.sql", import.meta.url));

interface Row extends Omit<AuditItem, "occurredAt"> {
  readonly occurredAt: Date;
  readonly matches: boolean;
  readonly examined: number;
}

/** The number of the last entry looked at. */
export const AUDIT_POSITION: PositionShape = [(part) => typeof part === "string" && /^\d{1,18}$/.test(part)];

const NEWEST: Position = ["999999999999999999"];
/** Entries looked at for one page where not every one matches. */
const EXAMINED_MAX = 5_000;

/** One page of the audit, newest first: of a client, and of whoever's name begins like `who`. */
export async function listAudit(
  pool: pg.Pool,
  filter: { readonly clientId: string | undefined; readonly who: string | undefined },
  start: Position | null,
  limit: number,
): Promise<{ items: AuditItem[]; next: Position | null }> {
  const count = filter.who === undefined ? limit + 1 : EXAMINED_MAX;
  const { rows } = await pool.query<Row>({
    ...listStatement,
    values: [filter.clientId ?? null, filter.who ?? null, ...(start ?? NEWEST), count],
  });
  const matching = rows.filter(({ matches }) => matches);
  const page = matching.slice(0, limit);
  // There is more where a match was left over, or where not everything was looked at.
  const isCut = matching.length > page.length;
  const hasNext = isCut || (rows[0]?.examined ?? 0) === count;
  const last = isCut ? page.at(-1) : rows.at(-1);
  return {
    items: page.map(({ matches: _matches, examined: _examined, occurredAt, ...row }) => ({
      ...row,
      occurredAt: occurredAt.toISOString(),
    })),
    next: hasNext && last !== undefined ? [last.auditId] : null,
  };
}
