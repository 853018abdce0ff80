import type { FastifyReply } from "fastify";
import type pg from "pg";
import { authorizeAgain } from "../identity/authorize.ts";
import { type FormContext, receiveForm } from "../identity/receive-form.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import type { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import { jsonAnswer, jsonContent } from "../platform/http/openapi/errors.ts";
import { ratedHeadersOf } from "../platform/http/openapi/headers.ts";
import type { Operation } from "../platform/http/openapi/model.ts";
import { component } from "../platform/http/openapi/schema.ts";
import { pathId, whole } from "../platform/http/parameters.ts";
import { readingFor } from "../platform/http/reader.ts";
import { endpointOf } from "../query/endpoint.ts";
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
import { type EndpointInput, type EndpointSummary, findEndpoint, listEndpoints } from "./endpoint.ts";
import { WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { webhookIdOf } from "./message.ts";
import { WEBHOOK_EXAMPLES, WEBHOOK_SCHEMAS, type WebhookSchema } from "./openapi.ts";
import { listAttempts, listDeadLetters } from "./queue.ts";

const BASE = "/api/public/v1/webhooks";
const ATTEMPTS_LISTED_MAX = 500;

const ENDPOINT_ID = pathId("The endpoint's id.", {
  type: "string",
  format: "uuid",
  maxLength: 36,
  examples: ["0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55"],
});
const LIMIT = whole("The maximum number of items.", 1, 1000, 100);

type Form = Readonly<Record<string, unknown>>;

/** What the routes of webhooks work with. */
interface WebhookContext extends FormContext {
  readonly pool: pg.Pool;
  readonly cipher: SecretCipher;
  readonly rules: AddressRules;
  /** A change locks its client's row: the others of its requests wait here, not on connections. */
  readonly changes: ClientSemaphores;
}

interface WebhookAsked {
  readonly admin: WebhookAdmin;
  readonly clientId: string;
  readonly endpointId: string;
  readonly form: Form;
  readonly limit: number;
  readonly reply: FastifyReply;
}

function textOf(form: Form, name: string): string | undefined {
  const value = form[name];
  if (value !== undefined && typeof value !== "string")
    throw new WebhookInputError(`${name} must be a string.`);
  return value;
}

function textsOf(form: Form, name: string): unknown {
  const value = form[name];
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === "string");
  if (value !== undefined && !isList) throw new WebhookInputError(`${name} must be an array of strings.`);
  return value;
}

const codeOf = (form: Form, name: string) => (form[name] === null ? null : textOf(form, name));

const SETTINGS = {
  url: textOf,
  events: textsOf,
  description: textOf,
  resource: codeOf,
  clientCode: codeOf,
  propertyCode: codeOf,
};

