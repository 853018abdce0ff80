import type pg from "pg";
import { readStatement } from "../db/statement.ts";
import { findRequests, type RequestFilter } from "../read/list-requests.ts";
import type { Position } from "../read/position.ts";
import { type FoundRequest, type RequestSummary, readSummariesOf } from "../read/request-summary.ts";

const findClientStatement = readStatement(new URL("./sql/find-request-client.sql", import.meta.url));
const nameClientsStatement = readStatement(new URL("./sql/name-clients.sql", import.meta.url));

/** A request as an operator sees it: with whose it is. */
export interface RequestItem extends RequestSummary {
  readonly clientId: string;
  /** Null: no client has this id. */
  readonly clientName: string | null;
}

async function withNames(pool: pg.Pool, found: readonly FoundRequest[]): Promise<RequestItem[]> {
  const ids = [...new Set(found.map(({ clientId }) => clientId))];
  const { rows } =
    ids.length === 0
      ? { rows: [] }
      : await pool.query<{ clientId: string; name: string }>({ ...nameClientsStatement, values: [ids] });
  const names = new Map(rows.map(({ clientId, name }) => [clientId, name]));
  return found.map(({ clientId, summary }) => ({
    ...summary,
    clientId,
    clientName: names.get(clientId) ?? null,
  }));
}

/** One page of requests of one client or (null) of all, newest first, as `findRequests`. */
export async function listRequestsOfAll(
  pool: pg.Pool,
  clientId: string | null,
  filter: RequestFilter,
  start: Position | null,
  limit: number,
): Promise<{ items: RequestItem[]; next: Position | null }> {
  const page = findRequests(pool, clientId, filter, start, limit);
  const found: FoundRequest[] = [];
  for (;;) {
    const step = await page.next();
    if (step.done === true) return { items: await withNames(pool, found), next: step.value };
    found.push(...step.value);
  }
}

/** One request, whoever sent it; undefined when there is none of this id. */
export async function findRequest(pool: pg.Pool, requestId: string): Promise<RequestItem | undefined> {
  const { rows } = await pool.query<{ clientId: string }>({ ...findClientStatement, values: [requestId] });
  const clientId = rows[0]?.clientId;
  if (clientId === undefined) return undefined;
  return (await withNames(pool, await readSummariesOf(pool, [{ requestId, clientId }], null)))[0];
}
