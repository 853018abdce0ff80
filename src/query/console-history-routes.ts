import type { FastifyInstance } from "fastify";
import { letterOf, RESOURCES } from "#contract/resource.ts";
import type { Page, VersionItem } from "../console/answers.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addQuestion, pagingOf } from "../console/console-routes.ts";
import { invalidParameter } from "../platform/http/read-parameters.ts";
import { readRecordHistory } from "./console/record-history.ts";
import { HISTORY_POSITION } from "./list-history.ts";
import { findProperty } from "./property.ts";

/** A version may have 256 kB of payload in an answer, and is compared with the one before it. */
const VERSIONS_LIMIT_MAX = 50;

/** The versions of one record and what each changed. */
export function addHistoryRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const parameters = ["resource", "clientCode", "propertyCode", "key", "limit", "cursor"];
  addQuestion(scope, parts, "history", parameters, async ({ query }): Promise<Page<VersionItem>> => {
    const resource = query.word("resource", RESOURCES);
    if (resource === undefined) throw invalidParameter(`resource takes one of: ${RESOURCES.join(", ")}.`);
    const clientCode = query.requiredCode("clientCode");
    const propertyCode = query.requiredCode("propertyCode");
    const key = query.requiredCode("key");
    const { limit, start, cursorOf } = pagingOf(
      parts,
      "history",
      query,
      HISTORY_POSITION,
      VERSIONS_LIMIT_MAX,
    );
    const { pool } = parts.context;
    const property = await findProperty(pool, clientCode, propertyCode);
    if (property === undefined) return { items: [], nextCursor: null };
    const letter = letterOf(resource);
    const { items, next } = await readRecordHistory(pool, property, letter, key, start, limit);
    return { items, nextCursor: cursorOf(next) };
  });
}
