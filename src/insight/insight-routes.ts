import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from "fastify";
import type pg from "pg";
import { authorize, refuseForbidden } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { ClientTurns } from "../ingest/client-turns.ts";
import { readFor } from "../platform/db/pool.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { Parameter } from "../platform/http/openapi/model.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { checkOrder, invalidParameter } from "../platform/http/read-parameters.ts";
import { type ReadingTime, readingFor } from "../platform/http/reader.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import { readPaging } from "../query/page-cursors.ts";
import { findProperty, mayRead } from "../query/property.ts";
import type { HttpContext } from "../service-context.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { BLOCKS_POSITION, blocks } from "./blocks.ts";
import { feedHealth } from "./feed-health.ts";
import { sendInsight } from "./insight-answers.ts";
import { onTheBooks } from "./on-the-books.ts";
import { nothingOf, reconcileNight } from "./one-night.ts";
import { INSIGHT_PATH, INSIGHTS, type InsightDefinition } from "./openapi/insight-operations.ts";
import { FEED_LISTS, INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { PACE_POSITION, pace } from "./pace.ts";
import { BOOKS_POSITION, type InsightPage } from "./paging.ts";
import { pickup } from "./pickup.ts";
import { onQueryContext, type QueryContext } from "./query-context.ts";
import {
  type Clock,
  daysBetween,
  GROUPINGS,
  type Grouping,
  NIGHTS_MAX,
  QuestionTooLarge,
  type StayQuestion,
} from "./question.ts";
import { RECONCILIATION_POSITION, reconciliation } from "./reconciliation.ts";

/** The parameters of an insight, read and checked. */
class InsightParameters extends DefinedParameters {
  /** Throws ServiceError `bellhop.http.InvalidParameter`, which says what is wrong, for what the definitions do not take. */
  constructor(request: FastifyRequest, definitions: readonly Parameter[]) {
    super(request, definitions);
    const [from, to] = [this.textOf("from"), this.textOf("to")];
    checkOrder(from, to);
    if (from !== undefined && to !== undefined && daysBetween(from, to) >= NIGHTS_MAX)
      throw invalidParameter(
        `from and to may name ${NIGHTS_MAX} nights at most: ask for what is longer in parts, one after another.`,
      );
    const [since, asOf] = [this.textOf("since"), this.textOf("asOf")];
    if (since !== undefined && asOf !== undefined && since > asOf)
      throw invalidParameter("since must not be after asOf.");
  }

  /** The question, of whose parameters an insight may have only some; feeds are told by the clock of receipt. */
  get question(): Omit<StayQuestion, "property"> {
    return {
      ...this.codes,
      from: this.textOf("from") ?? "",
      to: this.textOf("to") ?? "",
      by: (this.textOf("by") ?? "none") as Grouping,
      clock: (this.textOf("clock") ?? "receipt") as Clock,
      asOf: this.textOf("asOf") ?? null,
    };
  }
}

/** A page, and what the answer has beside its items. */
interface InsightResult extends InsightPage<object> {
  readonly beside?: object;
}

/** What an insight is asked. */
interface Asked {
  readonly client: pg.ClientBase;
  readonly question: StayQuestion;
  readonly queryContext: QueryContext;
  readonly start: Position | null;
  readonly limit: number;
  readonly parameters: InsightParameters;
}

/** How an insight is answered. */
interface InsightRoute {
  readonly definition: InsightDefinition;
  readonly position: PositionShape;
  /** Even as of now it tells what was. */
  readonly looksBack?: true;
  /** The name of the items in JSON; by default `items`. */
  readonly itemsName?: string;
  /** Columns that CSV has not; by default the groupings that were not asked for. */
  leftOut?(by: Grouping): readonly string[];
  /** The answer about a property that nobody has ever named; by default no items. */
  nothing?(parameters: InsightParameters): InsightResult;
  answer(asked: Asked): Promise<InsightResult>;
}

const withoutRoomType = (by: Grouping) => (by === "roomType" ? [] : ["roomType"]);

/** A page of a night's reservations; positions count those of the pages before. */
function pageOfReservations(
  { reservations, ...beside }: ReturnType<typeof nothingOf>,
  start: Position | null,
  limit: number,
): InsightResult {
  const end = Number(start?.[0] ?? 0) + limit;
  const items = reservations.slice(end - limit, end);
  return { items, next: end < reservations.length ? [end] : null, beside };
}

const ROUTES: readonly InsightRoute[] = [
  {
    definition: INSIGHTS.onTheBooks,
    position: BOOKS_POSITION,
    answer: ({ client, question, queryContext, start, limit }) =>
      onTheBooks(client, question, queryContext, start, limit),
  },
  {
    definition: INSIGHTS.pickup,
    looksBack: true,
    position: BOOKS_POSITION,
    answer: ({ client, question, queryContext, start, limit, parameters }) =>
      pickup(client, { ...question, since: parameters.givenText("since") }, queryContext, start, limit),
  },
  {
    definition: INSIGHTS.pace,
    looksBack: true,
    position: PACE_POSITION,
    answer: ({ client, question, queryContext, start, limit, parameters }) => {
      const daysBefore = parameters.givenNumber("daysBefore");
      return pace(client, { ...question, daysBefore }, queryContext, start, limit);
    },
  },
  {
    definition: INSIGHTS.blocks,
    position: BLOCKS_POSITION,
    leftOut: withoutRoomType,
    answer: ({ client, question, queryContext, start, limit, parameters }) => {
      const holding = parameters.givenText("holding") === "yes";
      return blocks(client, { ...question, holding }, queryContext, start, limit);
    },
  },
  {
    definition: INSIGHTS.reconciliation,
    position: RECONCILIATION_POSITION,
    leftOut: withoutRoomType,
    answer: ({ client, question, queryContext, start, limit }) =>
      reconciliation(client, question, queryContext, start, limit),
  },
  {
    definition: INSIGHTS.night,
    position: [(part) => typeof part === "number" && part > 0],
    itemsName: "reservations",
    leftOut: () => ["late"],
    nothing: (parameters) => pageOfReservations(nothingOf(parameters.givenText("stayDate")), null, 1),
    answer: async ({ client, question, queryContext, start, limit, parameters }) => {
      const night = await reconcileNight(client, question, parameters.givenText("stayDate"), queryContext);
      return pageOfReservations(night, start, limit);
    },
  },
  {
    definition: INSIGHTS.feedHealth,
    position: [],
    leftOut: () => FEED_LISTS,
    nothing: () => {
      const now = new Date().toISOString();
      return { items: [], next: null, beside: { businessDay: now.slice(0, 10), readAt: now } };
    },
    answer: async ({ client, question, queryContext }) => {
      const { clientCode, propertyCode, property } = question;
      const feeds = await feedHealth(client, { clientCode, propertyCode, ...property }, queryContext);
      const { items, ...beside } = feeds;
      return { items, next: null, beside };
    },
  },
];

/** From when on versions of the client code $1 are known, of whatever resource; null where none has gone. A range of the primary key. */
const readVersionsKnownFrom = namedStatement(
  "read-versions-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and kind = 'versions'`,
);

/**
 * From when on everything is known that an answer about the past rests on (docs/retention.md): ISO 8601 with microseconds; not there: from
 * the beginning. To be asked after the answer was read: what goes meanwhile may be missing in it.
 */
async function knownFrom(on: Queryable, clientCode: string): Promise<{ readonly knownFrom?: string }> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readVersionsKnownFrom,
    values: [clientCode],
  });
  const known = rows[0]?.known_from ?? null;
  return known === null ? {} : { knownFrom: known };
}

