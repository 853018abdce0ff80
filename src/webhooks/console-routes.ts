import type { FastifyInstance } from "fastify";
import type pg from "pg";
import type { ConsoleParts } from "../console/console-parts.ts";
import { addChange, addQuestion, type Form } from "../console/console-routes.ts";
import { clientsWithin } from "../identity/client-admin.ts";
import type { OperatorSession } from "../identity/operator-sessions.ts";
import { code } from "../platform/http/parameters.ts";
import type { AddressRules } from "./address-rules.ts";
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
import { findEndpoint, listEndpoints, NO_ENDPOINT } from "./endpoint.ts";
import { WebhookNotFound } from "./endpoint-address.ts";
import { listAttempts, listDeadLetters } from "./queue.ts";

const LISTED_MAX = 100;
const CREATE_FIELDS = ["clientId", "url", "description", "events", "resource", "clientCode", "propertyCode"];

async function requireEndpoint(pool: pg.Pool, operator: OperatorSession, endpointId: string) {
  const endpoint = await findEndpoint(pool, null, endpointId);
  if ((await clientsWithin(pool, operator.scope))?.includes(endpoint.clientId) === false)
    throw new WebhookNotFound(NO_ENDPOINT);
  return endpoint;
}

/** A WebhookAnswer; JSON serializes its dates as strings. */
async function describe(pool: pg.Pool, operator: OperatorSession, endpointId: string) {
  const endpoint = await requireEndpoint(pool, operator, endpointId);
  const attempts = await listAttempts(pool, endpointId, LISTED_MAX);
  const letters = (await listDeadLetters(pool, endpointId)).slice(0, LISTED_MAX);
  return { ...endpoint, attempts, newestDeadLetters: letters.map(({ endpointId: _, ...letter }) => letter) };
}

async function create(admin: WebhookAdmin, { body }: Form) {
  const input = {
    url: body.requiredText("url", 2_048),
    events: body.texts("events") ?? [],
    description: body.text("description"),
    resource: body.text("resource"),
    clientCode: body.text("clientCode"),
    propertyCode: body.text("propertyCode"),
  };
  const { endpoint, secret } = await addWebhook(admin, body.requiredText("clientId"), input);
  return { endpointId: endpoint.endpointId, secret, previousExpiresAt: null };
}

async function rotate(admin: WebhookAdmin, { body }: Form, endpointId: string) {
  return { endpointId, ...(await rotateWebhook(admin, endpointId, body.count("overlapSeconds"))) };
}

/** Adds the console's equivalents of the `bellhop webhook` commands, and the delivery logs. `rules`: where webhooks may be sent. */
export function addWebhookRoutes(scope: FastifyInstance, parts: ConsoleParts, rules: AddressRules): void {
  const { pool } = parts.context;
  addQuestion(
    scope,
    parts,
    { permission: "manage-webhooks", path: "webhooks", parameters: { clientId: code() } },
    async ({ parameters: { clientId = null }, operator }) => ({
      items: await listEndpoints(pool, clientId, await clientsWithin(pool, operator.scope)),
    }),
  );
  addQuestion(
    scope,
    parts,
    { permission: "manage-webhooks", path: "webhooks/:endpointId" },
    ({ named, operator }) => describe(pool, operator, named["endpointId"] ?? ""),
  );
  const add = (
    path: string,
    fields: readonly string[],
    work: (admin: WebhookAdmin, form: Form, endpointId: string) => Promise<unknown>,
  ) =>
    addChange(
      scope,
      parts,
      { permission: "manage-webhooks", path: `webhooks${path}`, fields },
      async (form) => {
        const { cipher } = parts.internals;
        const { scope: within } = form.operator;
        const admin = { pool, who: form.who, clientId: null, scope: within, cipher, rules };
        return work(admin, form, form.named["endpointId"] ?? "");
      },
    );
  /** A change that answers with the updated endpoint. */
  const change = (verb: string, fields: readonly string[], work: Parameters<typeof add>[2]) =>
    add(`/:endpointId/${verb}`, fields, async (admin, form, endpointId) => {
      await work(admin, form, endpointId);
      return describe(pool, form.operator, endpointId);
    });
  add("", CREATE_FIELDS, create);
  change("pause", ["reason"], (admin, { body }, id) => pauseWebhook(admin, id, body.text("reason") ?? ""));
  change("resume", [], (admin, _, id) => resumeWebhook(admin, id));
  change("test", [], (admin, _, id) => testWebhook(admin, id));
  change("redrive", ["messageId"], (admin, { body }, id) =>
    redriveWebhook(admin, id, body.text("messageId") ?? null),
  );
  add("/:endpointId/rotate", ["overlapSeconds"], rotate);
  add("/:endpointId/remove", [], (admin, _, id) => removeWebhook(admin, id));
}
