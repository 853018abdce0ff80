import type pg from "pg";
import { namedStatement } from "../../platform/db/statement.ts";
import type { Position } from "../../platform/http/position.ts";
import { findRequests, type RequestFilter } from "../list-requests.ts";
import { type FoundRequest, type RequestSummary, readSummariesOf } from "../request-summary.ts";

/** Whose request this is. An index scan of accept_log_request, pruned to one partition by the id. */
const findClientStatement = namedStatement(
  "find-request-client",
  `select client_id as "clientId" from bellhop.accept_log where request_id = $1 and kind = 'b' limit 1`,
);
const nameClientsStatement = namedStatement(
  "name-clients",
  `select client_id as "clientId", name from bellhop.client where client_id = any ($1::text[])`,
);

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