function settingsOf(form: Form): Partial<EndpointInput> {
  const read = Object.entries(SETTINGS).map(([name, readValue]) => [name, readValue(form, name)] as const);
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

/** An endpoint as shown to its owner: does not disclose which operator paused it. */
function ownerView(endpoint: EndpointSummary) {
  const { pausedBy } = endpoint;
  const side = pausedBy?.startsWith("client:") ? "client" : pausedBy === "service" ? "service" : "operator";
  return { ...endpoint, pausedBy: pausedBy === null ? null : side };
}

const withWebhookId = <Item extends { messageId: string }>(item: Item) => ({
  ...item,
  webhookId: webhookIdOf(item.messageId),
});

async function create({ admin, clientId, form, reply }: WebhookAsked) {
  const { url, events, ...more } = settingsOf(form);
  if (url === undefined || events === undefined) throw new WebhookInputError("url and events are required.");
  const { endpoint, secret } = await addWebhook(admin, clientId, { url, events, ...more });
  reply.header("location", `${BASE}/${endpoint.endpointId}`);
  return { ...ownerView(endpoint), secret };
}

function rotateSecret({ admin, endpointId, form: { overlapSeconds } }: WebhookAsked) {
  if (overlapSeconds !== undefined && typeof overlapSeconds !== "number")
    throw new WebhookInputError("overlapSeconds must be a number of seconds.");
  return rotateWebhook(admin, endpointId, overlapSeconds);
}

async function attempts({ admin, clientId, endpointId, limit }: WebhookAsked) {
  await findEndpoint(admin.pool, clientId, endpointId);
  const items = await listAttempts(admin.pool, endpointId, Math.min(limit, ATTEMPTS_LISTED_MAX));
  return { items: items.map(withWebhookId) };
}

async function deadLetters({ admin, clientId, endpointId, limit }: WebhookAsked) {
  await findEndpoint(admin.pool, clientId, endpointId);
  const items = await listDeadLetters(admin.pool, endpointId);
  return { items: items.slice(0, limit).map(withWebhookId) };
}

/** A route: its OpenAPI operation, the schemas of request and response, and its handler. */
interface Route extends Pick<Operation, "operationId" | "summary" | "description"> {
  readonly path: string;
  /** The schema of the response; only its fields are sent. */
  readonly answer: WebhookSchema;
  readonly answered: string;
  readonly status?: 201 | 202;
  /** The schema of a POST body. */
  readonly takes?: WebhookSchema;
  readonly isLimited?: boolean;
  work(asked: WebhookAsked): Promise<object>;
}

const CHANGED = { answer: "WebhookEndpoint", answered: "The changed endpoint." } as const;

const ROUTES: readonly Route[] = [
  {
    path: "",
    operationId: "listWebhooks",
    summary: "List your webhook endpoints",
    description:
      "Every endpoint of this client and its state, including endpoints created for `ReplyTo` headers.",
    answer: "WebhookList",
    answered: "Your endpoints.",
    work: async ({ admin, clientId }) => ({
      items: (await listEndpoints(admin.pool, clientId)).map(ownerView),
    }),
  },
  {
    path: "",
    operationId: "createWebhook",
    summary: "Register a webhook endpoint",
    description:
      "Bellhop POSTs events to the address, signed according to Standard Webhooks. Only this response contains the secret. Limit: ten endpoints per client.",
    status: 201,
    answer: "WebhookRegistered",
    answered: "The endpoint is registered.",
    takes: "WebhookForm",
    work: create,
  },
  {
    path: "/{endpointId}",
    operationId: "getWebhook",
    summary: "Get a webhook endpoint",
    description: "The endpoint's settings, backlog and last attempt.",
    answer: "WebhookEndpoint",
    answered: "The endpoint.",
    work: async ({ admin, clientId, endpointId }) =>
      ownerView(await findEndpoint(admin.pool, clientId, endpointId)),
  },
  {
    path: "/{endpointId}/update",
    operationId: "updateWebhook",
    summary: "Change a webhook endpoint",
    description: "Changes the settings in the body; omitted settings keep their values.",
    ...CHANGED,
    takes: "WebhookChanges",
    work: async ({ admin, endpointId, form }) =>
      ownerView(await changeWebhook(admin, endpointId, settingsOf(form))),
  },
  {
    path: "/{endpointId}/pause",
    operationId: "pauseWebhook",
    summary: "Pause a webhook endpoint",
    description: "Only tests are sent to it until it is resumed; up to 10,000 messages wait.",
    ...CHANGED,
    takes: "WebhookPause",
    work: async ({ admin, endpointId, form }) =>
      ownerView(await pauseWebhook(admin, endpointId, textOf(form, "reason") ?? "")),
  },
  {
    path: "/{endpointId}/resume",
    operationId: "resumeWebhook",
    summary: "Resume a webhook endpoint",
    description: "Sends all waiting messages now, whether the endpoint was paused or failing.",
    ...CHANGED,
    takes: "WebhookNothing",
    work: async ({ admin, endpointId }) => ownerView(await resumeWebhook(admin, endpointId)),
  },
  {
    path: "/{endpointId}/remove",
    operationId: "removeWebhook",
    summary: "Remove a webhook endpoint",
    description: "Removes the endpoint with its waiting messages, dead letters and delivery log.",
    answer: "WebhookRemoved",
    answered: "The endpoint is removed.",
    takes: "WebhookNothing",
    async work({ admin, endpointId }) {
      await removeWebhook(admin, endpointId);
      return { endpointId, removed: true };
    },
  },
  {
    path: "/{endpointId}/test",
    operationId: "testWebhook",
    summary: "Test a webhook endpoint",
    description:
      "Sends one `webhook.test`, even if the endpoint is paused. The delivery log shows the result.",
    status: 202,
    answer: "WebhookTestQueued",
    answered: "The test is queued.",
    takes: "WebhookNothing",
    work: async ({ admin, endpointId }) => ({ webhookId: webhookIdOf(await testWebhook(admin, endpointId)) }),
  },
  {
    path: "/{endpointId}/rotate-secret",
    operationId: "rotateWebhookSecret",
    summary: "Change the secret of a webhook endpoint",
    description:
      "Messages are signed with both secrets for a day or for `overlapSeconds`; send 0 if the former secret leaked.",
    answer: "WebhookSecret",
    answered: "The new secret.",
    takes: "WebhookRotation",
    work: async (asked) => rotateSecret(asked),
  },
  {
    path: "/{endpointId}/redrive",
    operationId: "redriveWebhook",
    summary: "Redrive dead letters",
    description: "Queues one dead letter, or all of them, again. Each keeps its `webhook-id`.",
    answer: "WebhookRedriven",
    answered: "The messages are queued.",
    takes: "WebhookRedrive",
    work: async ({ admin, endpointId, form }) => ({
      redriven: await redriveWebhook(admin, endpointId, textOf(form, "webhookId") ?? null),
    }),
  },
  {
    path: "/{endpointId}/attempts",
    operationId: "listWebhookAttempts",
    summary: "Read the delivery log of a webhook endpoint",
    description: "The newest delivery attempts; 500 are kept.",
    answer: "WebhookAttemptList",
    answered: "The newest attempts.",
    isLimited: true,
    work: attempts,
  },
  {
    path: "/{endpointId}/dead-letters",
    operationId: "listWebhookDeadLetters",
    summary: "List the dead letters of a webhook endpoint",
    description:
      "Messages that failed 11 attempts in about 46 hours. The newest 1,000 are kept, for 30 days.",
    answer: "WebhookDeadLetterList",
    answered: "The newest dead letters.",
    isLimited: true,
    work: deadLetters,
  },
];

function asServiceError(error: unknown): unknown {
  const { message } = error as Error;
  if (error instanceof WebhookNotFound) return new ServiceError("bellhop.webhook.NotFound", { message });
  if (error instanceof WebhookInputError)
    return new ServiceError("bellhop.webhook.InvalidWebhook", { message });
  return error;
}

function endpointBy({ path, status, answer, answered, takes, isLimited, work, ...words }: Route) {
  const isOfEndpoint = path !== "";
  const shown = (name: WebhookSchema) => ({ example: WEBHOOK_EXAMPLES[name] });
  const headers = ratedHeadersOf("Cache-Control", ...(status === 201 ? (["Location"] as const) : []));
  const content = takes === undefined ? undefined : jsonContent(takes, shown(takes));
  const fields = takes === undefined ? [] : Object.keys(WEBHOOK_SCHEMAS[takes].properties ?? {});
  return endpointOf<WebhookContext>()({
    ...words,
    method: takes === undefined ? "get" : "post",
    path: BASE + path,
    tag: "Webhooks",
    scopes: ["webhooks"],
    parameters: { ...(isOfEndpoint && { endpointId: ENDPOINT_ID }), ...(isLimited && { limit: LIMIT }) },
    ...(status && { status }),
    ...(content && {
      requestBody: { description: "The definition of the endpoint.", required: status === 201, content },
    }),
    answer: jsonAnswer(answered, component<unknown>(answer, WEBHOOK_SCHEMAS[answer]), shown(answer), headers),
    refusals: {
      400: "InvalidParameter",
      ...(isOfEndpoint && { 404: "WebhookNotFound" }),
      ...(takes && { 413: "PayloadTooLarge", 415: "UnsupportedMediaType", 422: "InvalidWebhook" }),
    },
    async work({ context, request, reply, clientId, parameters }) {
      const form = takes === undefined ? {} : await receiveForm(context, request, fields);
      const { pool, cipher, rules, changes } = context;
      const admin = { pool, cipher, rules, clientId, who: `client:${clientId}` };
      const { endpointId = "", limit = 0 } = parameters;
      const inTurn = async () => {
        // The turn may have taken long.
        await authorizeAgain(context, request);
        return work({ admin, clientId, endpointId, form, limit, reply });
      };
      return changes.run(clientId, inTurn, readingFor(reply.raw)).catch((error: unknown) => {
        throw asServiceError(error);
      });
    },
  });
}

/** The webhooks of a client. */
export const WEBHOOK_ENDPOINTS = ROUTES.map(endpointBy);
