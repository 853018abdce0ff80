import type pg from "pg";
import { namedStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import type { AddressRules } from "./address-rules.ts";
import {
  checkText,
  createEndpoint,
  type EndpointInput,
  type EndpointSettings,
  type EndpointSummary,
  findEndpoint,
  pauseEndpoint,
  readEndpointSettings,
  removeEndpoint,
  resumeEndpoint,
  updateEndpoint,
} from "./endpoint.ts";
import { WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { positionsText, readEnds } from "./notice-changes.ts";
import { enqueueTest, redriveDeadLetters } from "./queue.ts";
import { type RotatedWebhookSecret, rotateWebhookSecret, type SecretSealer } from "./secrets.ts";

/** What decides what client $1 may be told. */
const READ_CLIENT = namedStatement(
  "read-webhook-client",
  `select scopes, revoked_at is not null as "isRevoked" from bellhop.client where client_id = $1`,
);

/** What an audit has of a change (src/identity/audit.ts writes it). */
export interface WebhookAuditEntry {
  readonly who: string;
  readonly what: string;
  readonly clientId: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Somebody who manages endpoints: a partner its own, an operator those of all. */
export interface WebhookAdmin {
  readonly pool: pg.Pool;
  readonly sealer: SecretSealer;
  readonly rules: AddressRules;
  /** Whose endpoints there are for them; null for everybody's. */
  readonly clientId: string | null;
  /** `client:<id>`, `cli:<user>` or `console:<operator>`. */
  readonly who: string;
  readonly audit: (on: Queryable, entry: WebhookAuditEntry) => Promise<void>;
}

async function checkClient(on: Queryable, clientId: string, { events }: EndpointSettings): Promise<void> {
  const { rows } = await on.query<{ scopes: string[]; isRevoked: boolean }>({
    ...READ_CLIENT,
    values: [clientId],
  });
  const [client] = rows;
  if (client === undefined || client.isRevoked)
    throw new WebhookNotFound("There is no client with this id that could be told anything.");
  if (events.includes("changes.available") && !client.scopes.includes("read"))
    throw new WebhookInputError("changes.available is for clients with the scope read.");
}

/**
 * Registers an endpoint of a client. The secret is shown here and never again. Throws WebhookInputError, and WebhookNotFound
 * where there is no such client.
 */
export async function addWebhook(
  { pool, sealer, rules, who, audit }: WebhookAdmin,
  clientId: string,
  input: EndpointInput,
): Promise<{ readonly endpoint: EndpointSummary; readonly secret: string }> {
  const settings = readEndpointSettings(input, rules);
  return withTransaction(pool, async (on) => {
    await checkClient(on, clientId, settings);
    const positions = positionsText(await readEnds(on));
    const { endpointId, secret } = await createEndpoint(on, sealer, clientId, settings, positions);
    await audit(on, { who, what: "create-webhook", clientId, detail: { endpointId, ...settings } });
    return { endpoint: await findEndpoint(on, clientId, endpointId), secret };
  });
}

/** A change of one endpoint and its audit entry, in one transaction. Throws WebhookNotFound. */
function change<Result>(
  { pool, clientId, who, audit }: WebhookAdmin,
  endpointId: string,
  what: string,
  work: (on: Queryable, endpoint: EndpointSummary) => Promise<Result>,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<Result> {
  return withTransaction(pool, async (on) => {
    const endpoint = await findEndpoint(on, clientId, endpointId);
    const result = await work(on, endpoint);
    await audit(on, { who, what, clientId: endpoint.clientId, detail: { endpointId, ...detail } });
    return result;
  });
}

/** Whether other changes are to be told from now on: those that were passed by are not told any more. */
function asksForOthers(before: EndpointSettings, after: EndpointSettings): boolean {
  const asked = ({ events, resource, clientCode, propertyCode }: EndpointSettings) =>
    JSON.stringify([events.includes("changes.available"), resource, clientCode, propertyCode]);
  return asked(before) !== asked(after);
}

/** Changes what is named of an endpoint's settings. Throws WebhookInputError, also for one that stands for a ReplyTo origin. */
export function changeWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  input: Partial<EndpointInput>,
): Promise<EndpointSummary> {
  const work = async (on: Queryable, endpoint: EndpointSummary) => {
    if (endpoint.kind === "r")
      throw new WebhookInputError(
        "This endpoint stands for an origin of ReplyTo headers: its operator lists those.",
      );
    const settings = readEndpointSettings({ ...endpoint, ...input }, admin.rules);
    await checkClient(on, endpoint.clientId, settings);
    const positions = asksForOthers(endpoint, settings) ? positionsText(await readEnds(on)) : null;
    await updateEndpoint(on, endpoint.endpointId, settings, positions);
    return findEndpoint(on, endpoint.clientId, endpoint.endpointId);
  };
  return change(admin, endpointId, "update-webhook", work, input);
}

const REASON_CHARACTERS_MAX = 200;

/** Has nothing sent to an endpoint until it is resumed. */
export function pauseWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  reason: string,
): Promise<EndpointSummary> {
  checkText("reason", reason, REASON_CHARACTERS_MAX);
  const work = async (on: Queryable, endpoint: EndpointSummary) => {
    await pauseEndpoint(on, endpoint.endpointId, admin.who, reason);
    return findEndpoint(on, endpoint.clientId, endpoint.endpointId);
  };
  return change(admin, endpointId, "pause-webhook", work, { reason });
}

/** Has an endpoint tried again at once with everything that waits for it. */
export function resumeWebhook(admin: WebhookAdmin, endpointId: string): Promise<EndpointSummary> {
  return change(admin, endpointId, "resume-webhook", async (on, endpoint) => {
    await resumeEndpoint(on, endpoint.endpointId);
    return findEndpoint(on, endpoint.clientId, endpoint.endpointId);
  });
}

/** Gives an endpoint a new secret, which is shown here and never again. Throws WebhookInputError. */
export function rotateWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  overlapSeconds: number | undefined,
): Promise<RotatedWebhookSecret> {
  return change(admin, endpointId, "rotate-webhook-secret", (on, endpoint) =>
    rotateWebhookSecret(on, admin.sealer, endpoint.endpointId, overlapSeconds),
  );
}

/** Removes an endpoint with everything that waits for it. */
export function removeWebhook(admin: WebhookAdmin, endpointId: string): Promise<void> {
  return change(admin, endpointId, "remove-webhook", (on, endpoint) =>
    removeEndpoint(on, endpoint.endpointId),
  );
}

/** Queues a test for an endpoint, paused or not; answers the id of its message. */
export function testWebhook(admin: WebhookAdmin, endpointId: string): Promise<string> {
  return change(admin, endpointId, "test-webhook", (on, endpoint) =>
    enqueueTest(on, endpoint.endpointId, new Date()),
  );
}

/** Queues dead letters of an endpoint again, one or (null) all; answers how many. Throws WebhookNotFound. */
export function redriveWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  messageId: string | null,
): Promise<number> {
  return change(
    admin,
    endpointId,
    "redrive-webhook",
    (on, endpoint) => redriveDeadLetters(on, endpoint.endpointId, messageId),
    { messageId },
  );
}
