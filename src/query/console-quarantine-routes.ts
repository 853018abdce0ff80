import type { FastifyInstance } from "fastify";
import type { Page, QuarantineAnswer, QuarantineItem, ResolveAnswer } from "../console/answers.ts";
import { adminOf, type ConsoleParts } from "../console/console-parts.ts";
import { addChange, addQuestion, pagingOf, type Told } from "../console/console-routes.ts";
import { recordAudit } from "../identity/audit.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import { isUuid } from "../platform/http/position.ts";
import { readPayload } from "./console/payload.ts";
import { findQuarantined, listQuarantine, QUARANTINE_POSITION } from "./console/quarantine.ts";
import { findRequest } from "./console/requests.ts";

const REASON_CHARACTERS_MAX = 500;

type Found = NonNullable<Awaited<ReturnType<typeof findQuarantined>>>;

async function requireQuarantined(
  { context }: ConsoleParts,
  named: Readonly<Record<string, string>>,
): Promise<Found> {
  const requestId = (named["requestId"] ?? "").toLowerCase();
  const text = named["index"] ?? "";
  const isPlace = isUuid(requestId) && /^\d{1,6}$/.test(text);
  const found = isPlace ? await findQuarantined(context.pool, requestId, Number(text)) : undefined;
  if (found !== undefined) return found;
  throw new ConsoleError("bellhop.console.NotFound", { message: "No such record is or was held." });
}

async function resolve(parts: ConsoleParts, kind: "release" | "discard", told: Told): Promise<ResolveAnswer> {
  const reason = told.body.text("reason", REASON_CHARACTERS_MAX);
  if (kind === "discard" && (reason === undefined || reason.trim() === "")) {
    throw new ConsoleError("bellhop.console.InvalidInput", { message: "A discard needs a reason." });
  }
  const { item, bucket, resourceLetter } = await requireQuarantined(parts, told.named);
  if (item.state !== "held") {
    const message = `This record was ${item.state} already.`;
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const { context } = parts;
  if (!context.roles.includes("accept")) {
    const message = "This node does not write to the log (its role is not accept): ask one that does.";
    throw new ConsoleError("bellhop.console.Conflict", { message });
  }
  const { requestId, index } = item;
  const { who } = adminOf(parts, told.operator);
  const target = { kind, operator: who, bucket, resource: resourceLetter, requestId, index } as const;
  const entryId = await context.acceptLog.appendResolution(target);
  await recordAudit(context.pool, {
    who,
    what: `${kind}-quarantined-record`,
    detail: { requestId, index, entryId, ...(reason === undefined ? {} : { reason }) },
  });
  return { done: true, entryId };
}

/** Records held aside: which, why, and what is to become of them. */
export function addQuarantineRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const listed = ["clientCode", "propertyCode", "limit", "cursor"];
  addQuestion(scope, parts, "quarantine", listed, async ({ query }): Promise<Page<QuarantineItem>> => {
    const codes = { clientCode: query.code("clientCode"), propertyCode: query.code("propertyCode") };
    const { limit, start, cursorOf } = pagingOf(parts, "quarantine", query, QUARANTINE_POSITION);
    const { items, next } = await listQuarantine(pool, codes, start, limit);
    return { items, nextCursor: cursorOf(next) };
  });
  const one = "quarantine/:requestId/:index";
  addQuestion(scope, parts, one, [], async ({ named }): Promise<QuarantineAnswer> => {
    const { item, bucket } = await requireQuarantined(parts, named);
    const { requestId, index } = item;
    const request = await findRequest(pool, requestId);
    const payload = await readPayload(pool, { bucket, requestId, index });
    return { ...item, clientId: request?.clientId ?? "", payload };
  });
  for (const kind of ["release", "discard"] as const)
    addChange(scope, parts, `${one}/${kind}`, ["reason"], (told) => resolve(parts, kind, told));
}
