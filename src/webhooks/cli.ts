import { setTimeout as delay } from "node:timers/promises";
import { count, duration, type Noun, required, text, texts, verb, withDefault } from "../cli/command.ts";
import { type Field, fields, moment, table } from "../cli/output.ts";
import type { Session } from "../cli/session.ts";
import { recordAudit } from "../identity/audit.ts";
import type { Queryable } from "../platform/db/transaction.ts";
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
import { type EndpointSummary, findEndpoint, listEndpoints, stateOf } from "./endpoint.ts";
import { type Attempt, listAttempts, listDeadLetters } from "./queue.ts";

const ATTEMPTS_SHOWN = 50;
const POLL_MS = 100;
/** An attempt ends after 15 s, and begins within one. */
const WAIT_MS_MAX = 20_000;
const ENDPOINT_JSON =
  '{"endpointId", "kind", "clientId", "clientName", "url", "events", "state", "waiting", "deadLetters", ...}';
const ENDPOINT = { endpointId: required(text("ENDPOINT_ID", "the endpoint's id (bellhop webhook list)")) };
const EXAMPLE_ID = "01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11";

/** An operator administers the endpoints of all clients. */
function withWebhooks<Result>(
  session: Session,
  work: (admin: WebhookAdmin) => Promise<Result>,
): Promise<Result> {
  return session.database(({ config, pool, sealer, who }) =>
    work({
      pool,
      who,
      clientId: null,
      audit: recordAudit,
      sealer,
      rules: new AddressRules(config.webhookAllowedNetworks),
    }),
  );
}

function endpointJson(endpoint: EndpointSummary): Record<string, unknown> {
  return { ...endpoint, kind: endpoint.kind === "r" ? "reply-to" : "webhook", state: stateOf(endpoint) };
}

function endpointFields(endpoint: EndpointSummary): Field[] {
  const { resource, clientCode, propertyCode, pausedAt, failingSince, droppedSince } = endpoint;
  const paused = `${moment(pausedAt)} by ${endpoint.pausedBy}: ${endpoint.pauseReason}`;
  const failing = `${endpoint.failures} attempts since ${moment(failingSince)}`;
  const dropped = `${endpoint.dropped} events since ${moment(droppedSince)}: the queue was full`;
  return [
    ["endpoint id", endpoint.endpointId],
    ["client", `${endpoint.clientName} (${endpoint.clientId})`],
    ["url", endpoint.kind === "r" ? `${endpoint.url} (from ReplyTo)` : endpoint.url],
    ["description", endpoint.description || "-"],
    ["events", endpoint.events.join(" ")],
    ["resource", resource ?? "all"],
    ["properties", clientCode === null ? "all granted" : `${clientCode}/${propertyCode ?? "*"}`],
    ["state", stateOf(endpoint)],
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
    description: text("TEXT", "a note for people"),
  },
  examples: [
    "webhook create --client-id bhc_4Zt1 --url https://pms.example/hooks --event changes.available",
    "webhook create --client-id bhc_4Zt1 --url https://pms.example/hooks --event request.applied --client ACME --property PAR01",
  ],
  json: ENDPOINT_JSON.replace("...", '..., "secret"'),
  run: ({ clientId, url, event, resource, client, property, description }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      const asked = { url, events: event, resource, clientCode: client, propertyCode: property, description };
      const { endpoint, secret } = await addWebhook(admin, clientId, asked);
      output.result({ ...endpointJson(endpoint), secret }, [
        "Endpoint created. The secret is shown once. Store it, and send it over a secure channel.\n",
        ...fields([["secret", secret], ...endpointFields(endpoint)]),
      ]);
    }),
});

const list = verb({
  summary: "list endpoints",
  options: { clientId: text("CLIENT_ID", "only of this client") },
  examples: ["webhook list", "webhook list --client-id bhc_4Zt1 --json"],
  json: `{"items": [${ENDPOINT_JSON}]}`,
  run: ({ clientId }, { output, session }) =>
    session.database(async ({ pool }) => {
      const endpoints = await listEndpoints(pool, clientId ?? null);
      const rows = endpoints.map((endpoint) => [
        endpoint.endpointId,
        stateOf(endpoint),
        String(endpoint.waiting),
        String(endpoint.deadLetters),
        moment(endpoint.lastTryAt),
        endpoint.clientName,
        endpoint.url,
      ]);
      const heads = ["ENDPOINT ID", "STATE", "WAITING", "DEAD", "LAST ATTEMPT", "CLIENT", "URL"];
      output.result({ items: endpoints.map(endpointJson) }, table(heads, rows, "No webhook endpoints."));
    }),
});

const show = verb({
  summary: "show an endpoint and its latest attempts",
  args: ENDPOINT,
  examples: [`webhook show ${EXAMPLE_ID}`],
  json: ENDPOINT_JSON.replace("...", '..., "attempts"'),
  run: ({ endpointId }, { output, session }) =>
    session.database(async ({ pool }) => {
      const endpoint = await findEndpoint(pool, null, endpointId);
      const attempts = await listAttempts(pool, endpointId, ATTEMPTS_SHOWN);
      const rows = attempts.map(({ attemptedAt, event, messageId, attempt, durationMs, status, failure }) => [
        moment(attemptedAt),
        event,
        messageId,
        String(attempt),
        String(durationMs),
        status === null ? "-" : String(status),
        failure ?? "-",
      ]);
      const heads = ["TIME", "EVENT", "MESSAGE", "ATTEMPT", "MS", "STATUS", "FAILURE"];
      output.result({ ...endpointJson(endpoint), attempts }, [
        ...fields(endpointFields(endpoint)),
        ...(rows.length === 0 ? [] : ["", ...table(heads, rows)]),
      ]);
    }),
});

