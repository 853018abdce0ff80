import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { recordAudit } from "../identity/audit.ts";
import { authorize } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import { receiveForm } from "../identity/receive-form.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { DefinedParameters } from "../query/defined-parameters.ts";
import type { HttpContext } from "../service-context.ts";
import type { AddressRules } from "./address-rules.ts";
import {
  addWebhook,
  changeWebhook,
  pauseWebhook,
  redriveWebhook,
  removeWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookAdmin,
} from "./administration.ts";
import {
  type EndpointInput,
  type EndpointSummary,
  findEndpoint,
  listEndpoints,
  stateOf,
} from "./endpoint.ts";
import { WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { webhookIdOf } from "./message.ts";
import { WEBHOOK_LIMIT } from "./openapi.ts";
import { type Attempt, type DeadLetter, listAttempts, listDeadLetters } from "./queue.ts";
import type { SecretSealer } from "./secrets.ts";

/** An endpoint as its owner is told of it. */
function webhookAnswer(endpoint: EndpointSummary) {
  const { endpointId, kind, url, description, events, resource, clientCode, propertyCode } = endpoint;
  const { pausedAt, pausedBy, pauseReason, failures, failingSince, waiting, waitingSince } = endpoint;
  const { deadLetters, dropped, droppedSince, lastTryAt, lastStatus, lastFailure, createdAt } = endpoint;
  return {
    endpointId,
    kind: kind === "r" ? ("reply-to" as const) : ("webhook" as const),
    url,
    description,
    events,
    resource,
    clientCode,
    propertyCode,
    state: stateOf(endpoint),
    // Who among the operators paused it is theirs to know.
    pausedBy:
      pausedBy === null
        ? null
        : pausedBy.startsWith("client:")
          ? "client"
          : pausedBy === "service"
            ? "service"
            : "operator",
    pausedAt,
    pauseReason,
    failures,
    failingSince,
    waiting,
    waitingSince,
    deadLetters,
    dropped,
    droppedSince,
    lastTryAt,
    lastStatus,
    lastFailure,
    createdAt,
  };
}

/** A try as the owner of its endpoint is told of it: without what was answered, which is for operators. */
function attemptAnswer({ messageId, event, attempt, attemptedAt, durationMs, status, failure }: Attempt) {
  return { webhookId: webhookIdOf(messageId), event, attempt, attemptedAt, durationMs, status, failure };
}

function deadLetterAnswer({ messageId, event, cause, createdAt, deadAt, attempts, lastFailure }: DeadLetter) {
  return { webhookId: webhookIdOf(messageId), event, cause, createdAt, deadAt, attempts, lastFailure };
}

const BASE = "/api/public/v1/webhooks";
const ENDPOINT = `${BASE}/:endpointId`;
const SETTINGS = ["url", "description", "events", "resource", "clientCode", "propertyCode"] as const;
const LISTED_MAX = 500;

export interface WebhookRouteParts {
  readonly sealer: SecretSealer;
  readonly rules: AddressRules;
}

/** One request about webhooks: who asks, of which endpoint, and what the body says. */
interface Asked {
  readonly admin: WebhookAdmin;
  readonly clientId: string;
  readonly endpointId: string;
  readonly form: Readonly<Record<string, unknown>>;
  readonly limit: number;
  readonly reply: FastifyReply;
}

function asServiceError(error: unknown): unknown {
  if (error instanceof WebhookNotFound)
    return new ServiceError("bellhop.webhook.NotFound", { message: error.message });
  if (error instanceof WebhookInputError)
    return new ServiceError("bellhop.webhook.InvalidWebhook", { message: error.message });
  return error;
}

function textOf(form: Asked["form"], name: string): string | undefined {
  const value = form[name];
  if (value !== undefined && typeof value !== "string") throw new WebhookInputError(`${name} is text.`);
  return value;
}

function textsOf(form: Asked["form"], name: string): readonly string[] | undefined {
  const value = form[name];
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.some((entry) => typeof entry !== "string"))
    throw new WebhookInputError(`${name} is a list of texts.`);
  return value as string[];
}

function codeOf(form: Asked["form"], name: string): string | null | undefined {
  return form[name] === null ? null : textOf(form, name);
}