/** Asks about a property in one snapshot. */
async function ask(
  pool: pg.Pool,
  route: InsightRoute,
  parameters: InsightParameters,
  start: Position | null,
): Promise<{ result: InsightResult; watermark: string | null; settingsVersion: number }> {
  const { clientCode, propertyCode } = parameters.codes;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) {
    const { version } = await settingsOf(pool, clientCode, propertyCode);
    const result = route.nothing?.(parameters) ?? { items: [], next: null };
    return { result, watermark: null, settingsVersion: version };
  }
  const question = { ...parameters.question, property };
  const limit = parameters.givenNumber("limit");
  const { queryContext, answer } = await onQueryContext(pool, question, (client, queryContext) =>
    route.answer({ client, question, queryContext, start, limit, parameters }),
  );
  const { watermark, settings } = queryContext;
  return { result: answer, watermark, settingsVersion: settings.version };
}

async function answer(
  context: HttpContext,
  route: InsightRoute,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { questions: pool } = context;
  const { name, parameters: definitions, itemName } = route.definition;
  const principal = request.principal as Principal;
  const parameters = new InsightParameters(request, definitions);
  const { codes, filters } = parameters;
  const question = { clientId: principal.clientId, path: name, filters };
  const { start, cursorOf } = readPaging(context, question, parameters.page, route.position);
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const { by, clock, asOf } = parameters.question;
  const { result, watermark, settingsVersion } = await ask(pool, route, parameters, start);
  const nextCursor = cursorOf(result.next);
  const isOfPast = route.looksBack === true || asOf !== null;
  const whole = {
    ...result.beside,
    items: result.items,
    nextCursor,
    clock,
    asOf,
    watermark,
    settingsVersion,
    ...(isOfPast ? await knownFrom(pool, codes.clientCode) : {}),
  };
  const leftOut = route.leftOut?.(by) ?? GROUPINGS.filter((grouping) => grouping !== by);
  return sendInsight(request, reply, whole, INSIGHT_ITEMS[itemName], leftOut, route.itemsName);
}

/** Where insights are asked for, and who may ask: partners by their token, or operators by their session. */
interface InsightDoor {
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
  for (const route of ROUTES)
    app.get(`${path}/${route.definition.name}`, { onRequest }, (request, reply) =>
      run(request, () =>
        readFor(readingFor(reply.raw, QUESTION_TIME), () => answer(context, route, request, reply)).catch(
          refuseLarge,
        ),
      ),
    );
}