/** The first attempt of a message; undefined where none came in time. */
async function firstAttempt(
  on: Queryable,
  endpointId: string,
  messageId: string,
): Promise<Attempt | undefined> {
  for (let waitedMs = 0; waitedMs <= WAIT_MS_MAX; waitedMs += POLL_MS) {
    const [attempt] = await listAttempts(on, endpointId, 1, messageId);
    if (attempt !== undefined) return attempt;
    await delay(POLL_MS);
  }
  return undefined;
}

const test = verb({
  summary: "let the running service send webhook.test, and print the result",
  args: ENDPOINT,
  examples: [`webhook test ${EXAMPLE_ID}`],
  json: '{"attemptedAt", "event", "messageId", "attempt", "durationMs", "status", "failure"}',
  exitCodes: "0 delivered, 1 not delivered.",
  run: ({ endpointId }, { output, session, json }) =>
    withWebhooks(session, async (admin) => {
      const messageId = await testWebhook(admin, endpointId);
      const attempt = await firstAttempt(admin.pool, endpointId, messageId);
      if (attempt === undefined)
        return output.failure(
          `The message is queued and was not sent within ${WAIT_MS_MAX / 1000} s. Is a node with the role apply running?`,
        );
      const { failure, status, durationMs } = attempt;
      if (failure !== null && !json)
        return output.failure(`Not delivered: ${failure}, status ${status ?? "none"}.`);
      output.result(attempt, `Delivered in ${durationMs} ms (status ${status}).`);
      return failure === null ? 0 : 1;
    }),
});

const pause = verb({
  summary: "pause an endpoint: its messages wait",
  args: ENDPOINT,
  options: { reason: withDefault(text("TEXT", "why, for people"), "", "none") },
  examples: [`webhook pause ${EXAMPLE_ID} --reason "maintenance until 18:00"`],
  json: ENDPOINT_JSON,
  run: ({ endpointId, reason }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      const endpoint = await pauseWebhook(admin, endpointId, reason);
      output.result(endpointJson(endpoint), "Paused: messages for this endpoint wait until it is resumed.");
    }),
});

const resume = verb({
  summary: "resume a paused endpoint",
  args: ENDPOINT,
  examples: [`webhook resume ${EXAMPLE_ID}`],
  json: ENDPOINT_JSON,
  run: ({ endpointId }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      const endpoint = await resumeWebhook(admin, endpointId);
      output.result(endpointJson(endpoint), `Resumed: ${endpoint.waiting} messages are due now.`);
    }),
});

const rotateSecret = verb({
  summary: "create a new signing secret and let the previous one expire",
  args: ENDPOINT,
  options: { overlap: duration("how long messages are also signed with the previous secret") },
  examples: [`webhook rotate-secret ${EXAMPLE_ID} --overlap 24h`],
  json: '{"endpointId", "secret", "previousExpiresAt"}',
  run: ({ endpointId, overlap }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      const { secret, previousExpiresAt } = await rotateWebhook(admin, endpointId, overlap);
      output.result({ endpointId, secret, previousExpiresAt }, [
        "Secret created. It is shown once. Store it, and send it over a secure channel.\n",
        ...fields([
          ["secret", secret],
          ["also signed with the previous one until", moment(previousExpiresAt)],
        ]),
      ]);
    }),
});

const deadLetters = verb({
  summary: "list messages that were given up",
  args: ENDPOINT,
  options: { limit: withDefault(count("messages listed"), ATTEMPTS_SHOWN) },
  examples: [`webhook dead-letters ${EXAMPLE_ID} --limit 200`],
  json: '{"items": [{"messageId", "event", "cause", "createdAt", "deadAt", "lastFailure"}]}',
  run: ({ endpointId, limit }, { output, session }) =>
    session.database(async ({ pool }) => {
      await findEndpoint(pool, null, endpointId);
      const all = await listDeadLetters(pool, endpointId);
      const items = all.slice(0, limit);
      const rows = items.map(({ messageId, event, cause, createdAt, deadAt, lastFailure }) => [
        messageId,
        event,
        moment(createdAt),
        moment(deadAt),
        lastFailure ?? "-",
        cause,
      ]);
      const heads = ["MESSAGE", "EVENT", "CREATED", "GIVEN UP", "LAST FAILURE", "CAUSE"];
      const rest = all.length > limit ? [`${all.length - limit} more: raise --limit.`] : [];
      output.result({ items }, [...table(heads, rows, "This endpoint has no dead letters."), ...rest]);
    }),
});

const redrive = verb({
  summary: "queue dead letters again",
  args: ENDPOINT,
  options: { message: text("MESSAGE_ID", "only this one") },
  examples: [`webhook redrive ${EXAMPLE_ID}`],
  json: '{"endpointId", "redriven"}',
  run: ({ endpointId, message }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      const redriven = await redriveWebhook(admin, endpointId, message ?? null);
      output.result({ endpointId, redriven }, `Queued again: ${redriven}.`);
    }),
});

const remove = verb({
  summary: "remove an endpoint and its waiting messages",
  args: ENDPOINT,
  examples: [`webhook remove ${EXAMPLE_ID}`],
  json: '{"endpointId", "removed"}',
  run: ({ endpointId }, { output, session }) =>
    withWebhooks(session, async (admin) => {
      await removeWebhook(admin, endpointId);
      output.result({ endpointId, removed: true }, "Removed, with its waiting messages.");
    }),
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
