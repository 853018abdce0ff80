import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { microsecondTimestamp } from "#contract/calendar.ts";
import { NOTED, SOUGHT } from "#contract/record-plan.ts";
import { letterOf, RESOURCES, type Resource } from "#contract/resource.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { addChange, addQuestion, type Form, pagingOf } from "../../console/console-routes.ts";
import type { OperatorSession } from "../../identity/operator-sessions.ts";
import type { Scope } from "../../identity/scope.ts";
import type { AcceptLog } from "../../ingest/log/accept-log.ts";
import { isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { createWait } from "../../ingest/wait-until-applied.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ConsoleError } from "../../platform/errors/console-registry.ts";
import { ServiceError } from "../../platform/errors/registry.ts";
import { type ErrorContext, reportError } from "../../platform/http/error-body.ts";
import { code, pages, word } from "../../platform/http/parameters.ts";
import { isUuid } from "../../platform/http/position.ts";
import { listRecords } from "../list-records.ts";
import { isNoLongerKept } from "../load-records.ts";
import { findProperty } from "../property.ts";
import {
  type Decision,
  decideQuarantined,
  findQuarantined,
  listQuarantined,
  QUARANTINE_POSITION,
  QUARANTINED,
  type Quarantined,
  type QuarantineFilter,
  quarantineValues,
} from "../quarantine.ts";
import { textsOfRecord } from "../record-texts.ts";
import type {
  QuarantineAnswer,
  QuarantineGroup,
  QuarantineItem,
  QuarantinePageAnswer,
  ResolveAnswer,
  ResolvedRecord,
} from "./answers.ts";
import { compareRecords } from "./json-changes.ts";
import { findRequest, payloadOf, readStored } from "./requests.ts";

/** The oldest $5 quarantined records, grouped by reason. Plan: as list-quarantined-page. */
const groupStatement = namedStatement(
  "group-quarantined",
  `with held as (
    select quarantine.code, quarantine.request_id, quarantine.property_id, property.client_code, property.property_code
    from ${QUARANTINED}
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
/** More indicate a faulty feed; counting further would only load the database. */
const GROUPED_MAX = 10_000;
const GROUP_PROPERTIES_MAX = 20;

/** The reasons of the records quarantined now, with counts. */
async function groupQuarantine(
  pool: pg.Pool,
  filter: QuarantineFilter,
  scope: Scope,
): Promise<QuarantineGroup[]> {
  const values = [...quarantineValues(filter, scope.keys), GROUPED_MAX];
  type GroupRow = Omit<QuarantineGroup, "oldestReceivedAt"> & { readonly oldestRequestId: string };
  const { rows } = await pool.query<GroupRow>({ ...groupStatement, values });
  return rows.map(({ oldestRequestId, properties, ...group }) => ({
    ...group,
    oldestReceivedAt: isoOfMicroseconds(microsecondsOf(oldestRequestId)),
    properties: properties.slice(0, GROUP_PROPERTIES_MAX),
  }));
}

const REASON_CHARACTERS_MAX = 500;

/** A record with unreadable codes belongs to no property, so only EVERYTHING includes it. */
function isWithin(scope: Scope, { clientCode, propertyCode }: QuarantineItem): boolean {
  if (clientCode === null || propertyCode === null) return scope.isEverything;
  return scope.permits(clientCode, propertyCode);
}

async function requireQuarantined(
  pool: pg.Pool,
  operator: OperatorSession,
  requestId: string,
  index: string,
): Promise<Quarantined> {
  const id = requestId.toLowerCase();
  const isPlace = isUuid(id) && /^\d{1,6}$/.test(index);
  const [found] = isPlace ? await findQuarantined(pool, id, Number(index)) : [];
  if (found !== undefined && isWithin(operator.scope, found.item)) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No such record was ever quarantined." });
}

/** The source time of a record, which may have tens of megabytes. */
async function sourceTimeOf(resource: Resource, record: Buffer): Promise<string> {
  const name = NOTED[resource].sought?.[SOUGHT.sourceTime] ?? "";
  return microsecondTimestamp((await textsOfRecord(record, [name]))[name] ?? "");
}

/** Compares the record with the current version, as a preview of its release. */
async function previewRelease(
  pool: pg.Pool,
  { clientCode, propertyCode, resource, key }: QuarantineItem,
  record: Buffer,
): Promise<QuarantineAnswer["release"]> {
  if (clientCode === null || propertyCode === null || isNoLongerKept(record)) return null;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) return null;
  const sourceTime = await sourceTimeOf(resource, record);
  const filter = { ...ANY_RECORD, resource: letterOf(resource), key };
  for await (const [current] of listRecords(pool, property, filter, null, 1)) {
    if (current === undefined) continue;
    const compared = compareRecords(current, record);
    const currentSourceTime = await sourceTimeOf(resource, current);
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

/** What decisions about quarantined records are written with. */
interface DecisionContext extends ErrorContext {
  readonly acceptLog: AcceptLog;
  /** This node's roles. */
  readonly roles: readonly string[];
}

/** Resolves one record; returns the log entry. */
async function resolve(
  { context }: ConsoleParts<DecisionContext>,
  kind: Decision,
  { operator, who }: Form,
  [requestId = "", index = ""]: readonly string[],
  reason: string | undefined,
): Promise<string> {
  const { pool, acceptLog: log } = context;
  const found = await requireQuarantined(pool, operator, requestId, index);
  const { state } = found.item;
  if (state !== "quarantined")
    throw new ConsoleError("bellhop.console.Conflict", { message: `This record was already ${state}.` });
  const entryId = await decideQuarantined({ pool, log, who }, kind, found, reason);
  if (entryId !== undefined) return entryId;
  const message = "Another decision about this record was made meanwhile; it is shown once it is applied.";
  throw new ConsoleError("bellhop.console.Conflict", { message });
}

/** Each decision writes a log entry and an audit entry. */
const DECIDED_AT_ONCE_MAX = 100;

/**
 * Resolves each record. A record that cannot be resolved does not affect the others; an unexpected error stops the loop, and earlier
 * decisions are returned because they are in the log. Throws if none could be resolved.
 */
async function resolveEach(
  parts: ConsoleParts<DecisionContext>,
  kind: Decision,
  form: Form,
): Promise<ResolveAnswer> {
  const reason = form.body.text("reason", REASON_CHARACTERS_MAX);
  if (kind === "discard" && (reason === undefined || reason.trim() === "")) {
    throw new ConsoleError("bellhop.console.InvalidInput", { message: "A discard needs a reason." });
  }
  const named = new Set(form.body.texts("records"));
  if (named.size === 0 || named.size > DECIDED_AT_ONCE_MAX) {
    const message = `records must be an array of 1 to ${DECIDED_AT_ONCE_MAX} strings: the request id, a slash and the index.`;
    throw new ConsoleError("bellhop.console.InvalidInput", { message });
  }
  if (!parts.context.roles.includes("accept")) {
    const message = "This node lacks the role accept, so it cannot write to the log. Use one that has it.";
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const records: ResolvedRecord[] = [];
  const failures: unknown[] = [];
  let fault: unknown;
  for (const record of named) {
    try {
      const entryId = await resolve(parts, kind, form, record.split("/"), reason);
      records.push({ record, entryId, failure: null });
    } catch (error) {
      if (!(error instanceof ConsoleError || error instanceof ServiceError)) {
        fault = error;
        break;
      }
      failures.push(error);
      records.push({ record, entryId: null, failure: error.message });
    }
  }
  if (failures.length === records.length) throw fault ?? failures[0];
  if (fault === undefined) return { records };
  const { message: failure } = reportError(parts.context, form.request.id, fault);
  const left = [...named].slice(records.length);
  return { records: [...records, ...left.map((record) => ({ record, entryId: null, failure }))] };
}

/** Number of the log entries $1 that are applied. Plan: per entry an index scan of its partition, then request_outcome's primary key. */
const countAppliedStatement = namedStatement(
  "count-applied-resolutions",
  `select count(*)::integer as applied
  from bellhop.accept_log as log join bellhop.request_outcome using (bucket, request_id)
  where log.request_id = any ($1::uuid[])`,
);

async function areApplied(pool: pg.Pool, records: readonly ResolvedRecord[]): Promise<boolean> {
  const entryIds = records.flatMap(({ entryId }) => entryId ?? []);
  const { rows } = await pool.query<{ applied: number }>({ ...countAppliedStatement, values: [entryIds] });
  return rows[0]?.applied === entryIds.length;
}

/**
 * Adds the routes that list, show, release and discard quarantined records. With `Prefer: wait`, a decision is answered once it is applied.
 */
export function addQuarantineRoutes(scope: FastifyInstance, parts: ConsoleParts<DecisionContext>): void {
  const { pool } = parts.context;
  const listed = {
    clientCode: code(),
    propertyCode: code(),
    resource: word("", RESOURCES, "reservations"),
    code: code(),
    ...pages(),
  };
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "quarantine", parameters: listed },
    async (asked): Promise<QuarantinePageAnswer> => {
      const { operator } = asked;
      const { resource, limit: _limit, cursor: _cursor, ...codes } = asked.parameters;
      const filter = { ...codes, resource: resource && letterOf(resource) };
      const { limit, start, cursorOf } = pagingOf(parts, "quarantine", asked, QUARANTINE_POSITION);
      const { items, next } = await listQuarantined(pool, filter, operator.scope.keys, start, limit);
      const groups = await groupQuarantine(pool, filter, operator.scope);
      return { items, nextCursor: cursorOf(next), groups };
    },
  );
  addQuestion(
    scope,
    parts,
    { permission: "read-data", path: "quarantine/:requestId/:index" },
    async ({ named, operator }) => {
      const { requestId = "", index = "" } = named;
      const { item, bucket } = await requireQuarantined(pool, operator, requestId, index);
      const request = await findRequest(pool, operator.scope, item.requestId);
      const record = await readStored(pool, { bucket, ...item });
      const release = item.state === "quarantined" ? await previewRelease(pool, item, record) : null;
      const clientId = request?.clientId ?? "";
      return { ...item, clientId, payload: payloadOf(record), release } satisfies QuarantineAnswer;
    },
  );
  const wait = createWait(scope);
  for (const kind of ["release", "discard"] as const)
    addChange(
      scope,
      parts,
      { permission: "resolve-quarantine", path: `quarantine/${kind}`, fields: ["records", "reason"] },
      (form) => resolveEach(parts, kind, form),
      async ({ request, reply }, { records }) => {
        const waited = await wait(request, () => areApplied(pool, records)).catch((fault: unknown) => {
          // The decisions are stored, even if it is unknown whether they are applied.
          reportError(parts.context, request.id, fault);
          return null;
        });
        if (waited !== null) reply.header("preference-applied", waited);
      },
    );
}