/** The settings that a body names. */
function settingsOf(form: Asked["form"]): Partial<EndpointInput> {
  const [url, events] = [textOf(form, "url"), textsOf(form, "events")];
  const optional = {
    description: textOf(form, "description"),
    resource: codeOf(form, "resource"),
    clientCode: codeOf(form, "clientCode"),
    propertyCode: codeOf(form, "propertyCode"),
  };
  const named = Object.entries({ url, events, ...optional }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(named);
}

async function create({ admin, clientId, form, reply }: Asked) {
  const { url, events, ...more } = settingsOf(form);
  if (url === undefined || events === undefined) throw new WebhookInputError("url and events are needed.");
  const { endpoint, secret } = await addWebhook(admin, clientId, { url, events, ...more });
  reply.code(201).header("location", `${BASE}/${endpoint.endpointId}`);
  return { ...webhookAnswer(endpoint), secret };
}

async function test({ admin, endpointId, reply }: Asked) {
  const messageId = await testWebhook(admin, endpointId);
  reply.code(202);
  return { webhookId: webhookIdOf(messageId) };
}

async function rotateSecret({ admin, endpointId, form }: Asked) {
  const { overlapSeconds } = form;
  if (overlapSeconds !== undefined && typeof overlapSeconds !== "number")
    throw new WebhookInputError("overlapSeconds is a number of seconds.");
  const { secret, previousExpiresAt } = await rotateWebhook(admin, endpointId, overlapSeconds);
  return { secret, previousExpiresAt };
}

async function attempts({ admin, clientId, endpointId, limit }: Asked) {
  await findEndpoint(admin.pool, clientId, endpointId);
  const items = await listAttempts(admin.pool, endpointId, Math.min(limit, LISTED_MAX));
  return { items: items.map(attemptAnswer) };
}

async function deadLetters({ admin, clientId, endpointId, limit }: Asked) {
  await findEndpoint(admin.pool, clientId, endpointId);
  const items = await listDeadLetters(admin.pool, endpointId);
  return { items: items.slice(0, limit).map(deadLetterAnswer) };
}

type Work = (asked: Asked) => Promise<unknown>;

/** What is asked of webhooks: method, address, the fields that its body takes, and what is done. */
const ROUTES: readonly (readonly ["GET" | "POST", string, readonly string[], Work])[] = [
  [
    "GET",
    BASE,
    [],
    async ({ admin, clientId }) => ({
      items: (await listEndpoints(admin.pool, clientId)).map(webhookAnswer),
    }),
  ],
  ["POST", BASE, SETTINGS, create],
  [
    "GET",
    ENDPOINT,
    [],
    async ({ admin, clientId, endpointId }) =>
      webhookAnswer(await findEndpoint(admin.pool, clientId, endpointId)),
  ],
  [
    "POST",
    `${ENDPOINT}/update`,
    SETTINGS,
    async ({ admin, endpointId, form }) =>
      webhookAnswer(await changeWebhook(admin, endpointId, settingsOf(form))),
  ],
  [
    "POST",
    `${ENDPOINT}/pause`,
    ["reason"],
    async ({ admin, endpointId, form }) =>
      webhookAnswer(await pauseWebhook(admin, endpointId, textOf(form, "reason") ?? "")),
  ],
  [
    "POST",
    `${ENDPOINT}/resume`,
    [],
    async ({ admin, endpointId }) => webhookAnswer(await resumeWebhook(admin, endpointId)),
  ],
  [
    "POST",
    `${ENDPOINT}/remove`,
    [],
    async ({ admin, endpointId }) => {
      await removeWebhook(admin, endpointId);
      return { endpointId, removed: true };
    },
  ],
  ["POST", `${ENDPOINT}/test`, [], test],
  ["POST", `${ENDPOINT}/rotate-secret`, ["overlapSeconds"], rotateSecret],
  ["GET", `${ENDPOINT}/attempts`, [], attempts],
  ["GET", `${ENDPOINT}/dead-letters`, [], deadLetters],
  [
    "POST",
    `${ENDPOINT}/redrive`,
    ["webhookId"],
    async ({ admin, endpointId, form }) => ({
      redriven: await redriveWebhook(admin, endpointId, textOf(form, "webhookId") ?? null),
    }),
  ],
];

/** What a client registers to be told: its endpoints, for tokens with the scope `webhooks`. */
export function registerWebhookRoutes(
  app: FastifyInstance,
  context: HttpContext,
  { sealer, rules }: WebhookRouteParts,
): void {
  const onRequest = authorize(context, "webhooks");
  for (const [method, url, fields, work] of ROUTES) {
    const isList = url.endsWith("attempts") || url.endsWith("dead-letters");
    const handler = async (request: FastifyRequest, reply: FastifyReply) => {
      const { clientId } = request.principal as Principal;
      const parameters = new DefinedParameters(request, isList ? [WEBHOOK_LIMIT] : []);
      const form = method === "POST" ? await receiveForm(context, request, fields) : {};
      const admin: WebhookAdmin = {
        pool: context.pool,
        sealer,
        rules,
        clientId,
        who: `client:${clientId}`,
        audit: recordAudit,
      };
      const endpointId = (request.params as { endpointId?: string }).endpointId ?? "";
      const asked: Asked = {
        admin,
        clientId,
        endpointId,
        form,
        limit: isList ? parameters.givenNumber("limit") : 0,
        reply,
      };
      const answer = await work(asked).catch((error: unknown) => {
        throw asServiceError(error);
      });
      return reply
        .header("cache-control", "no-store")
        .type("application/json; charset=utf-8")
        .send(JSON.stringify(answer));
    };
    app.route({ method, url, onRequest, handler });
  }
}
