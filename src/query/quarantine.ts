import { randomUUID } from "node:crypto";
import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { recordAudit } from "../identity/audit.ts";
import { isWithinKeys, type Scope } from "../identity/scope.ts";
import { type AcceptLog, isSurelyNotAppended } from "../ingest/log/accept-log.ts";
import { ACCEPTING_MS_MAX } from "../ingest/log/log-writer-session.ts";
import { ID_LOWEST, isoOfMicroseconds, lowestIdAt, microsecondsOf } from "../ingest/log/part-name.ts";
import { namedStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
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
const LOCK_QUARANTINED = namedStatement(
  "lock-quarantined",
  `select decided_by as "decision", (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
  from bellhop.quarantine
  where bucket = $1 and request_id = $2 and record_index = $3 and state = 'q'
  for update`,
);
/** Applying the decision sets `decided_by` to null. */
const SET_DECIDED = namedStatement(
  "set-decided",
  "update bellhop.quarantine set decided_by = $4 where bucket = $1 and request_id = $2 and record_index = $3",
);
const CLEAR_DECIDED = namedStatement(
  "clear-decided",
  `update bellhop.quarantine set decided_by = null
  where bucket = $1 and request_id = $2 and record_index = $3 and decided_by = $4`,
);
/** An entry between the ids $4 and $5 that decides on the record and is not applied. Plan: an index scan of accept_log_request. */
const FIND_UNAPPLIED = namedStatement(
  "find-unapplied-decision",
  `select from bellhop.accept_log as entry
  left join bellhop.request_outcome as outcome using (bucket, request_id)
  where entry.bucket = $1 and entry.target_request_id = $2 and entry.target_index = $3
    and entry.request_id between $4 and $5 and outcome.request_id is null
  limit 1`,
);

interface Decider {
  readonly pool: pg.Pool;
  readonly log: AcceptLog;
  /** For the audit. */
  readonly who: string;
}

const keyOf = ({ bucket, item: { requestId, index } }: Quarantined) => [bucket, requestId, index];

/** Whether a decision that was begun at least ACCEPTING_MS_MAX ago, when nothing can append it any more, is in the log: it is applied soon. */
async function isInLog(client: pg.ClientBase, record: Quarantined, begunMs: number): Promise<boolean> {
  const times = [begunMs - ACCEPTING_MS_MAX, begunMs + 2 * ACCEPTING_MS_MAX];
  const ids = times.map((ms) => lowestIdAt(Math.floor(ms)));
  const { rowCount } = await client.query({ ...FIND_UNAPPLIED, values: [...keyOf(record), ...ids] });
  return rowCount !== 0;
}

function auditDecision(
  client: pg.ClientBase,
  who: string,
  what: string,
  { item: { requestId, index, clientCode, propertyCode } }: Quarantined,
  more: Readonly<Record<string, unknown>>,
): Promise<void> {
  return recordAudit(client, { who, what, detail: { requestId, index, clientCode, propertyCode, ...more } });
}

/** The audit has an entry for each decision that was begun, so it must have one for a decision that did not take effect. */
const VOID = "void-quarantine-decision";

/**
 * Begins a decision: commits its id and its audit entry before it is appended to the log, because a connection or a process may end at any
 * time. Returns the id; undefined if the record was decided meanwhile.
 */
function beginDecision(
  { pool, who }: Decider,
  kind: Decision,
  record: Quarantined,
  reason: string | undefined,
): Promise<string | undefined> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ decision: string | null; nowMs: number }>({
      ...LOCK_QUARANTINED,
      values: keyOf(record),
    });
    const [found] = rows;
    if (found === undefined) return undefined;
    const { decision: earlier, nowMs } = found;
    if (earlier !== null) {
      const begunMs = microsecondsOf(earlier) / 1_000;
      if (nowMs - begunMs < ACCEPTING_MS_MAX || (await isInLog(client, record, begunMs))) return undefined;
      await auditDecision(client, who, VOID, record, { decision: earlier });
    }
    // The id has the time of the decision, by the database's clock.
    const decision = lowestIdAt(Math.floor(nowMs)).slice(0, 19) + randomUUID().slice(19);
    await client.query({ ...SET_DECIDED, values: [...keyOf(record), decision] });
    const why = reason === undefined ? {} : { reason };
    await auditDecision(client, who, `${kind}-quarantined-record`, record, { decision, ...why });
    return decision;
  });
}

/** Permits another decision, because this one is not in the log. If that fails, it is found out after ACCEPTING_MS_MAX. */
async function voidDecision({ pool, who }: Decider, record: Quarantined, decision: string): Promise<void> {
  const voiding = withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...CLEAR_DECIDED, values: [...keyOf(record), decision] });
    if (rowCount === 1) await auditDecision(client, who, VOID, record, { decision });
  });
  await voiding.catch(() => undefined);
}

/**
 * Releases or discards a quarantined record by a log entry, so that a replay makes the same decision. Returns the entry's id; undefined if
 * the record was decided meanwhile, even if that decision is not applied yet: only one takes effect, and the audit has only that one. Throws
 * ServiceError `bellhop.accept.Unavailable` if the log is not available.
 */
export async function decideQuarantined(
  decider: Decider,
  kind: Decision,
  record: Quarantined,
  reason?: string,
): Promise<string | undefined> {
  const decision = await beginDecision(decider, kind, record, reason);
  if (decision === undefined) return undefined;
  const { bucket, letter, item } = record;
  const { requestId, index } = item;
  try {
    const target = { bucket, resource: letter, requestId, index };
    return await decider.log.appendResolution({ kind, operator: decider.who, ...target });
  } catch (cause) {
    if (isSurelyNotAppended(cause)) {
      await voidDecision(decider, record, decision);
      throw cause;
    }
    throw new ServiceError("bellhop.accept.Unavailable", {
      message: `It is unknown whether the decision was stored. If so, it is shown once it is applied; if not, another can be made in ${ACCEPTING_MS_MAX / 60_000} minutes.`,
      cause,
    });
  }
}
