import type { FastifyInstance } from "fastify";
import type { CalendarAnswer, ClientCodesAnswer, Page, PropertyItem } from "../console/answers.ts";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addQuestion, pagingOf } from "../console/console-routes.ts";
import { checkOrder, invalidParameter, type QueryParameters } from "../platform/http/read-parameters.ts";
import { findProperty } from "../query/property.ts";
import { emptyCalendar, nightsBetween, readCalendar } from "./console/calendar.ts";
import { glanceAtFeeds } from "./console/feed-glance.ts";
import { listClientCodes, listProperties, PROPERTY_POSITION } from "./console/properties.ts";

/** Each is looked at for its feeds. */
const PROPERTIES_LIMIT_MAX = 100;
const NIGHTS_MAX = 800;

function requiredDate(query: QueryParameters, name: string): string {
  const value = query.date(name);
  if (value === undefined) throw invalidParameter(`${name} is required: a date as YYYY-MM-DD.`);
  return value;
}

async function answerCalendar({ context }: ConsoleParts, query: QueryParameters): Promise<CalendarAnswer> {
  const clientCode = query.requiredCode("clientCode");
  const propertyCode = query.requiredCode("propertyCode");
  const from = requiredDate(query, "from");
  const to = requiredDate(query, "to");
  checkOrder(from, to);
  if (nightsBetween(from, to) > NIGHTS_MAX)
    throw invalidParameter(`from and to may be ${NIGHTS_MAX} nights apart at most.`);
  const property = await findProperty(context.pool, clientCode, propertyCode);
  const calendar =
    property === undefined ? emptyCalendar(from, to) : await readCalendar(context.pool, property, from, to);
  return { clientCode, propertyCode, from, to, ...calendar };
}

/** Properties with their feeds at a glance, and the nights for which inventory is missing. */
export function addPropertyRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  const { pool } = parts.context;
  const listed = ["search", "clientCode", "limit", "cursor"];
  addQuestion(scope, parts, "properties", listed, async ({ query }): Promise<Page<PropertyItem>> => {
    const filter = { clientCode: query.code("clientCode"), search: query.code("search") };
    const { limit, start, cursorOf } = pagingOf(
      parts,
      "properties",
      query,
      PROPERTY_POSITION,
      PROPERTIES_LIMIT_MAX,
    );
    const { rows, next } = await listProperties(pool, filter, start, limit);
    const feeds = await glanceAtFeeds(pool, rows);
    return {
      items: rows.map(({ clientCode, propertyCode, createdAt, held }, at) => ({
        clientCode,
        propertyCode,
        held,
        firstSeenAt: createdAt.toISOString(),
        feeds: feeds[at] ?? [],
      })),
      nextCursor: cursorOf(next),
    };
  });
  addQuestion(
    scope,
    parts,
    "client-codes",
    [],
    async (): Promise<ClientCodesAnswer> => ({
      items: await listClientCodes(pool),
    }),
  );
  addQuestion(scope, parts, "calendar", ["clientCode", "propertyCode", "from", "to"], ({ query }) =>
    answerCalendar(parts, query),
  );
}
