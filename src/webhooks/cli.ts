import { setTimeout as delay } from "node:timers/promises";
import { count, duration, type Noun, required, text, texts, verb, withDefault } from "../cli/command.ts";
import { type Field, fields, itemTable, moment } from "../cli/output.ts";
import type { Opened } from "../cli/session.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { AddressRules } from "./address-rules.ts";
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
import { type EndpointSummary, findEndpoint, listEndpoints } from "./endpoint.ts";
import { listAttempts, listDeadLetters } from "./queue.ts";

const ATTEMPTS_SHOWN = 50;
const POLL_MS = 100;
/** An attempt starts within a second and takes at most 15 s. */
const WAIT_MS_MAX = 20_000;
const ENDPOINT_JSON =
  '{"endpointId", "kind", "clientId", "clientName", "url", "events", "state", "waiting", "deadLetters", ...}';
const ENDPOINT = { endpointId: required(text("ENDPOINT_ID", "the endpoint's id (bellhop webhook list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

/** Operators administer the endpoints of all clients. */
function adminOf({ config, pool, cipher, who }: Opened): WebhookAdmin {
  return { pool, who, clientId: null, cipher, rules: new AddressRules(config.webhookAllowedNetworks) };
}

function endpointFields(endpoint: EndpointSummary): Field[] {
  const { resource, clientCode, propertyCode, pausedAt, failingSince, droppedSince } = endpoint;
  const paused = `${moment(pausedAt)} by ${endpoint.pausedBy}: ${endpoint.pauseReason}`;
  const failing = `${endpoint.failures} attempts since ${moment(failingSince)}`;
  const dropped = `${endpoint.dropped} events since ${moment(droppedSince)}: the queue was full`;
  return [
    ["endpoint id", endpoint.endpointId],
    ["client", `${endpoint.clientName} (${endpoint.clientId})`],
    ["url", endpoint.kind === "reply-to" ? `${endpoint.url} (from ReplyTo)` : endpoint.url],
    ["description", endpoint.description || "-"],
    ["events", endpoint.events.join(" ")],
    ["resource", resource ?? "all"],
    ["properties", clientCode === null ? "all granted" : `${clientCode}/${propertyCode ?? "*"}`],
    ["state", endpoint.state],
    ["waiting", `${endpoint.waiting} (oldest ${moment(endpoint.waitingSince)})`],
    ["dead letters", String(endpoint.deadLetters)],
    ...(pausedAt === null ? [] : [["paused", paused] as const]),
    ...(failingSince === null ? [] : [["failing", failing] as const]),
    ...(droppedSince === null ? [] : [["dropped", dropped] as const]),
  ];
}

const create = verb({
  summary: "create an endpoint and print its signing secret once",
  options: {
    clientId: required(text("CLIENT_ID", "the client that the endpoint belongs to")),
    url: required(text("URL", "where messages are sent: https, at a public address")),
    event: texts("EVENT", "request.applied or changes.available"),
    resource: text("RESOURCE", "only inventories, reservations or groups"),
    client: text("CLIENTCODE", "only of this client code"),
    property: text("PROPERTYCODE", "only of this property; needs --client"),
    description: text("TEXT", "a note"),
  },
  examples: [
    "webhook create --client-id bhc_4Zt1 --url https://pms.example/hooks --event changes.available",
    "webhook create --client-id bhc_4Zt1 --url https://pms.example/hooks --event request.applied --client ACME --property PAR01",
  ],
  json: ENDPOINT_JSON.replace("...", '..., "secret"'),
  async database({ clientId, url, event, resource, client, property, description }, opened, { output }) {
    const asked = { url, events: event, resource, clientCode: client, propertyCode: property, description };
    const { endpoint, secret } = await addWebhook(adminOf(opened), clientId, asked);
    output.result({ ...endpoint, secret }, [
      "Endpoint created. The secret is shown once. Store it, and send it over a secure channel.\n",
      ...fields([["secret", secret], ...endpointFields(endpoint)]),
    ]);
  },
});

const list = verb({
  summary: "list endpoints",
  options: { clientId: text("CLIENT_ID", "only of this client") },
  examples: ["webhook list", "webhook list --client-id bhc_4Zt1 --json"],
  json: `{"items": [${ENDPOINT_JSON}]}`,
  async database({ clientId }, { pool }, { output }) {
    const items = await listEndpoints(pool, clientId ?? null);
    const columns = {
      "ENDPOINT ID": "endpointId",
      STATE: "state",
      WAITING: "waiting",
      DEAD: "deadLetters",
      "LAST ATTEMPT": "lastTryAt",
      CLIENT: "clientName",
      URL: "url",
    } as const;
    output.result({ items }, itemTable(columns, items, "No webhook endpoints."));
  },
});

const show = verb({
  summary: "show an endpoint and its latest attempts",
  args: ENDPOINT,
  examples: [`webhook show ${EXAMPLE_ID}`],
  json: ENDPOINT_JSON.replace("...", '..., "attempts"'),
  async database({ endpointId }, { pool }, { output }) {
    const endpoint = await findEndpoint(pool, null, endpointId);
    const attempts = await listAttempts(pool, endpointId, ATTEMPTS_SHOWN);
    const columns = {
      TIME: "attemptedAt",
      EVENT: "event",
      MESSAGE: "messageId",
      ATTEMPT: "attempt",
      MS: "durationMs",
      STATUS: "status",
      FAILURE: "failure",
    } as const;
    const log = attempts.length === 0 ? [] : ["", ...itemTable(columns, attempts)];
    output.result({ ...endpoint, attempts }, [...fields(endpointFields(endpoint)), ...log]);
  },
});

/** The first attempt of a message; undefined if there was none in time. */
async function firstAttempt(on: Queryable, endpointId: string, messageId: string) {
  for (let waitedMs = 0; waitedMs <= WAIT_MS_MAX; waitedMs += POLL_MS) {
    const [attempt] = await listAttempts(on, endpointId, 1, messageId);
    if (attempt !== undefined) return attempt;
    await delay(POLL_MS);
  }
  return undefined;
}

const test = verb({
  summary: "have the running service send webhook.test and print the result",
  args: ENDPOINT,
  examples: [`webhook test ${EXAMPLE_ID}`],
  json: '{"attemptedAt", "event", "messageId", "attempt", "durationMs", "status", "failure"}',
  exitCodes: "0 delivered, 1 not delivered.",
  async database({ endpointId }, opened, { output, progress, json }) {
    const messageId = await testWebhook(adminOf(opened), endpointId);
    progress.wait("the service has not sent the message yet.", { givesUpInMs: WAIT_MS_MAX });
    const attempt = await firstAttempt(opened.pool, endpointId, messageId);
    if (attempt === undefined)
      return output.failure(
        `The message is queued and was not sent within ${WAIT_MS_MAX / 1000} s. Is a node with the role apply running?`,
      );
    const { failure, status, durationMs } = attempt;
    if (failure !== null && !json)
      return output.failure(`Not delivered: ${failure}${status === null ? "" : `, status ${status}`}.`);
    output.result(attempt, `Delivered in ${durationMs} ms (status ${status}).`);
    return failure === null ? 0 : 1;
  },
});

const pause = verb({
  summary: "pause an endpoint: its messages wait",
  args: ENDPOINT,
  options: { reason: withDefault(text("TEXT", "the reason, as a note"), "", "none") },
  examples: [`webhook pause ${EXAMPLE_ID} --reason "maintenance until 18:00"`],
  json: ENDPOINT_JSON,
  async database({ endpointId, reason }, opened, { output }) {
    const endpoint = await pauseWebhook(adminOf(opened), endpointId, reason);
    output.result(endpoint, "Paused: messages for this endpoint wait until it is resumed.");
  },
});

const resume = verb({
  summary: "resume a paused endpoint",
  args: ENDPOINT,
  examples: [`webhook resume ${EXAMPLE_ID}`],
  json: ENDPOINT_JSON,
  async database({ endpointId }, opened, { output }) {
    const endpoint = await resumeWebhook(adminOf(opened), endpointId);
    output.result(endpoint, `Resumed: ${countText(endpoint.waiting, "message is", "messages are")} due now.`);
  },
});

const rotateSecret = verb({
  summary: "create a new signing secret and let the previous one expire",
  args: ENDPOINT,
  options: { overlap: duration("how long messages are also signed with the previous secret") },
  examples: [`webhook rotate-secret ${EXAMPLE_ID} --overlap 24h`],
  json: '{"endpointId", "secret", "previousExpiresAt"}',
  async database({ endpointId, overlap }, opened, { output }) {
    const { secret, previousExpiresAt } = await rotateWebhook(adminOf(opened), endpointId, overlap);
    output.result({ endpointId, secret, previousExpiresAt }, [
      "Secret created. It is shown once. Store it, and send it over a secure channel.\n",
      ...fields([
        ["secret", secret],
        ["also signed with the previous one until", moment(previousExpiresAt)],
      ]),
    ]);
  },
});

const deadLetters = verb({
  summary: "list messages that were given up",
  args: ENDPOINT,
  options: { limit: withDefault(count("messages listed"), ATTEMPTS_SHOWN) },
  examples: [`webhook dead-letters ${EXAMPLE_ID} --limit 200`],
  json: '{"items": [{"messageId", "event", "cause", "createdAt", "deadAt", "lastFailure"}]}',
  async database({ endpointId, limit }, { pool }, { output }) {
    await findEndpoint(pool, null, endpointId);
    const all = await listDeadLetters(pool, endpointId);
    const items = all.slice(0, limit);
    const columns = {
      MESSAGE: "messageId",
      EVENT: "event",
      CREATED: "createdAt",
      "GIVEN UP": "deadAt",
      "LAST FAILURE": "lastFailure",
      CAUSE: "cause",
    } as const;
    const rest = all.length > limit ? [`${all.length - limit} more: raise --limit.`] : [];
    const lines = itemTable(columns, items, "This endpoint has no dead letters.");
    output.result({ items }, [...lines, ...rest]);
  },
});

const redrive = verb({
  summary: "queue dead letters again",
  args: ENDPOINT,
  options: { message: text("MESSAGE_ID", "only this one") },
  examples: [`webhook redrive ${EXAMPLE_ID}`],
  json: '{"endpointId", "redriven"}',
  async database({ endpointId, message }, opened, { output }) {
    const redriven = await redriveWebhook(adminOf(opened), endpointId, message ?? null);
    output.result({ endpointId, redriven }, `Queued again: ${redriven}.`);
  },
});

const remove = verb({
  summary: "remove an endpoint and its waiting messages",
  args: ENDPOINT,
  examples: [`webhook remove ${EXAMPLE_ID}`],
  json: '{"endpointId", "removed"}',
  async database({ endpointId }, opened, { output }) {
    await removeWebhook(adminOf(opened), endpointId);
    output.result({ endpointId, removed: true }, "Removed, with its waiting messages.");
  },
});

export const command: Noun = {
  verbs: {
    create,
    list,
    show,
    test,
    pause,
    resume,
    "rotate-secret": rotateSecret,
    "dead-letters": deadLetters,
    redrive,
    remove,
  },
};
