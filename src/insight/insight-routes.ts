import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestAsyncHookHandler,
  onRequestHookHandler,
} from "fastify";
import type pg from "pg";
import { authorize, refuseForbidden } from "../identity/authorize.ts";
import type { Principal } from "../identity/principal.ts";
import { ClientTurns } from "../ingest/client-turns.ts";
import { readFor } from "../platform/db/readers.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { Position, PositionShape } from "../platform/http/position.ts";
import { type ReadingTime, readingFor } from "../platform/http/reader.ts";
import { PageCursors } from "../query/page-cursors.ts";
import { findProperty } from "../query/property.ts";
import { mayRead } from "../query/read-property.ts";
import type { HttpContext } from "../service-context.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { BLOCKS_POSITION, blocks, type NightItems, pageOfNights } from "./blocks.ts";
import {
  afterPlace,
  BEFORE_ALL,
  BOOKS_POSITION,
  type BooksPlace,
  firstNightAfter,
  isCode,
  isFlag,
  isNight,
  placeOf,
  positionOf,
} from "./books-position.ts";
import { digitsOf, withDigits } from "./exact-amount.ts";
import {
  answerFeedHealth,
  answerNight,
  InsightParameters,
  knownOf,
  sendInsight,
} from "./insight-night-routes.ts";
import { type NightWindow, NightWindows, WINDOWS_MAX } from "./night-windows.ts";
import { type InsightPage, onTheBooks } from "./on-the-books.ts";
import { INSIGHT_PATH, INSIGHTS, type InsightDefinition } from "./openapi/insight-operations.ts";
import { INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { PACE_POSITION, pace } from "./pace.ts";
import { pointInTimeOf } from "./point-in-time.ts";
import { onQueryContext, type QueryContext } from "./query-context.ts";
import { boundOf, GROUPINGS, type Grouping, QuestionTooLarge, type StayQuestion } from "./question.ts";
import { type ReconciledNight, readSources, reconcile } from "./reconciled-nights.ts";
import { readVariants } from "./statement-variants.ts";
import { sumEntries } from "./sum-entries.ts";

const readPickup = readVariants(new URL("./sql/read-pickup.sql", import.meta.url));

/** What pickup asks beside what every question asks. */
interface PickupQuestion extends StayQuestion {
  /** The instant from which changes count, itself not included; ISO 8601 UTC to the microsecond. */
  readonly since: string;
}

/** What came onto the books of a night between two instants, of one group and currency: signed. Money is decimal text. */
interface PickupItem {
  readonly stayDate: string;
  /** Under the grouping's own name. */
  readonly [grouping: string]: string | number | null;
  /** Booked less cancelled. */
  readonly rooms: number;
  readonly booked: number;
  readonly cancelled: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly currency: string | null;
}

/** A row, as the statement answers it: numbers as text, since sums have no bound. */
interface PickupRow extends BooksPlace {
  readonly booked: string;
  readonly cancelled: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
}

function itemOf(row: PickupRow, by: StayQuestion["by"]): PickupItem {
  const { night, unit, currency, room_revenue, gross_room_revenue } = row;
  const digits = digitsOf(currency);
  const [booked, cancelled] = [Number(row.booked), Number(row.cancelled)];
  return {
    stayDate: night,
    ...(by === "none" ? {} : { [by]: unit }),
    rooms: booked - cancelled,
    booked,
    cancelled,
    roomRevenue: room_revenue === null ? null : withDigits(room_revenue, digits),
    grossRoomRevenue: gross_room_revenue === null ? null : withDigits(gross_room_revenue, digits),
    adults: Number(row.adults),
    children: Number(row.children),
    currency,
  };
}

async function readWindow(
  client: pg.ClientBase,
  question: PickupQuestion,
  { settings, labels }: QueryContext,
  { first, last }: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<PickupRow[]> {
  const { property, by, clock, since, asOf } = question;
  const statement = await readPickup(client, by, clock);
  return await sumEntries<PickupRow>(client, statement, [
    property.bucket,
    property.propertyId,
    first,
    last,
    since,
    boundOf(asOf),
    labels.reservations.deducting,
    settings.currency,
    limit,
    ...afterPlace(after),
  ]);
}

/**
 * What came onto the books of each night of a range between two instants, in the order of nights, groups and currencies: at
 * most `limit` rows after a position, none for what did not change. A page may end early, as those of `onTheBooks`.
 */
async function pickup(
  client: pg.ClientBase,
  question: PickupQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<PickupItem>> {
  let after = start === null ? BEFORE_ALL : placeOf(start);
  const from = firstNightAfter(after, question);
  if (from === undefined) return { items: [], next: null };
  const found: PickupRow[] = [];
  const windows = new NightWindows(from, question.to, question.by !== "none", limit + 1);
  for (let count = 0; count < WINDOWS_MAX; count += 1) {
    const window = await windows.nextOfFew(client, question.property, false);
    if (window === undefined || found.length > limit) break;
    const wanted = limit + 1 - found.length;
    const rows = await readWindow(client, question, queryContext, window, after, wanted);
    found.push(...rows);
    windows.passed(window, rows.length, wanted - rows.length);
    if (rows.length === 0) await windows.skip(client, question.property, false);
    after = { night: window.last, unit: null, currency: null };
  }
  const items = found.slice(0, limit).map((row) => itemOf(row, question.by));
  if (found.length > limit) return { items, next: positionOf(found[limit - 1] as PickupRow) };
  return { items, next: windows.next() === undefined ? null : positionOf(after) };
}

/** What a position of reconciled nights looks like. */
const RECONCILIATION_POSITION: PositionShape = [isNight, isFlag, isCode];

/** Of a night that is not reported either, and of which nothing is on the books. */
const isNothing = ({ reported, rebuilt, unpickedBlocks }: ReconciledNight): boolean =>
  reported === null && rebuilt === 0 && unpickedBlocks === 0;

/** A page of nights, what inventory reports against what reservations come to, in the order of nights and room types. */
function reconciliation(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  start: Position | null,
  limit: number,
): Promise<InsightPage<ReconciledNight>> {
  const { property, from, to, by } = question;
  const nights: NightItems<ReconciledNight> = {
    client,
    property,
    from,
    to,
    isGrouped: by === "roomType",
    read: async ({ first, last }) => {
      const at = pointInTimeOf(question);
      const sources = await readSources(client, property, { from: first, to: last }, at, queryContext);
      return reconcile(sources, by === "roomType").filter((night) => !isNothing(night));
    },
    positionOf: ({ stayDate, roomType = null }) => [stayDate, roomType === null ? 1 : 0, roomType ?? ""],
    beginOf: (night) => [night, 0, ""],
  };
  return pageOfNights(nights, start, limit);
}

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
    queryContext: QueryContext,
    start: Position | null,
    limit: number,
    parameters: InsightParameters,
  ): Promise<InsightPage<object>>;
}

const ON_THE_BOOKS: InsightRoute = {
  definition: INSIGHTS.onTheBooks,
  position: BOOKS_POSITION,
  answer: (client, question, queryContext, start, limit) =>
    onTheBooks(client, question, queryContext, start, limit),
};

const PICKUP: InsightRoute = {
  definition: INSIGHTS.pickup,
  looksBack: true,
  position: BOOKS_POSITION,
  answer: (client, question, queryContext, start, limit, parameters) =>
    pickup(client, { ...question, since: parameters.givenText("since") }, queryContext, start, limit),
};

const PACE: InsightRoute = {
  definition: INSIGHTS.pace,
  looksBack: true,
  position: PACE_POSITION,
  answer: (client, question, queryContext, start, limit, parameters) =>
    pace(
      client,
      { ...question, daysBefore: parameters.givenNumber("daysBefore") },
      queryContext,
      start,
      limit,
    ),
};

const withoutRoomType = (by: Grouping) => (by === "roomType" ? [] : ["roomType"]);

const BLOCKS: InsightRoute = {
  definition: INSIGHTS.blocks,
  position: BLOCKS_POSITION,
  leftOut: withoutRoomType,
  answer: (client, question, queryContext, start, limit, parameters) =>
    blocks(
      client,
      { ...question, holding: parameters.givenText("holding") === "yes" },
      queryContext,
      start,
      limit,
    ),
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
    ...codes,
    property,
    by,
    clock,
    asOf,
    from: parameters.givenText("from"),
    to: parameters.givenText("to"),
  };
  const limit = parameters.givenNumber("limit");
  const { queryContext, answer: page } = await onQueryContext(pool, question, (client, on) =>
    route.answer(client, question, on, start, limit, parameters),
  );
  const { items, next } = page;
  const nextCursor = cursors.write(next);
  const { watermark, settings } = queryContext;
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
