import { randomUUID } from "node:crypto";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { hasAtMost } from "#contract/schema/field.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { AddressRules } from "./address-rules.ts";
import { readEndpointUrl, WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "./message.ts";
import { putFirstSecret, type SecretSealer } from "./secrets.ts";

/** What the owner of an endpoint decides. The last three narrow `changes.available`, as the parameters of the change feed do; null means all. */
export interface EndpointSettings {
  readonly url: string;
  readonly description: string;
  readonly events: readonly WebhookEvent[];
  readonly resource: Resource | null;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
}

/** As it comes from outside. */
export interface EndpointInput {
  readonly url: string;
  readonly description?: string | undefined;
  readonly events: readonly string[];
  readonly resource?: string | null | undefined;
  readonly clientCode?: string | null | undefined;
  readonly propertyCode?: string | null | undefined;
}

const DESCRIPTION_CHARACTERS_MAX = 200;
const CODE_CHARACTERS_MAX = 128;

function wordsOf<Word extends string>(
  name: string,
  given: readonly string[],
  words: readonly Word[],
): Word[] {
  const unknown = given.find((word) => !(words as readonly string[]).includes(word));
  if (unknown !== undefined) throw new WebhookInputError(`${name} takes ${words.join(", ")}.`);
  return words.filter((word) => given.includes(word));
}

/** Throws WebhookInputError for a text that is too long or cannot be shown on one line. */
export function checkText(name: string, text: string, charactersMax: number): void {
  if (!hasAtMost(text, charactersMax) || /\p{Cc}/u.test(text) || !text.isWellFormed())
    throw new WebhookInputError(
      `${name} has at most ${charactersMax} characters, none of them a control character.`,
    );
}

/** Checks what an endpoint is to be. Throws WebhookInputError for the first that cannot be. */
export function readEndpointSettings(input: EndpointInput, rules: AddressRules): EndpointSettings {
  const { description = "", resource = null, clientCode = null, propertyCode = null } = input;
  const events = wordsOf("events", input.events, WEBHOOK_EVENTS);
  if (events.length === 0)
    throw new WebhookInputError(`events takes at least one of ${WEBHOOK_EVENTS.join(", ")}.`);
  if (input.events.length > WEBHOOK_EVENTS.length)
    throw new WebhookInputError(
      `events takes at most ${WEBHOOK_EVENTS.length} entries: name each event once.`,
    );
  checkText("description", description, DESCRIPTION_CHARACTERS_MAX);
  for (const [name, code] of Object.entries({ clientCode, propertyCode })) {
    if (code === "") throw new WebhookInputError(`${name} is 1 to ${CODE_CHARACTERS_MAX} characters.`);
    checkText(name, code ?? "", CODE_CHARACTERS_MAX);
  }
  if (propertyCode !== null && clientCode === null)
    throw new WebhookInputError("propertyCode needs the clientCode that it belongs to.");
  return {
    url: readEndpointUrl(input.url, rules),
    description,
    events,
    clientCode,
    propertyCode,
    resource: resource === null ? null : (wordsOf("resource", [resource], RESOURCES)[0] ?? null),
  };
}

/** A new endpoint, unless its client has $10 already, which is told of changes from $11 on. $2 kind, as the migration says. */
const INSERT = namedStatement(
  "insert-webhook-endpoint",
  `insert into bellhop.webhook_endpoint
    (endpoint_id, kind, client_id, url, description, events, resource, client_code, property_code, positions, shard)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, $11, get_byte(uuid_send($1::uuid), 15) % 16
  where (select count(*) from bellhop.webhook_endpoint as other where other.client_id = $3 and other.kind = 'w') < $10
  returning endpoint_id`,
);
const LIST = readStatement(new URL("./sql/list-webhook-endpoints.sql", import.meta.url));
/** What its owner decides of endpoint $1. Where that concerns changes, it is told of those behind $8. */
const UPDATE = namedStatement(
  "update-webhook-endpoint",
  `update bellhop.webhook_endpoint
  set url = $2, description = $3, events = $4, resource = $5, client_code = $6, property_code = $7, positions = coalesce($8, positions)
  where endpoint_id = $1`,
);
/** Pauses endpoint $1 by $2 because of $3, unless it is paused. */
const PAUSE = namedStatement(
  "pause-webhook-endpoint",
  `update bellhop.webhook_endpoint
  set paused_at = clock_timestamp(), paused_by = $2, pause_reason = $3
  where endpoint_id = $1 and paused_at is null`,
);
/** Has endpoint $1 tried again at once, as if nothing had failed; what waits for it is due now. */
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
/** Endpoint $1 with its secrets, what waits for it, its dead letters and its delivery log. */
const REMOVE = namedStatement(
  "remove-webhook-endpoint",
  `delete from bellhop.webhook_endpoint where endpoint_id = $1`,
);

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
