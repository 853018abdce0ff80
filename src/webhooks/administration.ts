import { randomUUID } from "node:crypto";
import type pg from "pg";
import { recordAudit } from "../identity/audit.ts";
import { clientsWithin } from "../identity/client-admin.ts";
import { arrangeGrants, type Grant, grantsInclude } from "../identity/grants.ts";
import type { Scope } from "../identity/scope.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { namedStatement, type Statement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import type { AddressRules } from "./address-rules.ts";
import {
  checkText,
  type EndpointInput,
  type EndpointSettings,
  type EndpointSummary,
  findEndpoint,
  lockEndpoint,
  NO_ENDPOINT,
  PAUSE_ENDPOINT,
  readEndpointSettings,
} from "./endpoint.ts";
import { WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { positionsText, readEnds } from "./notice-changes.ts";
import { enqueueTest, redriveDeadLetters } from "./queue.ts";
import { putSecret, rotateWebhookSecret } from "./secrets.ts";

/** The rights that decide which events client $1 may receive. Locks them, and the adding of endpoints, until the transaction ends. */
const READ_CLIENT = namedStatement(
  "read-webhook-client",
  `select scopes, revoked_at is not null as "isRevoked", array(
    select json_build_object('clientCode', client_code, 'propertyCode', property_code) from bellhop.client_grant where client_id = $1
  ) as grants from bellhop.client where client_id = $1 for no key update`,
);
/** Adds an endpoint, unless its client already has $9; it receives changes after the positions $10. */
const INSERT = namedStatement(
  "insert-webhook-endpoint",
  `insert into bellhop.webhook_endpoint
    (endpoint_id, kind, client_id, url, description, events, resource, client_code, property_code, positions, shard)
  select $1, 'w', $2, $3, $4, $5, $6, $7, $8, $10, get_byte(uuid_send($1::uuid), 15) % 16
  where (select count(*) from bellhop.webhook_endpoint as other where other.client_id = $2 and other.kind = 'w') < $9`,
);
/** Changes the settings of endpoint $1; with $8 it receives changes after those positions. */
const UPDATE = namedStatement(
  "update-webhook-endpoint",
  `update bellhop.webhook_endpoint
  set url = $2, description = $3, events = $4, resource = $5, client_code = $6, property_code = $7, positions = coalesce($8, positions)
  where endpoint_id = $1`,
);
/** Resumes endpoint $1 and resets its failures: its waiting messages are due now. */
const RESUME = namedStatement(
  "resume-webhook-endpoint",
  `with due as (
    update bellhop.webhook_message set next_try_at = clock_timestamp()
    where endpoint_id = $1 and dead_at is null and next_try_at > clock_timestamp()
  )
  update bellhop.webhook_endpoint
  set paused_at = null, paused_by = null, pause_reason = null, failures = 0, failing_since = null, not_before = null,
    dropped = 0, dropped_since = null
  where endpoint_id = $1`,
);
/** Deletes endpoint $1 with its secrets, messages, dead letters and delivery log. */
const REMOVE = namedStatement(
  "remove-webhook-endpoint",
  `delete from bellhop.webhook_endpoint where endpoint_id = $1`,
);

/** Each may keep several connections busy; partners can distribute messages to more receivers themselves. */
const ENDPOINTS_OF_CLIENT_MAX = 10;
const REASON_CHARACTERS_MAX = 200;
const NO_CLIENT = "No active client has this id.";

/** Context for managing endpoints: a partner's own, or for an operator those of all clients. */
export interface WebhookAdmin {
  readonly pool: pg.Pool;
  readonly cipher: SecretCipher;
  readonly rules: AddressRules;
  /** The client whose endpoints are visible; null means all. */
  readonly clientId: string | null;
  /** An operator's scope; clients outside it are not found. */
  readonly scope?: Scope;
  /** `client:<id>`, `cli:<user>` or `console:<operator>`. */
  readonly who: string;
}

interface LockedClient {
  readonly scopes: readonly string[];
  readonly isRevoked: boolean;
  readonly grants: readonly Grant[];
}

/** Reads a client within the scope and locks it until the transaction ends. Throws WebhookNotFound with `message`. */
async function lockClient(
  on: Queryable,
  { scope }: WebhookAdmin,
  clientId: string,
  message: string,
): Promise<LockedClient | undefined> {
  const { rows } = await on.query<LockedClient>({ ...READ_CLIENT, values: [clientId] });
  const isWithin = scope === undefined || (await clientsWithin(on, scope))?.includes(clientId) !== false;
  if (!isWithin) throw new WebhookNotFound(message);
  return rows[0];
}

function checkClient(
  client: LockedClient | undefined,
  { events, clientCode, propertyCode }: EndpointSettings,
): void {
  if (client === undefined || client.isRevoked) throw new WebhookNotFound(NO_CLIENT);
  if (events.includes("changes.available") && !client.scopes.includes("read"))
    throw new WebhookInputError("changes.available requires the scope read.");
  if (clientCode === null) return;
  const grants = arrangeGrants(client.grants);
  const isGranted =
    propertyCode === null ? grants.has(clientCode) : grantsInclude(grants, clientCode, propertyCode);
  const property = propertyCode === null ? "" : `/${propertyCode}`;
  if (!isGranted) throw new WebhookInputError(`The client has no grant for ${clientCode}${property}.`);
}

/** The settings as statement parameters, in order. */
function valuesOf(settings: EndpointSettings): readonly unknown[] {
  const { url, description, events, resource, clientCode, propertyCode } = settings;
  return [url, description, events, resource, clientCode, propertyCode];
}

/** Adds an endpoint for a client. Only this call returns the secret. Throws WebhookInputError and WebhookNotFound. */
export async function addWebhook(
  admin: WebhookAdmin,
  clientId: string,
  input: EndpointInput,
): Promise<{ readonly endpoint: EndpointSummary; readonly secret: string }> {
  const { pool, cipher, rules, who } = admin;
  const settings = readEndpointSettings(input, rules);
  return withTransaction(pool, async (on) => {
    checkClient(await lockClient(on, admin, clientId, NO_CLIENT), settings);
    const positions = positionsText(await readEnds(on));
    const endpointId = randomUUID();
    const values = [endpointId, clientId, ...valuesOf(settings), ENDPOINTS_OF_CLIENT_MAX, positions];
    const { rowCount } = await on.query({ ...INSERT, values });
    if (rowCount !== 1)
      throw new WebhookInputError(
        `A client can have at most ${ENDPOINTS_OF_CLIENT_MAX} endpoints: remove one first.`,
      );
    const secret = await putSecret(on, cipher, endpointId);
    await recordAudit(on, { who, what: "create-webhook", clientId, detail: { endpointId, ...settings } });
    return { endpoint: await findEndpoint(on, clientId, endpointId), secret };
  });
}

/** Changes one endpoint and writes its audit entry in one transaction. Throws WebhookNotFound. */
function change<Result>(
  admin: WebhookAdmin,
  endpointId: string,
  what: string,
  work: (on: Queryable, endpoint: EndpointSummary, client: LockedClient | undefined) => Promise<Result>,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<Result> {
  const { pool, clientId, who } = admin;
  return withTransaction(pool, async (on) => {
    const endpoint = await lockEndpoint(on, clientId, endpointId);
    const client = await lockClient(on, admin, endpoint.clientId, NO_ENDPOINT);
    const result = await work(on, endpoint, client);
    const entry = { who, what, clientId: endpoint.clientId, detail: { endpointId, ...detail } };
    await recordAudit(on, entry);
    return result;
  });
}

async function run(
  on: Queryable,
  statement: Statement,
  { clientId, endpointId }: EndpointSummary,
  values: readonly unknown[] = [],
): Promise<EndpointSummary> {
  await on.query({ ...statement, values: [endpointId, ...values] });
  return findEndpoint(on, clientId, endpointId);
}

/** An endpoint's selection of changes. If it changes, the endpoint starts at the end of the feed. */
const selectionOf = ({ events, resource, clientCode, propertyCode }: Omit<EndpointSettings, "url">) =>
  JSON.stringify([events.includes("changes.available"), resource, clientCode, propertyCode]);

/** Changes the given settings. Throws WebhookInputError, also for the endpoint of a ReplyTo origin. */
export function changeWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  input: Partial<EndpointInput>,
): Promise<EndpointSummary> {
  const work = async (on: Queryable, endpoint: EndpointSummary, client: LockedClient | undefined) => {
    if (endpoint.kind === "reply-to")
      throw new WebhookInputError(
        "This endpoint was created for an origin of ReplyTo headers, which only the operator can change.",
      );
    const settings = readEndpointSettings({ ...endpoint, ...input }, admin.rules);
    checkClient(client, settings);
    const isSame = selectionOf(endpoint) === selectionOf(settings);
    const positions = isSame ? null : positionsText(await readEnds(on));
    return run(on, UPDATE, endpoint, [...valuesOf(settings), positions]);
  };
  return change(admin, endpointId, "update-webhook", work, input);
}

/** Pauses an endpoint: its messages wait until it is resumed. */
export function pauseWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  reason: string,
): Promise<EndpointSummary> {
  checkText("reason", reason, REASON_CHARACTERS_MAX);
  const work = (on: Queryable, endpoint: EndpointSummary) =>
    run(on, PAUSE_ENDPOINT, endpoint, [admin.who, reason]);
  return change(admin, endpointId, "pause-webhook", work, { reason });
}

