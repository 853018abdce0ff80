import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { type ResourceLetter, resourceOf } from "#contract/resource.ts";
import type { Page, QuarantineAnswer, QuarantineItem, ResolveAnswer } from "../../console/answers.ts";
import type { ConsoleParts } from "../../console/console-parts.ts";
import { type Asked, addChange, addQuestion, type Form, pagingOf } from "../../console/console-routes.ts";
import { recordAudit } from "../../identity/audit.ts";
import type { Scope } from "../../identity/scope.ts";
import { ID_LOWEST, isoOfMicroseconds, microsecondsOf } from "../../ingest/log/part-name.ts";
import { namedStatement } from "../../platform/db/statement.ts";
import { ConsoleError } from "../../platform/errors/console-registry.ts";
import {
  firstOf,
  isIndex,
  isUuid,
  type ListPage,
  type Position,
  type PositionShape,
} from "../../platform/http/position.ts";
import { findRequest, readPayload } from "./requests.ts";

/**
 * The next $5 quarantined records after ($3, $4), oldest first; of one client code ($1) and property code ($2) where given,
 * within $6 (`Scope.keys`).
 * Plan: an index scan of quarantine_unresolved_order, or of one property quarantine_unresolved and a sort.
 */
const listStatement = namedStatement(
  "list-quarantined-page",
  `select quarantine.request_id as "requestId", quarantine.record_index as "index", property.client_code as "clientCode",
    property.property_code as "propertyCode", quarantine.resource, quarantine.key, quarantine.code, quarantine.message, quarantine.state,
    quarantine.resolved_at as "resolvedAt"
  from bellhop.quarantine left join bellhop.property using (property_id)
  where quarantine.state = 'q' and (quarantine.request_id, quarantine.record_index) > ($3::uuid, $4::integer)
    and ($1::text is null or property.client_code = $1)
    and ($2::text is null or property.property_code = $2)
    and ($6::text[] is null or property.client_code || E'\\n*' = any ($6)
      or property.client_code || E'\\n' || property.property_code = any ($6))
  order by quarantine.request_id, quarantine.record_index
  limit $5`,
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

/** One page of the records quarantined now, oldest first; of one client code and property code where given. */
async function listQuarantine(
  pool: pg.Pool,
  codes: { readonly clientCode: string | undefined; readonly propertyCode: string | undefined },
  { keys }: Scope,
  start: Position | null,
  limit: number,
): Promise<ListPage<QuarantineItem>> {
  const { clientCode = null, propertyCode = null } = codes;
  const values = [clientCode, propertyCode, ...(start ?? BEGINNING), limit + 1, keys];
  const { rows } = await pool.query<Row>({ ...listStatement, values });
  return firstOf(rows.map(itemOf), limit, ({ requestId, index }) => [requestId, index]);
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
  { named, operator }: Pick<Asked, "named" | "operator">,
): Promise<Found> {
  const requestId = (named["requestId"] ?? "").toLowerCase();
  const text = named["index"] ?? "";
  const isPlace = isUuid(requestId) && /^\d{1,6}$/.test(text);
  const found = isPlace ? await findQuarantined(context.pool, requestId, Number(text)) : undefined;
  if (found !== undefined && isWithin(operator.scope, found.item)) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No such record is or was quarantined." });
}

async function resolve(parts: ConsoleParts, kind: "release" | "discard", form: Form): Promise<ResolveAnswer> {
  const reason = form.body.text("reason", REASON_CHARACTERS_MAX);
  if (kind === "discard" && (reason === undefined || reason.trim() === "")) {
    throw new ConsoleError("bellhop.console.InvalidInput", { message: "A discard needs a reason." });
  }
  const { item, bucket, resourceLetter } = await requireQuarantined(parts, form);
  if (item.state !== "quarantined") {
    const message = `This record was ${item.state} already.`;
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const { context } = parts;
  if (!context.roles.includes("accept")) {
    const message = "This node does not write to the log (its role is not accept): ask one that does.";
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const { requestId, index, clientCode, propertyCode } = item;
  const { who } = form;
  const target = { kind, operator: who, bucket, resource: resourceLetter, requestId, index } as const;
  const entryId = await context.acceptLog.appendResolution(target);
  await recordAudit(context.pool, {
    who,
    what: `${kind}-quarantined-record`,
    detail: {
      requestId,
      index,
      clientCode,
      propertyCode,
      entryId,
      ...(reason === undefined ? {} : { reason }),
    },
  });
  return { done: true, entryId };
}

/** Lists, shows, releases and discards quarantined records. */
export function addQuarantineRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const listed = ["clientCode", "propertyCode", "limit", "cursor"];
  addQuestion(
    scope,
    parts,
    "read-data",
    "quarantine",
    listed,
    async ({ query, operator }): Promise<Page<QuarantineItem>> => {
      const codes = { clientCode: query.code("clientCode"), propertyCode: query.code("propertyCode") };
      const { limit, start, cursorOf } = pagingOf(parts, "quarantine", query, QUARANTINE_POSITION);
      const { items, next } = await listQuarantine(pool, codes, operator.scope, start, limit);
      return { items, nextCursor: cursorOf(next) };
    },
  );
  const one = "quarantine/:requestId/:index";
  addQuestion(scope, parts, "read-data", one, [], async (asked): Promise<QuarantineAnswer> => {
    const { item, bucket } = await requireQuarantined(parts, asked);
    const { requestId, index } = item;
    const request = await findRequest(pool, asked.operator.scope, requestId);
    const payload = await readPayload(pool, { bucket, requestId, index });
    return { ...item, clientId: request?.clientId ?? "", payload };
  });
  for (const kind of ["release", "discard"] as const)
    addChange(scope, parts, "resolve-quarantine", `${one}/${kind}`, ["reason"], (form) =>
      resolve(parts, kind, form),
    );
}
