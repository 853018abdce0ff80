import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from "fastify";
import type pg from "pg";
import { authorize, authorizeAgain, lacksGrant, refuseEmpty } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { readFor } from "../platform/db/connection.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import { type CursorContext, readPaging } from "../platform/http/page-cursors.ts";
import { RequestParameters, type ValuesOf } from "../platform/http/parameters.ts";
import type { Position } from "../platform/http/position.ts";
import { type ReadingTime, readingFor } from "../platform/http/reader.ts";
import { findProperty, mayRead, type ReadContext } from "../query/property.ts";
import { type PropertySettings, settingsOf } from "../settings/property-settings.ts";
import { daysOf } from "./days-of-answer.ts";
import type { Insight, InsightResult } from "./insight.ts";
import { sendInsight } from "./insight-answers.ts";
import { INSIGHT_PATH, INSIGHTS } from "./insights.ts";
import { checkRange, type InsightParameterSet, questionOf } from "./parameters.ts";
import { onQueryContext } from "./query-context.ts";
import { GROUPINGS, QuestionTooLarge } from "./question.ts";

/**
 * The time from which versions of client code $1 are complete, over all resources; null if none were deleted. Plan: a range of the primary
 * key.
 */
const readVersionsKnownFrom = namedStatement(
  "read-versions-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and kind = 'versions'`,
);

/**
 * The time from which the history behind an answer is complete (docs/retention.md), ISO 8601 with microseconds; omitted if all of it is.
 * Read after the answer, because data deleted meanwhile may be missing from it.
 */
async function knownFrom(on: Queryable, clientCode: string): Promise<{ readonly knownFrom?: string }> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readVersionsKnownFrom,
    values: [clientCode],
  });
  const known = rows[0]?.known_from ?? null;
  return known === null ? {} : { knownFrom: known };
}

/** Answers a query about a property from one snapshot. */
export async function askInsight(
  pool: pg.Pool,
  insight: Insight,
  parameters: ValuesOf<InsightParameterSet>,
  start: Position | null,
): Promise<{ result: InsightResult; watermark: string | null; settings: PropertySettings; now: Date }> {
  const { clientCode, propertyCode, limit = 0 } = parameters;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) {
    const settings = await settingsOf(pool, clientCode, propertyCode);
    const result = insight.nothing?.(parameters, settings) ?? { items: [], next: null };
    return { result, watermark: null, settings, now: new Date() };
  }
  const question = { ...questionOf(parameters), property };
  const { queryContext, answer } = await onQueryContext(pool, question, (client, queryContext) =>
    insight.answer({ client, question, queryContext, start, limit, parameters }),
  );
  return { result: typeof answer === "function" ? await answer() : answer, ...queryContext };
}

/** What insights are answered with, created once per thread. */
export interface InsightContext extends CursorContext {
  readonly pool: pg.Pool;
  /** A small separate pool for insights and backfills. */
  readonly questions: pg.Pool;
}

async function answer(
  context: InsightContext,
  insight: Insight,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { questions: pool } = context;
  const principal = request.principal as Principal;
  const { values: parameters, filters } = new RequestParameters(insight.parameters, request.raw.url ?? "");
  checkRange(parameters);
  insight.check?.(parameters);
  const { limit = 0, cursor } = parameters;
  const query = { clientId: principal.clientId, path: insight.name, filters };
  const { start, cursorOf } = readPaging(context, query, { limit, cursor }, insight.position);
  const { clientCode, propertyCode, by, clock, asOf } = questionOf(parameters);
  if (!(await mayRead(context, principal, { clientCode, propertyCode })))
    return refuseEmpty(reply, lacksGrant(clientCode, propertyCode));
  const { result, watermark, settings, now } = await askInsight(pool, insight, parameters, start);
  const nextCursor = cursorOf(result.next);
  const isOfPast = insight.looksBack === true || asOf !== null;
  const whole = {
    ...result.beside,
    items: result.items,
    nextCursor,
    clock,
    asOf,
    watermark,
    settingsVersion: settings.version,
    ...daysOf(settings, result.asOf ?? asOf, now),
    ...(isOfPast ? await knownFrom(pool, clientCode) : {}),
  };
  const otherGroupings = GROUPINGS.filter((grouping) => grouping !== by);
  const notAsked = [...otherGroupings, ...(insight.notAsked?.(parameters) ?? [])].filter((name) =>
    insight.item.optional?.includes(name),
  );
  return await sendInsight(request, reply, whole, insight, notAsked);
}

/** Where insights are served and who may query them: partners with a token, or operators with a session. */
interface InsightAccess {
  readonly path: string;
  readonly config?: FastifyContextConfig;
  /** Sets `request.principal`. */
  readonly onRequest: onRequestHookHandler | onRequestAsyncHookHandler;
  /** Runs an answer, immediately or when a slot is free; rejects if the signal aborts before. */
  run(
    request: FastifyRequest,
    answer: () => Promise<FastifyReply>,
    signal: AbortSignal,
  ): Promise<FastifyReply>;
}

/** A query usually takes under 0.1 s, at worst 2 s on an idle database; waiting for a slot counts too. */
export const QUESTION_TIME: ReadingTime = {
  ms: 8_000,
  error: () => new ServiceError("bellhop.insight.TimedOut", { retryAfterSeconds: 5 }),
};

/** Also what partners take turns by. */
export interface PartnerInsightContext extends InsightContext, ReadContext {
  /** One insight or backfill query per client and thread at a time, each using one connection of the pool. */
  readonly querySemaphores: ClientSemaphores;
}

/** Runs work when it is the client's turn. `principal`: as of then, since the turn may have taken long. */
export function askInTurn<Answer>(
  context: PartnerInsightContext,
  request: FastifyRequest,
  work: (principal: Principal) => Promise<Answer>,
  signal: AbortSignal,
): Promise<Answer> {
  const inTurn = async () => work(await authorizeAgain(context, request));
  return context.querySemaphores.run(request.principal?.clientId ?? "", inTurn, signal);
}

/** For partners with the scope `insight:read`. */
export function partnerAccess(context: PartnerInsightContext): InsightAccess {
  const onRequest = authorize(context, "insight:read");
  return {
    path: INSIGHT_PATH,
    onRequest,
    run: (request, answering, signal) => askInTurn(context, request, answering, signal),
  };
}

function refuseLarge(error: unknown): never {
  if (!(error instanceof QuestionTooLarge)) throw error;
  throw new ServiceError("bellhop.insight.TooLarge", { message: error.message });
}

/** Adds a `GET` route for every insight. */
export function registerInsightRoutes(
  app: FastifyInstance,
  context: InsightContext,
  { path, config = {}, onRequest, run }: InsightAccess,
): void {
  for (const insight of INSIGHTS)
    app.get(`${path}/${insight.name}`, { config, onRequest }, (request, reply) => {
      const reading = readingFor(reply.raw, QUESTION_TIME);
      const answering = () => readFor(reading, () => answer(context, insight, request, reply));
      return run(request, answering, reading).catch(refuseLarge);
    });
}
