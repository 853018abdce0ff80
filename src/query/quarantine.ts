import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { isWithinKeys, type Scope } from "../identity/scope.ts";
import type { AcceptLog } from "../ingest/log/accept-log.ts";
import { ID_LOWEST, isoOfMicroseconds, microsecondsOf } from "../ingest/log/part-name.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import {
  firstOf,
  isIndex,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../platform/http/position.ts";
import type { QuarantineItem } from "./console/answers.ts";

/** Quarantined records within $4 (`Scope.keys`), filtered by client code ($1), property code ($2) and resource ($3) if given. */
export const QUARANTINED = `bellhop.quarantine left join bellhop.property using (property_id)
  where quarantine.state = 'q'
    and ($1::text is null or property.client_code = $1)
    and ($2::text is null or property.property_code = $2)
    and ($3::"char" is null or quarantine.resource = $3)
    and ${isWithinKeys("$4")}`;

const COLUMNS = `quarantine.bucket, quarantine.request_id as "requestId", quarantine.record_index as "index",
    property.client_code as "clientCode", property.property_code as "propertyCode", quarantine.resource, quarantine.key, quarantine.code,
    quarantine.message, quarantine.state, quarantine.resolved_at as "resolvedAt"`;
/**
 * The next $6 quarantined records after ($7, $8), oldest first, optionally of one reason ($5). Plan: an index scan of
 * quarantine_unresolved_order, or for one property of quarantine_unresolved with a sort.
 */
const listStatement = namedStatement(
  "list-quarantined-page",
  `select ${COLUMNS}
  from ${QUARANTINED}
    and ($5::text is null or quarantine.code = $5)
    and (quarantine.request_id, quarantine.record_index) > ($7::uuid, $8::integer)
  order by quarantine.request_id, quarantine.record_index
  limit $6`,
);
/** Records of request $1, optionally only index $2, that are or were quarantined, in any bucket. */
const findStatement = namedStatement(
  "find-quarantined",
  `select ${COLUMNS}
  from bellhop.quarantine left join bellhop.property using (property_id)
  where quarantine.request_id = $1 and quarantine.record_index = coalesce($2, quarantine.record_index)
  order by quarantine.record_index`,
);

interface Row extends Omit<QuarantineItem, "resource" | "receivedAt" | "state" | "resolvedAt"> {
  readonly bucket: number;
  readonly resource: ResourceLetter;
  readonly state: "q" | "r" | "d";
  readonly resolvedAt: Date | null;
}

const STATES = { q: "quarantined", r: "released", d: "discarded" } as const;

function itemOf({ bucket: _, resource, state, resolvedAt, ...own }: Row): QuarantineItem {
  return {
    ...own,
    resource: resourceOf(resource),
    receivedAt: isoOfMicroseconds(microsecondsOf(own.requestId)),
    state: STATES[state],
    resolvedAt: resolvedAt?.toISOString() ?? null,
  };
}

/** Request and index of the last record listed. */
export const QUARANTINE_POSITION: PositionShape = [isUuid, isIndex];

const BEGINNING: Position = [ID_LOWEST, -1];

/** Selects quarantined records; undefined means any. */
export interface QuarantineFilter {
  readonly clientCode: string | undefined;
  readonly propertyCode: string | undefined;
  readonly resource?: ResourceLetter | undefined;
}

export const quarantineValues = (
  { clientCode, propertyCode, resource }: QuarantineFilter,
  keys: Scope["keys"],
) => [clientCode ?? null, propertyCode ?? null, resource ?? null, keys];

/** One page of the records quarantined now, oldest first. */
export async function listQuarantined(
  pool: pg.Pool,
  filter: QuarantineFilter & { readonly code?: string | undefined },
  keys: Scope["keys"],
  start: Position | null,
  limit: number,
): Promise<ListPage<QuarantineItem>> {
  const values = [...quarantineValues(filter, keys), filter.code ?? null, limit + 1, ...(start ?? BEGINNING)];
  const { rows } = await pool.query<Row>({ ...listStatement, values });
  return firstOf(rows.map(itemOf), limit, ({ requestId, index }) => [requestId, index]);
}

/** A record that is or was quarantined, and its location. */
export interface Quarantined {
  readonly item: QuarantineItem;
  readonly bucket: number;
  readonly letter: ResourceLetter;
}

/** The records of a request, optionally only this index, that are or were quarantined. */
export async function findQuarantined(
  pool: pg.Pool,
  requestId: string,
  index?: number,
): Promise<Quarantined[]> {
  const { rows } = await pool.query<Row>({ ...findStatement, values: [requestId, index] });
  return rows.map((row) => ({ item: itemOf(row), bucket: row.bucket, letter: row.resource }));
}

export type Decision = "release" | "discard";

/** The row's lock makes decisions wait for one another. Plan: an index scan of quarantine's primary key. */
const LOCK_UNDECIDED = namedStatement(
  "lock-undecided",
  `select from bellhop.quarantine
  where bucket = $1 and request_id = $2 and record_index = $3 and state = 'q' and decided_by is null
  for update`,
);
/** Applying the decision sets `decided_by` to null. */
const SET_DECIDED = namedStatement(
  "set-decided",
  "update bellhop.quarantine set decided_by = $4 where bucket = $1 and request_id = $2 and record_index = $3",
);

/** An append ends within half of this. */
const APPEND_MS_MAX = 60_000;

/**
 * Releases or discards a quarantined record by a log entry, so that a replay makes the same decision. Returns the entry's id; undefined if
 * the record was decided meanwhile, even if that decision is not applied yet: only one takes effect, and the audit has only that one.
 */
export async function decideQuarantined(
  { pool, log, who }: { readonly pool: pg.Pool; readonly log: AcceptLog; readonly who: string },
  kind: Decision,
  { item: { requestId, index, clientCode, propertyCode }, bucket, letter }: Quarantined,
  reason?: string,
): Promise<string | undefined> {
  const place = { requestId, index };
  const key = [bucket, requestId, index];
  return await withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...LOCK_UNDECIDED, values: key });
    if (rowCount === 0) return undefined;
    // The transaction outlasts a slow append; else the decision would take effect without its audit entry.
    await client.query(`set local idle_in_transaction_session_timeout = '${APPEND_MS_MAX}ms'`);
    const entryId = await log.appendResolution({ kind, operator: who, bucket, resource: letter, ...place });
    await client.query({ ...SET_DECIDED, values: [...key, entryId] });
    const detail = {
      ...place,
      clientCode,
      propertyCode,
      entryId,
      ...(reason === undefined ? {} : { reason }),
    };
    await recordAudit(client, { who, what: `${kind}-quarantined-record`, detail });
    return entryId;
  });
}
