import type pg from "pg";
import { isUtcTimestamp } from "#contract/calendar.ts";
import type { ClientItem } from "../../console/answers.ts";
import { readStatement } from "../../platform/db/statement.ts";
import type { Position, PositionShape } from "../../platform/http/position.ts";

const listStatement = readStatement(new URL("./sql/list-client-page.sql", import.meta.url));

interface Row extends Omit<ClientItem, "createdAt" | "revokedAt" | "lastUsedAt"> {
  readonly createdAt: Date;
  readonly revokedAt: Date | null;
  readonly lastUsedAt: Date | null;
  readonly position: string;
}

/** When the last client of a page was made, and its id. */
export const CLIENT_POSITION: PositionShape = [
  (part) => typeof part === "string" && isUtcTimestamp(part),
  (part) => typeof part === "string" && /^[A-Za-z0-9_-]{1,128}$/.test(part),
];

const BEGINNING: Position = ["-infinity", ""];

/** One page of clients, oldest first, revoked ones included; those whose name or id contains `search`. */
export async function listClientPage(
  pool: pg.Pool,
  search: string | undefined,
  start: Position | null,
  limit: number,
): Promise<{ items: ClientItem[]; next: Position | null }> {
  const { rows } = await pool.query<Row>({
    ...listStatement,
    values: [search ?? null, ...(start ?? BEGINNING), limit + 1],
  });
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    items: page.map(({ position: _position, createdAt, revokedAt, lastUsedAt, ...row }) => ({
      ...row,
      createdAt: createdAt.toISOString(),
      revokedAt: revokedAt?.toISOString() ?? null,
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
    })),
    next: rows.length > limit && last !== undefined ? [last.position, last.clientId] : null,
  };
}
