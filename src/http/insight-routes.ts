import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from "fastify";
import type pg from "pg";
import type { Principal } from "../auth/principal.ts";
import { readFor } from "../db/readers.ts";
import { ServiceError } from "../errors/registry.ts";
import { BLOCKS_POSITION, blocks } from "../insight/blocks.ts";
import { BOOKS_POSITION } from "../insight/books-position.ts";
import { type InsightPage, onTheBooks } from "../insight/on-the-books.ts";
import { PACE_POSITION, pace } from "../insight/pace.ts";
import { pickup } from "../insight/pickup.ts";
import { GROUPINGS, type Grouping, QuestionTooLarge, type StayQuestion } from "../insight/question.ts";
import { RECONCILIATION_POSITION, reconciliation } from "../insight/reconciliation.ts";
import { onScene, type Scene } from "../insight/scene.ts";
import type { Position, PositionShape } from "../read/position.ts";
import { findProperty } from "../read/property.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { authorize, refuseForbidden } from "./authorize.ts";
import { ClientTurns } from "./client-turns.ts";
import type { HttpContext } from "./context.ts";
import { sendInsight } from "./insight-answer.ts";
import { answerFeedHealth, answerNight, knownOf } from "./insight-night-routes.ts";
import { InsightParameters } from "./insight-parameters.ts";
import { INSIGHT_PATH, INSIGHTS, type InsightDefinition } from "./openapi/insight-operations.ts";
import { INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { PageCursors } from "./page-cursors.ts";
import { mayRead } from "./read-property.ts";
import { type ReadingTime, readingFor } from "./reader.ts";

/** An insight about nights: what it takes, and how it is answered. */
export interface InsightRoute {
  readonly definition: InsightDefinition;
  readonly position: PositionShape;
  /** Even as of now it tells what was. */
  readonly looksBack?: true;
  /** Columns that CSV has not; by default the groupings that were not asked for. */
  leftOut?(by: Grouping): readonly string[];
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
  looksBack: true,
  position: BOOKS_POSITION,
  answer: (client, question, scene, start, limit, parameters) =>
    pickup(client, { ...question, since: parameters.givenText("since") }, scene, start, limit),
};

const PACE: InsightRoute = {
  definition: INSIGHTS.pace,
  looksBack: true,
  position: PACE_POSITION,
  answer: (client, question, scene, start, limit, parameters) =>
    pace(client, { ...question, daysBefore: parameters.givenNumber("daysBefore") }, scene, start, limit),
};

const withoutRoomType = (by: Grouping) => (by === "roomType" ? [] : ["roomType"]);

const BLOCKS: InsightRoute = {
  definition: INSIGHTS.blocks,
  position: BLOCKS_POSITION,
  leftOut: withoutRoomType,
  answer: (client, question, scene, start, limit, parameters) =>
    blocks(client, { ...question, holding: parameters.givenText("holding") === "yes" }, scene, start, limit),
};

const RECONCILIATION: InsightRoute = {
  definition: INSIGHTS.reconciliation,
  position: RECONCILIATION_POSITION,
  leftOut: withoutRoomType,
  answer: reconciliation,
};

async function answer(
  context: HttpContext,
  route: InsightRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { questions: pool } = context;
  const { definition, position } = route;
  const principal = request.principal as Principal;
  const parameters = new InsightParameters(request, definition.parameters);
  const { codes, by, clock } = parameters;
  const { filters } = parameters;
  const cursors = new PageCursors(context, { clientId: principal.clientId, path: definition.name, filters });
  const start = cursors.read(parameters.textOf("cursor"), position);
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const asOf = parameters.textOf("asOf") ?? null;
  const schema = INSIGHT_ITEMS[definition.itemName];
  const leftOut = route.leftOut?.(by) ?? GROUPINGS.filter((grouping) => grouping !== by);
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
    route.answer(client, question, on, start, limit, parameters),
  );
  const { items, next } = page;
  const nextCursor = cursors.write(next);
  const { watermark, settings } = scene;
  const whole = { items, nextCursor, clock, asOf, watermark, settingsVersion: settings.version };
  const isOfPast = route.looksBack === true || asOf !== null;
  const known = await knownOf(context, codes.clientCode, isOfPast);
  return sendInsight(request, reply, { ...whole, ...known }, schema, leftOut);
}

/** Where insights are asked for, and who may ask: partners by their token, or operators by their session. */
export interface InsightDoor {
  readonly path: string;
  /** Leaves `request.principal`. */
  readonly onRequest: onRequestHookHandler | onRequestAsyncHookHandler;
  /** Runs an answer, at once or when it is its turn. */
  run(request: FastifyRequest, answer: () => Promise<FastifyReply>): Promise<FastifyReply>;
}

/** Of one client on one thread: fewer than there are connections for questions (`QUESTION_CONNECTIONS`). */
const QUESTIONS_AT_ONCE = 2;
/** A question takes some hundredths of a second as a rule, and 2 s at its worst on a quiet database. */
const QUESTION_TIME: ReadingTime = {
  ms: 8_000,
  error: () => new ServiceError("bellhop.insight.TimedOut", { retryAfterSeconds: 5 }),
};

function doorOfPartners(context: HttpContext): InsightDoor {
  const onRequest = authorize(context, "insight:read");
  const turns = new ClientTurns(QUESTIONS_AT_ONCE);
  return {
    path: INSIGHT_PATH,
    onRequest,
    run: ({ principal }, answering) => turns.run(principal?.clientId ?? "", answering),
  };
}

function refuseLarge(error: unknown): never {
  if (!(error instanceof QuestionTooLarge)) throw error;
  throw new ServiceError("bellhop.insight.TooLarge", { message: error.message });
}

/** `GET` of every insight about a property; for partners with the scope `insight:read`, where no other door is named. */
export function registerInsightRoutes(
  app: FastifyInstance,
  context: HttpContext,
  { path, onRequest, run }: InsightDoor = doorOfPartners(context),
): void {
  const addQuestion = (
    name: string,
    answerIt: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
  ) =>
    app.get(`${path}/${name}`, { onRequest }, (request, reply) =>
      run(request, () =>
        readFor(readingFor(reply.raw, QUESTION_TIME), () => answerIt(request, reply)).catch(refuseLarge),
      ),
    );
  for (const route of [ON_THE_BOOKS, PICKUP, PACE, BLOCKS, RECONCILIATION])
    addQuestion(route.definition.name, (request, reply) => answer(context, route, request, reply));
  addQuestion(INSIGHTS.night.name, (request, reply) => answerNight(context, request, reply));
  addQuestion(INSIGHTS.feedHealth.name, (request, reply) => answerFeedHealth(context, request, reply));
}
