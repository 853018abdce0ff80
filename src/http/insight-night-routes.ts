import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import type { Principal } from "../auth/principal.ts";
import { feedHealth } from "../insight/feed-health.ts";
import { knownVersionsFrom } from "../insight/known-from.ts";
import type { StayQuestion } from "../insight/question.ts";
import { nothingOf, reconcileNight } from "../insight/reconcile-night.ts";
import { onScene, type Scene } from "../insight/scene.ts";
import type { PositionShape } from "../read/position.ts";
import { findProperty } from "../read/property.ts";
import { settingsOf } from "../settings/property-settings.ts";
import { refuseForbidden } from "./authorize.ts";
import type { HttpContext } from "./context.ts";
import { sendInsight } from "./insight-answer.ts";
import { InsightParameters } from "./insight-parameters.ts";
import { FEED_LISTS } from "./openapi/insight-feed-schemas.ts";
import { INSIGHTS } from "./openapi/insight-operations.ts";
import { INSIGHT_ITEMS } from "./openapi/insight-schemas.ts";
import { PageCursors } from "./page-cursors.ts";
import { mayRead } from "./read-property.ts";

/** How many of the night's reservations the pages before have told. */
const NIGHT_POSITION: PositionShape = [(part) => typeof part === "number" && part > 0];

/** Asks about a property in one snapshot; undefined where nobody has ever named it. */
async function ask<Answer>(
  pool: pg.Pool,
  question: Omit<StayQuestion, "property">,
  work: (client: pg.ClientBase, question: StayQuestion, scene: Scene) => Promise<Answer>,
): Promise<{ answer: Answer | undefined; watermark: string | null; settingsVersion: number }> {
  const { clientCode, propertyCode } = question;
  const property = await findProperty(pool, clientCode, propertyCode);
  if (property === undefined) {
    const { version } = await settingsOf(pool, clientCode, propertyCode);
    return { answer: undefined, watermark: null, settingsVersion: version };
  }
  const whole = { ...question, property };
  const { scene, answer } = await onScene(pool, whole, (client, on) => work(client, whole, on));
  return { answer, watermark: scene.watermark, settingsVersion: scene.settings.version };
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
  const { answer, ...of } = await ask(context.questions, asked, (client, question, scene) =>
    reconcileNight(client, question, stayDate, scene),
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
  const { answer, ...of } = await ask(context.questions, asked, (client, { property }, scene) =>
    feedHealth(client, { ...codes, ...property }, scene),
  );
  const now = new Date().toISOString();
  const { items, ...more } = answer ?? { items: [], businessDay: now.slice(0, 10), readAt: now };
  const whole = { ...more, items, nextCursor: null, clock, asOf: null, ...of };
  return sendInsight(request, reply, whole, INSIGHT_ITEMS[itemName], FEED_LISTS);
}
