import { randomUUID } from "node:crypto";
import { readStatement } from "../../db/statement.ts";
import type { Queryable } from "../../db/transaction.ts";
import type { EndpointSettings } from "./endpoint-settings.ts";
import type { WebhookEvent } from "./message.ts";
import { putFirstSecret, type SecretSealer } from "./secrets.ts";
import { WebhookInputError, WebhookNotFound } from "./webhook-input-error.ts";

const INSERT = readStatement(new URL("./sql/insert-webhook-endpoint.sql", import.meta.url));
const LIST = readStatement(new URL("./sql/list-webhook-endpoints.sql", import.meta.url));
const UPDATE = readStatement(new URL("./sql/update-webhook-endpoint.sql", import.meta.url));
const PAUSE = readStatement(new URL("./sql/pause-webhook-endpoint.sql", import.meta.url));
const RESUME = readStatement(new URL("./sql/resume-webhook-endpoint.sql", import.meta.url));
const REMOVE = readStatement(new URL("./sql/remove-webhook-endpoint.sql", import.meta.url));

/** Each may keep a few connections busy; a partner that fans out further does so behind one of them. */
const ENDPOINTS_OF_CLIENT_MAX = 10;
const LISTED_MAX = 1_000;

/** An endpoint as its owner and operators see it: without anything secret. Times are of the database's clock. */
export interface EndpointSummary extends Omit<EndpointSettings, "events"> {
  readonly endpointId: string;
  /** `w`: registered; `r`: an origin that ReplyTo headers named, made by itself. */
  readonly kind: "w" | "r";
  readonly clientId: string;
  readonly clientName: string;
  readonly events: readonly WebhookEvent[];
  readonly createdAt: Date;
  readonly pausedAt: Date | null;
  /** `client:<id>`, `cli:<user>`, `console:<operator>`, or `service` for the automatic pause. */
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
  /** Failed tries since the last good one. */
  readonly failures: number;
  readonly failingSince: Date | null;
  /** Messages that wait, 10,001 for more than 10,000. */
  readonly waiting: number;
  readonly waitingSince: Date | null;
  readonly deadLetters: number;
  /** Events that found the queue full since the endpoint was resumed last. */
  readonly dropped: number;
  readonly droppedSince: Date | null;
  readonly lastTryAt: Date | null;
  readonly lastStatus: number | null;
  readonly lastFailure: string | null;
}

/** How an endpoint stands, in one word. */
export function stateOf({ pausedAt, failures }: EndpointSummary): "active" | "failing" | "paused" {
  if (pausedAt !== null) return "paused";
  return failures > 0 ? "failing" : "active";
}

/**
 * Registers an endpoint of a client and answers its id and its secret, which is shown here and never again. It is told of
 * changes behind `positions`. Part of the caller's transaction. Throws WebhookInputError when the client has ten.
 */
export async function createEndpoint(
  on: Queryable,
  sealer: SecretSealer,
  clientId: string,
  settings: EndpointSettings,
  positions: string,
): Promise<{ readonly endpointId: string; readonly secret: string }> {
  const endpointId = randomUUID();
  const { url, description, events, resource, clientCode, propertyCode } = settings;
  const filters = [resource, clientCode, propertyCode];
  const values = [
    endpointId,
    "w",
    clientId,
    url,
    description,
    events,
    ...filters,
    ENDPOINTS_OF_CLIENT_MAX,
    positions,
  ];
  const { rowCount } = await on.query({ ...INSERT, values });
  if (rowCount !== 1)
    throw new WebhookInputError(
      `A client has at most ${ENDPOINTS_OF_CLIENT_MAX} endpoints: remove one first.`,
    );
  return { endpointId, secret: await putFirstSecret(on, sealer, endpointId) };
}

/** The endpoints of a client, or (null) of all; the oldest first, at most 1,000. */
export async function listEndpoints(on: Queryable, clientId: string | null): Promise<EndpointSummary[]> {
  return (await on.query<EndpointSummary>({ ...LIST, values: [clientId, null, LISTED_MAX] })).rows;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** One endpoint, of this client or (null) of any. Throws WebhookNotFound, also for one of another client. */
export async function findEndpoint(
  on: Queryable,
  clientId: string | null,
  endpointId: string,
): Promise<EndpointSummary> {
  const { rows } = UUID.test(endpointId)
    ? await on.query<EndpointSummary>({ ...LIST, values: [clientId, endpointId, 1] })
    : { rows: [] };
  if (rows[0] === undefined) throw new WebhookNotFound("There is no webhook endpoint with this id.");
  return rows[0];
}

/** Changes what its owner decides of a registered endpoint; `positions`: from where on it is told of changes, null as before. */
export async function updateEndpoint(
  on: Queryable,
  endpointId: string,
  settings: EndpointSettings,
  positions: string | null,
): Promise<void> {
  const { url, description, events, resource, clientCode, propertyCode } = settings;
  const values = [endpointId, url, description, events, resource, clientCode, propertyCode, positions];
  await on.query({ ...UPDATE, values });
}

/** Has nothing sent to it until it is resumed; what it would be told waits. */
export async function pauseEndpoint(
  on: Queryable,
  endpointId: string,
  who: string,
  reason: string,
): Promise<void> {
  await on.query({ ...PAUSE, values: [endpointId, who, reason] });
}

/** Has an endpoint tried again at once, whether it was paused or only failing. */
export async function resumeEndpoint(on: Queryable, endpointId: string): Promise<void> {
  await on.query({ ...RESUME, values: [endpointId] });
}

/** Removes an endpoint with everything that waits for it and its delivery log. */
export async function removeEndpoint(on: Queryable, endpointId: string): Promise<void> {
  await on.query({ ...REMOVE, values: [endpointId] });
}
