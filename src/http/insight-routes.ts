import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import type { Principal } from "../auth/principal.ts";
import { BOOKS_POSITION } from "../insight/books-position.ts";
import { type InsightPage, onTheBooks } from "../insight/on-the-books.ts";
import { PACE_POSITION, pace } from "../insight/pace.ts";
import { pickup } from "../insight/pickup.ts";
import { GROUPINGS, type StayQuestion } from "../insight/question.ts";
import { onScene, type Scene } from "../insight/scene.ts";
import type { Position, PositionShape } from "../read/position.ts";
import { findProperty } from "../read/property.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { authorize, refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { sendInsight } from "./insight-answer.ts";
import { InsightParameters } from "./insight-parameters.ts";
import { INSIGHT_PATH, INSIGHTS, type InsightDefinition } from "./openapi/insight-operations.ts";
import { INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { readCursor, writeCursor } from "./read-cursor.ts";
import { mayRead } from "./read-property.ts";

/** An insight about nights: what it takes, and how it is answered. */
export interface InsightRoute {
  readonly definition: InsightDefinition;
  readonly position: PositionShape;
  answer(
    client: pg.ClientBase,
    question: StayQuestion,
    scene: Scene,
    start: Position | null,
    limit: number,
    parameters: InsightParameters,
  ): Promise<InsightPage<object>>;
}

const ON_THE_BOOKS: InsightRoute = {
  definition: INSIGHTS.onTheBooks,
  position: BOOKS_POSITION,
  answer: (client, question, scene, start, limit) => onTheBooks(client, question, scene, start, limit),
};

const PICKUP: InsightRoute = {
  definition: INSIGHTS.pickup,
  position: BOOKS_POSITION,
  answer: (client, question, scene, start, limit, parameters) =>
    pickup(client, { ...question, since: parameters.givenText("since") }, scene, start, limit),
};

const PACE: InsightRoute = {
  definition: INSIGHTS.pace,
  position: PACE_POSITION,
  answer: (client, question, scene, start, limit, parameters) =>
    pace(client, { ...question, daysBefore: parameters.givenNumber("daysBefore") }, scene, start, limit),
};

async function answer(
  context: HttpContext,
  { definition, position, answer: ask }: InsightRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { pool } = context;
  const principal = request.principal as Principal;
  const parameters = new InsightParameters(request, definition.parameters);
  const { codes, by, clock } = parameters;
  const cursorOf = { clientId: principal.clientId, path: definition.name, filters: parameters.filters };
  const start = readCursor(cursorOf, parameters.textOf("cursor"), position);
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const asOf = parameters.textOf("asOf") ?? null;
  const schema = INSIGHT_ITEMS[definition.itemName];
  const leftOut = GROUPINGS.filter((grouping) => grouping !== by);
  const property = await findProperty(pool, codes.clientCode, codes.propertyCode);
  if (property === undefined) {
    // Nobody has ever named it: it has nothing, like any other list of its own.
    const { version } = await settingsOf(pool, codes.clientCode, codes.propertyCode);
    const nothing = { items: [], nextCursor: null, clock, asOf, watermark: null, settingsVersion: version };
    return sendInsight(request, reply, nothing, schema, leftOut);
  }
  const question: StayQuestion = {
    ...{ ...codes, property, by, clock, asOf },
    ...{ from: parameters.givenText("from"), to: parameters.givenText("to") },
  };
  const limit = parameters.givenNumber("limit");
  const { scene, answer: page } = await onScene(pool, question, (client, on) =>
    ask(client, question, on, start, limit, parameters),
  );
  const { items, next } = page;
  const nextCursor = next === null ? null : writeCursor(cursorOf, next);
  const { watermark, settings } = scene;
  const whole = { items, nextCursor, clock, asOf, watermark, settingsVersion: settings.version };
  return sendInsight(request, reply, whole, schema, leftOut);
}

/** `GET` of every insight about the nights of a property, with the scope `insight:read`. */
export function registerInsightRoutes(app: FastifyInstance, context: HttpContext): void {
  const options = { onRequest: authorize(context, "insight:read") };
  for (const route of [ON_THE_BOOKS, PICKUP, PACE])
    app.get(`${INSIGHT_PATH}/${route.definition.name}`, options, (request, reply) =>
      answer(context, route, request, reply),
    );
}
