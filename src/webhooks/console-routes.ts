import type { FastifyInstance } from "fastify";
import type { WebhookAnswer, WebhookItem, WebhookSecretAnswer, WebhooksAnswer } from "../console/answers.ts";
import { adminOf, type ConsoleParts } from "../console/console-parts.ts";
import { addChange, addQuestion, type Told } from "../console/console-routes.ts";
import type { JsonBody } from "../console/json-body.ts";
import { recordAudit } from "../identity/audit.ts";
import type { OperatorSession } from "../identity/operators.ts";
import { ConsoleError } from "../platform/errors/console-registry.ts";
import {
  addWebhook,
  pauseWebhook,
  redriveWebhook,
  removeWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
  type WebhookAdmin,
} from "./administration.ts";
import { type EndpointSummary, findEndpoint, listEndpoints, stateOf } from "./endpoint.ts";
import { WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { listAttempts, listDeadLetters } from "./queue.ts";

const LISTED_MAX = 100;
const CREATE_FIELDS = ["clientId", "url", "description", "events", "resource", "clientCode", "propertyCode"];

function webhookAdminOf(parts: ConsoleParts, operator: OperatorSession): WebhookAdmin {
  const { who, internals } = adminOf(parts, operator);
  const { pool } = parts.context;
  return {
    pool,
    who,
    clientId: null,
    sealer: internals.sealer,
    rules: parts.webhookRules,
    audit: recordAudit,
  };
}

/** What was asked for, in the console's errors. */
async function orConsoleError<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    const { message } = cause as Error;
    if (cause instanceof WebhookNotFound)
      throw new ConsoleError("bellhop.console.NotFound", { message, cause });
    if (cause instanceof WebhookInputError)
      throw new ConsoleError("bellhop.console.InvalidInput", { message, cause });
    throw cause;
  }
}

const written = (at: Date | null) => at?.toISOString() ?? null;

function itemOf(endpoint: EndpointSummary): WebhookItem {
  return {
    ...endpoint,
    kind: endpoint.kind === "r" ? "reply-to" : "webhook",
    state: stateOf(endpoint),
    createdAt: endpoint.createdAt.toISOString(),
    pausedAt: written(endpoint.pausedAt),
    failingSince: written(endpoint.failingSince),
    waitingSince: written(endpoint.waitingSince),
    droppedSince: written(endpoint.droppedSince),
    lastTryAt: written(endpoint.lastTryAt),
  };
}

async function describe({ context: { pool } }: ConsoleParts, endpointId: string): Promise<WebhookAnswer> {
  const endpoint = await orConsoleError(findEndpoint(pool, null, endpointId));
  const attempts = await listAttempts(pool, endpointId, LISTED_MAX);
  const letters = (await listDeadLetters(pool, endpointId)).slice(0, LISTED_MAX);
  return {
    ...itemOf(endpoint),
    attempts: attempts.map((attempt) => ({ ...attempt, attemptedAt: attempt.attemptedAt.toISOString() })),
    newestDeadLetters: letters.map(({ endpointId: _, ...letter }) => ({
      ...letter,
      createdAt: letter.createdAt.toISOString(),
      deadAt: letter.deadAt.toISOString(),
    })),
  };
}

async function create(parts: ConsoleParts, { body, operator }: Told): Promise<WebhookSecretAnswer> {
  const input = {
    url: body.requiredText("url", 2_048),
    events: body.texts("events") ?? [],
    description: body.text("description"),
    resource: body.text("resource"),
    clientCode: body.text("clientCode"),
    propertyCode: body.text("propertyCode"),
  };
  const admin = webhookAdminOf(parts, operator);
  const { endpoint, secret } = await orConsoleError(addWebhook(admin, body.requiredText("clientId"), input));
  return { endpointId: endpoint.endpointId, secret, previousExpiresAt: null };
}

/** The endpoints of all clients: how they stand, their delivery logs, and everything that `bellhop webhook` can do with one. */
export function addWebhookRoutes(scope: FastifyInstance, parts: ConsoleParts): void {
  addQuestion(scope, parts, "webhooks", ["clientId"], async ({ query }) => {
    const endpoints = await listEndpoints(parts.context.pool, query.code("clientId") ?? null);
    return { items: endpoints.map(itemOf) } satisfies WebhooksAnswer;
  });
  addQuestion(scope, parts, "webhooks/:endpointId", [], ({ named }) =>
    describe(parts, named["endpointId"] ?? ""),
  );
  addChange(scope, parts, "webhooks", CREATE_FIELDS, (told) => create(parts, told));
  const change = (
    verb: string,
    fields: readonly string[],
    work: (admin: WebhookAdmin, endpointId: string, body: JsonBody) => Promise<unknown>,
  ) =>
    addChange(scope, parts, `webhooks/:endpointId/${verb}`, fields, async ({ body, operator, named }) => {
      const endpointId = named["endpointId"] ?? "";
      await orConsoleError(work(webhookAdminOf(parts, operator), endpointId, body));
      return describe(parts, endpointId);
    });
  change("pause", ["reason"], (admin, id, body) => pauseWebhook(admin, id, body.text("reason") ?? ""));
  change("resume", [], resumeWebhook);
  change("test", [], testWebhook);
  change("redrive", ["messageId"], (admin, id, body) =>
    redriveWebhook(admin, id, body.text("messageId") ?? null),
  );
  addChange(
    scope,
    parts,
    "webhooks/:endpointId/rotate",
    ["overlapSeconds"],
    async ({ body, operator, named }) => {
      const endpointId = named["endpointId"] ?? "";
      const admin = webhookAdminOf(parts, operator);
      const rotated = await orConsoleError(rotateWebhook(admin, endpointId, body.count("overlapSeconds")));
      const previousExpiresAt = written(rotated.previousExpiresAt);
      return { endpointId, secret: rotated.secret, previousExpiresAt } satisfies WebhookSecretAnswer;
    },
  );
  addChange(scope, parts, "webhooks/:endpointId/remove", [], ({ operator, named }) =>
    orConsoleError(removeWebhook(webhookAdminOf(parts, operator), named["endpointId"] ?? "")),
  );
}
