import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import { refuseForbidden } from "../identity/authorize.ts";
import type { Principal } from "../identity/principal.ts";
import { prefersText } from "../ingest/header-parameters.ts";
import { namedStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Parameter, Schema } from "../platform/http/openapi/model.ts";
import type { PositionShape } from "../platform/http/position.ts";
import { checkOrder, invalidParameter } from "../platform/http/read-parameters.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import { PageCursors } from "../query/page-cursors.ts";
import { findProperty } from "../query/property.ts";
import { mayRead } from "../query/read-property.ts";
import type { HttpContext } from "../service-context.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { feedHealth } from "./feed-health.ts";
import { type Finding, findingsOf, readHeldOf } from "./findings.ts";
import { type NightReservation, readNightReservations } from "./night-reservations.ts";
import { laidOutOf } from "./night-windows.ts";
import { FEED_LISTS } from "./openapi/insight-feed-schemas.ts";
import { INSIGHTS } from "./openapi/insight-operations.ts";
import { INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { pointInTimeOf } from "./point-in-time.ts";
import { onQueryContext, type QueryContext } from "./query-context.ts";
import { type Clock, type Grouping, NIGHTS_MAX, QuestionTooLarge, type StayQuestion } from "./question.ts";
import { type ReconciledNight, readSources, reconcile } from "./reconciled-nights.ts";
import { addDays, daysBetween } from "./stay-date.ts";

/** What a page of an insight is, beside its items. */
interface InsightAnswer {
  readonly items: readonly object[];
  readonly nextCursor: string | null;
  readonly clock: string;
  readonly asOf: string | null;
  readonly watermark: string | null;
  readonly settingsVersion: number;
  /** Of what was sent before and is not current, not all may be told; left out where everything is known. */
  readonly knownFrom?: string;
}

/**
 * Where a formula may begin, with ASCII signs or full-width ones: what spreadsheets read one from, with all that is blank before it. Whole runs of it, so that a text of
 * nothing else is gone through once.
 */
const MAYBE_FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]|([;\s]+)([=+\-@\uff1d\uff0b\uff0d\uff20]?)/g;
const TO_QUOTE = /[",\r\n]/;

/** Text that is somebody's own, and may be a formula: dates and decimals are ours. */
function isForeign({ type, format }: Schema): boolean {
  return [type].flat().includes("string") && format === undefined;
}

/**
 * With an apostrophe before what would be run as a formula: at the beginning of a cell (some leave out what is blank before it), and
 * behind a semicolon or a line break, as spreadsheets divide cells there where a comma is a decimal point.
 */
function withoutFormula(text: string): string {
  return text.replaceAll(MAYBE_FORMULA, (found, before = "", sign = found, offset) => {
    const marked = sign !== "" && /[;\r\n]/.test(before) ? `${before}'${sign}` : found;
    return offset === 0 && (sign !== "" || /^[\t\r]/.test(before)) ? `'${marked}` : marked;
  });
}

function cellOf(value: unknown, isForeignText: boolean): string {
  if (value === null || value === undefined) return "";
  const text = isForeignText ? withoutFormula(String(value)) : String(value);
  return TO_QUOTE.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Items as CSV (RFC 4180): the fields of their schema as columns, but for groupings that were not asked for; what is not
 * told is an empty cell. Text that a spreadsheet would run as a formula has an apostrophe before it.
 */
function csvOf(items: readonly object[], schema: Schema, leftOut: readonly string[]): string {
  const columns = Object.entries(schema.properties ?? {}).filter(([name]) => !leftOut.includes(name));
  const lines = [columns.map(([name]) => name).join(",")];
  for (const item of items) {
    const values = item as Readonly<Record<string, unknown>>;
    lines.push(columns.map(([name, column]) => cellOf(values[name], isForeign(column))).join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

/** The address of the next page: this one with another cursor. */
function nextAddress(request: FastifyRequest, cursor: string): string {
  const [path = "", query = ""] = (request.raw.url ?? "").split("?", 2);
  const kept = query.split("&").filter((pair) => pair !== "" && !/^cursor(=|$)/.test(pair));
  // What no address may have in it (RFC 3986), and would end the link.
  return `${path}?${[...kept, `cursor=${cursor}`].join("&")}`.replace(/[<>"\s]/g, encodeURIComponent);
}

/** Sends a page as JSON or, to who would rather have that, as CSV. */
export function sendInsight(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: InsightAnswer,
  schema: Schema,
  leftOut: readonly string[],
  itemsName = "items",
): FastifyReply {
  const { items, ...of } = answer;
  reply.header("cache-control", "no-store").header("vary", "accept");
  if (!prefersText(request.headers.accept, "text/csv"))
    return reply.type("application/json; charset=utf-8").send(JSON.stringify({ [itemsName]: items, ...of }));
  const { nextCursor, watermark, settingsVersion, knownFrom } = answer;
  if (nextCursor !== null) reply.header("link", `<${nextAddress(request, nextCursor)}>; rel="next"`);
  if (watermark !== null) reply.header("x-watermark", watermark);
  if (knownFrom !== undefined) reply.header("x-known-from", knownFrom);
  return reply
    .header("x-settings-version", String(settingsVersion))
    .type("text/csv; charset=utf-8; header=present")
    .send(csvOf(items, schema, leftOut));
}

const NIGHTS_AROUND = 31;
const FINDINGS_MAX = 100;
/** Rows of the nights around that are laid out night by night. */
const LAID_OUT_MAX = 500_000;

/** One night, with everything behind its difference. */
export interface NightReconciliation {
  readonly night: ReconciledNight;
  readonly roomTypes: readonly ReconciledNight[];
  /** What may explain the differences, the likeliest first; at most 100. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** Every reservation that has the night, also those that do not count, in the order of ids. */
  readonly reservations: readonly NightReservation[];
}

/**
 * Takes one night apart: what inventory reports and what reservations come to by room type, the reservations and records
 * behind it, and what may explain the difference. By the clock of receipt, records that were held then are those that are held.
 */
async function reconcileNight(
  client: pg.ClientBase,
  question: Pick<StayQuestion, "property" | "clock" | "asOf">,
  stayDate: string,
  queryContext: QueryContext,
): Promise<NightReconciliation> {
  const { property } = question;
  const at = pointInTimeOf(question);
  const around = { from: addDays(stayDate, -NIGHTS_AROUND), to: addDays(stayDate, NIGHTS_AROUND) };
  if ((await laidOutOf(client, property, { first: around.from, last: around.to }, true)) > LAID_OUT_MAX)
    throw new QuestionTooLarge(around.from, around.to);
  const sources = await readSources(client, property, around, at, queryContext);
  const differences = new Map<string, number>();
  const keyOf = (night: string, roomType: string | null) => JSON.stringify([night, roomType]);
  const byType = reconcile(sources, true);
  for (const { stayDate: night, roomType = null, difference } of byType)
    if (difference !== null) differences.set(keyOf(night, roomType), difference);
  const reported = new Set(sources.reported.map(({ night }) => night));
  const reservations = await readNightReservations(
    ...([client, property, stayDate] as const),
    ...([at, queryContext.labels.reservations] as const),
  );
  const held = await readHeldOf(client, property, stayDate, at, (label) =>
    queryContext.labels.deducts("reservations", label),
  );
  const roomTypes = byType.filter((one) => one.stayDate === stayDate);
  const findings = findingsOf(
    {
      night: stayDate,
      reservations,
      held,
      blocks: sources.blocks,
      masters: sources.masters,
      reported: sources.reported.filter(({ night }) => night === stayDate),
      // A room type that is neither reported nor booked on a night that is reported does not differ.
      differenceOf: (night, roomType) =>
        differences.get(keyOf(night, roomType)) ?? (reported.has(night) ? 0 : undefined),
    },
    roomTypes.map(({ roomType = null }) => roomType),
  );
  const night = reconcile(sources, false).find((one) => one.stayDate === stayDate);
  if (night === undefined) throw new Error(`The night ${stayDate} is not among those around it.`);
  return {
    night,
    roomTypes,
    findings: findings.slice(0, FINDINGS_MAX),
    findingCount: findings.length,
    reservations,
  };
}

/** A night of a property that nobody has ever named. */
function nothingOf(stayDate: string): NightReconciliation {
  const nothing = { from: stayDate, to: stayDate, reported: [], settled: [], blocks: [], masters: new Map() };
  const [night] = reconcile(nothing, false);
  if (night === undefined) throw new Error(`The night ${stayDate} is none.`);
  return { night, roomTypes: [], findings: [], findingCount: 0, reservations: [] };
}

/** The parameters of an insight, read and checked. */
export class InsightParameters extends DefinedParameters {
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

  get by(): Grouping {
    return this.givenText("by") as Grouping;
  }

  get clock(): Clock {
    return this.givenText("clock") as Clock;
  }
}

/** From when on versions of the client code $1 are known, of whatever resource; null where none has gone. A range of the primary key. */
const readVersionsKnownFrom = namedStatement(
  "read-versions-known-from",
  `select to_char(max(known_from) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as known_from
  from bellhop.retention_horizon
  where client_code = $1 and kind = 'versions'`,
);

/**
 * From when on everything is known that an answer about the past rests on (docs/retention.md): ISO 8601 with microseconds; null: from the
 * beginning. To be asked after the answer was read: what goes meanwhile may be missing in it.
 */
async function knownVersionsFrom(on: Queryable, clientCode: string): Promise<string | null> {
  const { rows } = await on.query<{ known_from: string | null }>({
    ...readVersionsKnownFrom,
    values: [clientCode],
  });
  return rows[0]?.known_from ?? null;
}

/** How many of the night's reservations the pages before have told. */
const NIGHT_POSITION: PositionShape = [(part) => typeof part === "number" && part > 0];

/** Asks about a property in one snapshot; undefined where nobody has ever named it. */
async function ask<Answer>(
  pool: pg.Pool,
  question: Omit<StayQuestion, "property">,
  work: (client: pg.ClientBase, question: StayQuestion, queryContext: QueryContext) => Promise<Answer>,
): Promise<{ answer: Answer | undefined; watermark: string | null; settingsVersion: number }> {
  const { clientCode, propertyCode } = question;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) {
    const { version } = await settingsOf(pool, clientCode, propertyCode);
    return { answer: undefined, watermark: null, settingsVersion: version };
  }
  const whole = { ...question, property };
  const { queryContext, answer } = await onQueryContext(pool, whole, (client, on) => work(client, whole, on));
  return { answer, watermark: queryContext.watermark, settingsVersion: queryContext.settings.version };
}

const NOT_A_NIGHT = { from: "", to: "", by: "none" } as const;

/** What an answer says of how much is known of the past, where it is one of that. */
export async function knownOf(
  { questions }: HttpContext,
  clientCode: string,
  isOfPast: boolean,
): Promise<{ readonly knownFrom?: string }> {
  const knownFrom = isOfPast ? await knownVersionsFrom(questions, clientCode) : null;
  return knownFrom === null ? {} : { knownFrom };
}

/** `GET` of one night taken apart. */
export async function answerNight(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const principal = request.principal as Principal;
  const { name, parameters: definitions, itemName } = INSIGHTS.night;
  const parameters = new InsightParameters(request, definitions);
  const { codes, clock } = parameters;
  const { filters } = parameters;
  const cursors = new PageCursors(context, { clientId: principal.clientId, path: name, filters });
  const start = cursors.read(parameters.textOf("cursor"), NIGHT_POSITION);
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const stayDate = parameters.givenText("stayDate");
  const asOf = parameters.textOf("asOf") ?? null;
  const asked = { ...codes, ...NOT_A_NIGHT, clock, asOf };
  const { answer, ...of } = await ask(context.questions, asked, (client, question, queryContext) =>
    reconcileNight(client, question, stayDate, queryContext),
  );
  const [from, limit] = [Number(start?.[0] ?? 0), parameters.givenNumber("limit")];
  const { reservations = [], ...apart } = answer ?? nothingOf(stayDate);
  const items = reservations.slice(from, from + limit);
  const next = cursors.write(from + limit < reservations.length ? [from + limit] : null);
  const known = await knownOf(context, codes.clientCode, asOf !== null);
  const whole = { ...apart, items, nextCursor: next, clock, asOf, ...of, ...known };
  return sendInsight(request, reply, whole, INSIGHT_ITEMS[itemName], ["late"], "reservations");
}

/** `GET` of how the feeds of a property do. */
export async function answerFeedHealth(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const principal = request.principal as Principal;
  const { parameters: definitions, itemName } = INSIGHTS.feedHealth;
  const { codes } = new InsightParameters(request, definitions);
  if (!(await mayRead(context, principal, codes))) return refuseForbidden(reply, "insufficient_scope");
  const clock = "receipt" as const;
  const asked = { ...codes, ...NOT_A_NIGHT, clock, asOf: null };
  const { answer, ...of } = await ask(context.questions, asked, (client, { property }, queryContext) =>
    feedHealth(client, { ...codes, ...property }, queryContext),
  );
  const now = new Date().toISOString();
  const { items, ...more } = answer ?? { items: [], businessDay: now.slice(0, 10), readAt: now };
  const whole = { ...more, items, nextCursor: null, clock, asOf: null, ...of };
  return sendInsight(request, reply, whole, INSIGHT_ITEMS[itemName], FEED_LISTS);
}
