import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { readRecord } from "#contract/read-record.ts";
import { letterOf, RESOURCES, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type {
  QuarantineAnswer,
  QuarantineGroup,
  QuarantineItem,
  QuarantinePageAnswer,
  ResolveAnswer,
  ResolvedRecord,
} from "../../console/answers.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { addChange, addQuestion, type Form, pagingOf } from "../../console/console-routes.ts";
import { recordAudit } from "../../identity/audit.ts";
import type { OperatorSession } from "../../identity/operators.ts";
import type { Scope } from "../../identity/scope.ts";
import { ID_LOWEST, isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ConsoleError } from "../../platform/errors/console-registry.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import {
  firstOf,
  isIndex,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../../platform/http/position.ts";
import { listRecords } from "../list-records.ts";
import { isNoLongerKept } from "../load-records.ts";
import { findProperty } from "../property.ts";
import { compareRecords } from "./record-history.ts";
import { findRequest, payloadOf, readStored } from "./requests.ts";

/** What is quarantined: of one client code ($1), property code ($2) and resource ($3) where given, within $4 (`Scope.keys`). */
const HELD = `bellhop.quarantine left join bellhop.property using (property_id)
  where quarantine.state = 'q'
    and ($1::text is null or property.client_code = $1)
    and ($2::text is null or property.property_code = $2)
    and ($3::"char" is null or quarantine.resource = $3)
    and ($4::text[] is null or property.client_code || E'\\n*' = any ($4)
      or property.client_code || E'\\n' || property.property_code = any ($4))`;

/**
 * The next $6 quarantined records after ($7, $8), oldest first, of one reason ($5) where given.
 * Plan: an index scan of quarantine_unresolved_order, or of one property quarantine_unresolved and a sort.
 */
const listStatement = namedStatement(
  "list-quarantined-page",
  `select quarantine.request_id as "requestId", quarantine.record_index as "index", property.client_code as "clientCode",
    property.property_code as "propertyCode", quarantine.resource, quarantine.key, quarantine.code, quarantine.message, quarantine.state,
    quarantine.resolved_at as "resolvedAt"
  from ${HELD}
    and ($5::text is null or quarantine.code = $5)
    and (quarantine.request_id, quarantine.record_index) > ($7::uuid, $8::integer)
  order by quarantine.request_id, quarantine.record_index
  limit $6`,
);
/** The oldest $5 quarantined records by reason. Plan: as above. */
const groupStatement = namedStatement(
  "group-quarantined",
  `with held as (
    select quarantine.code, quarantine.request_id, quarantine.property_id, property.client_code, property.property_code
    from ${HELD}
    order by quarantine.request_id, quarantine.record_index
    limit $5
  ), each as (
    select code, property_id, client_code, property_code, count(*)::integer as records, min(request_id::text) as oldest
    from held
    group by code, property_id, client_code, property_code
  )
  select code, sum(records)::integer as records, min(oldest) as "oldestRequestId", count(client_code)::integer as "propertyTotal",
    coalesce(json_agg(json_build_object('clientCode', client_code, 'propertyCode', property_code, 'records', records)
      order by records desc, client_code, property_code) filter (where client_code is not null), '[]') as properties
  from each
  group by code
  order by records desc, code`,
);
/** One record that is or was quarantined, by request and index, whichever bucket it lies in. */
const readOneStatement = namedStatement(
  "read-quarantined",
  `select quarantine.bucket, quarantine.request_id as "requestId", quarantine.record_index as "index", property.client_code as "clientCode",
    property.property_code as "propertyCode", quarantine.resource, quarantine.key, quarantine.code, quarantine.message, quarantine.state,
    quarantine.resolved_at as "resolvedAt"
  from bellhop.quarantine left join bellhop.property using (property_id)
  where quarantine.request_id = $1 and quarantine.record_index = $2`,
);

interface Row extends Omit<QuarantineItem, "resource" | "receivedAt" | "state" | "resolvedAt"> {
  readonly bucket?: number;
  readonly resource: ResourceLetter;
  readonly state: "q" | "r" | "d";
  readonly resolvedAt: Date | null;
}

const STATES = { q: "quarantined", r: "released", d: "discarded" } as const;

function itemOf(row: Row): QuarantineItem {
  const { bucket: _, resource, state, resolvedAt, ...own } = row;
  return {
    ...own,
    resource: resourceOf(resource),
    receivedAt: isoOfMicroseconds(microsecondsOf(own.requestId)),
    state: STATES[state],
    resolvedAt: resolvedAt?.toISOString() ?? null,
  };
}

/** Request and index of the last record listed. */
const QUARANTINE_POSITION: PositionShape = [isUuid, isIndex];

const BEGINNING: Position = [ID_LOWEST, -1];

/** Which records; undefined: any. */
interface HeldFilter {
  readonly clientCode: string | undefined;
  readonly propertyCode: string | undefined;
  readonly resource: ResourceLetter | undefined;
}

const heldValues = ({ clientCode, propertyCode, resource }: HeldFilter, { keys }: Scope) => [
  clientCode ?? null,
  propertyCode ?? null,
  resource ?? null,
  keys,
];

/** One page of the records quarantined now, oldest first. */
async function listQuarantine(
  pool: pg.Pool,
  filter: HeldFilter & { readonly code: string | undefined },
  scope: Scope,
  start: Position | null,
  limit: number,
): Promise<ListPage<QuarantineItem>> {
  const values = [...heldValues(filter, scope), filter.code ?? null, limit + 1, ...(start ?? BEGINNING)];
  const { rows } = await pool.query<Row>({ ...listStatement, values });
  return firstOf(rows.map(itemOf), limit, ({ requestId, index }) => [requestId, index]);
}

/** More are a fault of a feed, and counting on would only cost the database more. */
const GROUPED_MAX = 10_000;
const GROUP_PROPERTIES_MAX = 20;

/** The reasons of the records quarantined now. */
async function groupQuarantine(pool: pg.Pool, filter: HeldFilter, scope: Scope): Promise<QuarantineGroup[]> {
  const values = [...heldValues(filter, scope), GROUPED_MAX];
  type GroupRow = Omit<QuarantineGroup, "oldestReceivedAt"> & { readonly oldestRequestId: string };
  const { rows } = await pool.query<GroupRow>({ ...groupStatement, values });
  return rows.map(({ oldestRequestId, properties, ...group }) => ({
    ...group,
    oldestReceivedAt: isoOfMicroseconds(microsecondsOf(oldestRequestId)),
    properties: properties.slice(0, GROUP_PROPERTIES_MAX),
  }));
}

/** A record that is or was quarantined, where it lies and what it is; undefined when it never was. */
async function findQuarantined(
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

const REASON_CHARACTERS_MAX = 500;

type Found = NonNullable<Awaited<ReturnType<typeof findQuarantined>>>;

/** A record that could not be read is of no property that anybody could be limited to. */
function isWithin(scope: Scope, { clientCode, propertyCode }: QuarantineItem): boolean {
  if (clientCode === null || propertyCode === null) return scope.isEverything;
  return scope.permits(clientCode, propertyCode);
}

async function requireQuarantined(
  { context }: ConsoleParts,
  operator: OperatorSession,
  requestId: string,
  index: string,
): Promise<Found> {
  const id = requestId.toLowerCase();
  const isPlace = isUuid(id) && /^\d{1,6}$/.test(index);
  const found = isPlace ? await findQuarantined(context.pool, id, Number(index)) : undefined;
  if (found !== undefined && isWithin(operator.scope, found.item)) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No such record is or was quarantined." });
}

/** What the current version would be replaced by, or what would go into the history before it. */
async function foreseeRelease(
  pool: pg.Pool,
  { clientCode, propertyCode, resource, key }: QuarantineItem,
  record: Buffer,
): Promise<QuarantineAnswer["release"]> {
  if (clientCode === null || propertyCode === null || isNoLongerKept(record)) return null;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) return null;
  const { sourceTime } = readRecord(resource, record);
  const filter = { ...ANY_RECORD, resource: letterOf(resource), key };
  for await (const current of listRecords(pool, property, filter, null, 1)) {
    const compared = compareRecords(current, record);
    const currentSourceTime = readRecord(resource, current).sourceTime;
    return {
      sourceTime,
      currentSourceTime,
      changes: compared?.changes ?? null,
      changeTotal: compared?.total ?? 0,
    };
  }
  return { sourceTime, currentSourceTime: null, changes: [], changeTotal: 0 };
}

const ANY_RECORD = {
  from: undefined,
  to: undefined,
  status: undefined,
  modifiedSince: undefined,
  asOf: undefined,
} as const;

type Decision = "release" | "discard";

/** Decides on one record; answers the entry of the log. */
async function resolve(
  parts: ConsoleParts,
  kind: Decision,
  { operator, who }: Form,
  [requestId = "", index = ""]: readonly string[],
  reason: string | undefined,
): Promise<string> {
  const { item, bucket, resourceLetter } = await requireQuarantined(parts, operator, requestId, index);
  if (item.state !== "quarantined") {
    const message = `This record was ${item.state} already.`;
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const { acceptLog, pool } = parts.context;
  const { clientCode, propertyCode } = item;
  const place = { requestId: item.requestId, index: item.index };
  const target = { kind, operator: who, bucket, resource: resourceLetter, ...place } as const;
  const entryId = await acceptLog.appendResolution(target);
  await recordAudit(pool, {
    who,
    what: `${kind}-quarantined-record`,
    detail: { ...place, clientCode, propertyCode, entryId, ...(reason === undefined ? {} : { reason }) },
  });
  return entryId;
}

/** Each is an entry of the log and one of the audit. */
const DECIDED_AT_ONCE_MAX = 100;

/** One record that cannot be decided on does not hold up the others. Fails where none could be. */
async function resolveEach(parts: ConsoleParts, kind: Decision, form: Form): Promise<ResolveAnswer> {
  const reason = form.body.text("reason", REASON_CHARACTERS_MAX);
  if (kind === "discard" && (reason === undefined || reason.trim() === "")) {
    throw new ConsoleError("bellhop.console.InvalidInput", { message: "A discard needs a reason." });
  }
  const named = new Set(form.body.texts("records"));
  if (named.size === 0 || named.size > DECIDED_AT_ONCE_MAX) {
    const message = `records is a list of 1 to ${DECIDED_AT_ONCE_MAX} texts: the request id, a slash and the index.`;
    throw new ConsoleError("bellhop.console.InvalidInput", { message });
  }
  if (!parts.context.roles.includes("accept")) {
    const message = "This node does not write to the log (its role is not accept): ask one that does.";
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const records: ResolvedRecord[] = [];
  const failures: Error[] = [];
  for (const record of named) {
    try {
      const entryId = await resolve(parts, kind, form, record.split("/"), reason);
      records.push({ record, entryId, failure: null });
    } catch (error) {
      if (!(error instanceof ConsoleError || error instanceof ServiceError)) throw error;
      failures.push(error);
      records.push({ record, entryId: null, failure: error.message });
    }
  }
  if (failures.length === records.length) throw failures[0];
  return { records };
}

/** Lists, shows, releases and discards quarantined records. */
export function addQuarantineRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const listed = ["clientCode", "propertyCode", "resource", "code", "limit", "cursor"];
  addQuestion(
    scope,
    parts,
    "read-data",
    "quarantine",
    listed,
    async ({ query, operator }): Promise<QuarantinePageAnswer> => {
      const resource = query.word("resource", RESOURCES);
      const filter = {
        clientCode: query.code("clientCode"),
        propertyCode: query.code("propertyCode"),
        resource: resource && letterOf(resource),
        code: query.code("code"),
      };
      const { limit, start, cursorOf } = pagingOf(parts, "quarantine", query, QUARANTINE_POSITION);
      const { items, next } = await listQuarantine(pool, filter, operator.scope, start, limit);
      const groups = await groupQuarantine(pool, filter, operator.scope);
      return { items, nextCursor: cursorOf(next), groups };
    },
  );
  addQuestion(scope, parts, "read-data", "quarantine/:requestId/:index", [], async ({ named, operator }) => {
    const { requestId = "", index = "" } = named;
    const { item, bucket } = await requireQuarantined(parts, operator, requestId, index);
    const request = await findRequest(pool, operator.scope, item.requestId);
    const record = await readStored(pool, { bucket, ...item });
    const release = item.state === "quarantined" ? await foreseeRelease(pool, item, record) : null;
    const clientId = request?.clientId ?? "";
    return { ...item, clientId, payload: payloadOf(record), release } satisfies QuarantineAnswer;
  });
  for (const kind of ["release", "discard"] as const)
    addChange(scope, parts, "resolve-quarantine", `quarantine/${kind}`, ["records", "reason"], (form) =>
      resolveEach(parts, kind, form),
    );
}