/** Resumes a paused or failing endpoint: everything that waits for it is due. */
export function resumeWebhook(admin: WebhookAdmin, endpointId: string): Promise<EndpointSummary> {
  return change(admin, endpointId, "resume-webhook", (on, endpoint) => run(on, RESUME, endpoint));
}

/** Creates a new secret for an endpoint; only this call returns it. Throws WebhookInputError. */
export function rotateWebhook(admin: WebhookAdmin, endpointId: string, overlapSeconds: number | undefined) {
  return change(admin, endpointId, "rotate-webhook-secret", (on, endpoint) =>
    rotateWebhookSecret(on, admin.cipher, endpoint.endpointId, overlapSeconds),
  );
}

/** Deletes an endpoint with its waiting messages. */
export async function removeWebhook(admin: WebhookAdmin, endpointId: string): Promise<void> {
  await change(admin, endpointId, "remove-webhook", (on, endpoint) =>
    on.query({ ...REMOVE, values: [endpoint.endpointId] }),
  );
}

/** Queues a test message for an endpoint, even a paused one; returns its id. */
export function testWebhook(admin: WebhookAdmin, endpointId: string): Promise<string> {
  return change(admin, endpointId, "test-webhook", (on, endpoint) => enqueueTest(on, endpoint.endpointId));
}

/** Queues one or (null) all dead letters of an endpoint again; returns how many. Throws WebhookNotFound. */
export function redriveWebhook(
  admin: WebhookAdmin,
  endpointId: string,
  messageId: string | null,
): Promise<number> {
  const work = (on: Queryable, endpoint: EndpointSummary) =>
    redriveDeadLetters(on, endpoint.endpointId, messageId);
  return change(admin, endpointId, "redrive-webhook", work, { messageId });
}
