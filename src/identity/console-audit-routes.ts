import type { FastifyInstance } from "fastify";
import type { AuditItem, Page } from "../console/answers.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addQuestion, pagingOf } from "../console/console-routes.ts";
import { AUDIT_POSITION, listAudit } from "./console/audit-log.ts";

/** What was done or refused, and by whom. */
export function addAuditRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const parameters = ["clientId", "who", "limit", "cursor"];
  addQuestion(scope, parts, "audit", parameters, async ({ query }): Promise<Page<AuditItem>> => {
    const filter = { clientId: query.code("clientId"), who: query.code("who") };
    const { limit, start, cursorOf } = pagingOf(parts, "audit", query, AUDIT_POSITION);
    const { items, next } = await listAudit(parts.context.pool, filter, start, limit);
    return { items, nextCursor: cursorOf(next) };
  });
}
