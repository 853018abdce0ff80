import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { QuarantineItem } from "../../console/answers.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/request-id.ts";
import { namedStatement, readStatement } from "../../platform/db/statement.ts";
import { isIndex, isUuid, type Position, type PositionShape } from "../../platform/http/position.ts";

const listStatement = readStatement(new URL("./sql/list-held-page.sql", import.meta.url));
/** One record that is or was held, by request and index, whichever bucket it lies in. */
const readOneStatement = namedStatement(
  "read-quarantined",
  `select held.bucket, held.request_id as "requestId", held.record_index as "index", property.client_code as "clientCode",
    property.property_code as "propertyCode", held.resource, held.key, held.code, held.message, held.state,
    held.resolved_at as "resolvedAt"
  from bellhop.quarantine as held left join bellhop.property using (property_id)
  where held.request_id = $1 and held.record_index = $2`,
);

interface Row extends Omit<QuarantineItem, "resource" | "receivedAt" | "state" | "resolvedAt"> {
  readonly resource: ResourceLetter;
  readonly state: "h" | "r" | "d";
  readonly resolvedAt: Date | null;
}

const STATES = { h: "held", r: "released", d: "discarded" } as const;

function itemOf(row: Row): QuarantineItem {
  const { requestId, index, clientCode, propertyCode, key, code, message } = row;
  return {
    requestId,
    index,
    clientCode,
    propertyCode,
    key,
    code,
    message,
    resource: resourceOf(row.resource),
    receivedAt: isoOfMicroseconds(microsecondsOf(requestId)),
    state: STATES[row.state],
    resolvedAt: row.resolvedAt?.toISOString() ?? null,
  };
}

/** Request and index of the last record told of. */
export const QUARANTINE_POSITION: PositionShape = [isUuid, isIndex];

const BEGINNING: Position = ["00000000-0000-0000-0000-000000000000", -1];

/** One page of the records held now, oldest first; of one client code and property code where given. */
export async function listQuarantine(
  pool: pg.Pool,
  codes: { readonly clientCode: string | undefined; readonly propertyCode: string | undefined },
  start: Position | null,
  limit: number,
): Promise<{ items: QuarantineItem[]; next: Position | null }> {
  const { rows } = await pool.query<Row>({
    ...listStatement,
    values: [codes.clientCode ?? null, codes.propertyCode ?? null, ...(start ?? BEGINNING), limit + 1],
  });
  const items = rows.slice(0, limit).map(itemOf);
  const last = items.at(-1);
  const hasNext = rows.length > limit && last !== undefined;
  return { items, next: hasNext ? [last.requestId, last.index] : null };
}

/** A record that is or was held, where it lies and what it is; undefined when it never was. */
export async function findQuarantined(
  pool: pg.Pool,
  requestId: string,
  index: number,
): Promise<{ item: QuarantineItem; bucket: number; resourceLetter: ResourceLetter } | undefined> {
  const { rows } = await pool.query<Row & { bucket: number }>({
    ...readOneStatement,
    values: [requestId, index],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  return { item: itemOf(row), bucket: row.bucket, resourceLetter: row.resource };
}
