import { didYouMean } from "#contract/nearest.ts";
import { RESOURCES } from "#contract/resource.ts";
import { hasAtMost } from "#contract/schema/field.ts";
import { quoted } from "#contract/violation.ts";
import type { Row } from "../platform/db/row.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { isUuid } from "../platform/http/position.ts";
import type { AddressRules } from "./address-rules.ts";
import type { WebhookItem } from "./console-answers.ts";
import { readEndpointUrl, WebhookInputError, WebhookNotFound } from "./endpoint-address.ts";
import { WEBHOOK_EVENTS } from "./message.ts";

/** An endpoint's settings. The last three filter `changes.available` like the change feed's parameters; null means all. */
export type EndpointSettings = Pick<
  WebhookItem,
  "url" | "description" | "events" | "resource" | "clientCode" | "propertyCode"
>;

/** Unvalidated settings. */
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

function wordsOf<Word extends string>(name: string, given: readonly string[], words: readonly Word[]) {
  const unknown = given.find((word) => !(words as readonly string[]).includes(word));
  if (unknown !== undefined) {
    const given = `${quoted(unknown)}${didYouMean(unknown, words)}`;
    throw new WebhookInputError(`${name}: unknown value ${given}; allowed: ${words.join(", ")}.`);
  }
  return words.filter((word) => given.includes(word));
}

/** Throws WebhookInputError if the text is too long or has control characters. */
export function checkText(name: string, text: string, charactersMax: number): void {
  const fits = hasAtMost(text, charactersMax) && !/\p{Cc}/u.test(text) && text.isWellFormed();
  const limits = `${name} must have at most ${charactersMax} characters and no control characters.`;
  if (!fits) throw new WebhookInputError(limits);
}

/** Validates an endpoint's settings. Throws WebhookInputError for the first invalid one. */
export function readEndpointSettings(input: EndpointInput, rules: AddressRules): EndpointSettings {
  const { description = "", resource = null, clientCode = null, propertyCode = null } = input;
  const events = wordsOf("events", input.events, WEBHOOK_EVENTS);
  const most = WEBHOOK_EVENTS.length;
  if (events.length === 0)
    throw new WebhookInputError(`events needs at least one of ${WEBHOOK_EVENTS.join(", ")}.`);
  if (input.events.length > most)
    throw new WebhookInputError(`events must have at most ${most} entries: name each event once.`);
  checkText("description", description, DESCRIPTION_CHARACTERS_MAX);
  for (const [name, code] of Object.entries({ clientCode, propertyCode })) {
    if (code === "") throw new WebhookInputError(`${name} must have 1 to ${CODE_CHARACTERS_MAX} characters.`);
    checkText(name, code ?? "", CODE_CHARACTERS_MAX);
  }
  if (propertyCode !== null && clientCode === null)
    throw new WebhookInputError("propertyCode requires its clientCode.");
  const url = readEndpointUrl(input.url, rules);
  const [named = null] = resource === null ? [] : wordsOf("resource", [resource], RESOURCES);
  return { url, description, events, clientCode, propertyCode, resource: named };
}

/** An endpoint without its secrets, as shown to owners and operators. Times are by the database's clock. */
export type EndpointSummary = Row<WebhookItem>;

export const NO_ENDPOINT = "No webhook endpoint has this id.";
const LIST = readStatement(new URL("./sql/list-webhook-endpoints.sql", import.meta.url));
/** Pauses endpoint $1 by $2 for reason $3, unless it is paused. */
export const PAUSE_ENDPOINT = namedStatement(
  "pause-webhook-endpoint",
  `update bellhop.webhook_endpoint
  set paused_at = clock_timestamp(), paused_by = $2, pause_reason = $3
  where endpoint_id = $1 and paused_at is null`,
);
/** Does not block messages of the endpoint, only changes of its row. */
const LOCK = namedStatement(
  "lock-webhook-endpoint",
  `select from bellhop.webhook_endpoint
  where ($1::text is null or client_id = $1) and endpoint_id = $2 for no key update`,
);
const LISTED_MAX = 1_000;

/** At most 1,000 endpoints of a client, or (null) of all, that belong to `clients` (null: any), oldest first. */
export async function listEndpoints(
  on: Queryable,
  clientId: string | null,
  clients: readonly string[] | null = null,
): Promise<EndpointSummary[]> {
  return (await on.query<EndpointSummary>({ ...LIST, values: [clientId, null, LISTED_MAX, clients] })).rows;
}

/** One endpoint, of this client or (null) of any. Throws WebhookNotFound, also for another client's endpoint. */
export async function findEndpoint(
  on: Queryable,
  clientId: string | null,
  endpointId: string,
): Promise<EndpointSummary> {
  const { rows } = isUuid(endpointId.toLowerCase())
    ? await on.query<EndpointSummary>({ ...LIST, values: [clientId, endpointId, 1, null] })
    : { rows: [] };
  if (rows[0] === undefined) throw new WebhookNotFound(NO_ENDPOINT);
  return rows[0];
}

/** As `findEndpoint`, and locks the endpoint against changes until the transaction ends. */
export async function lockEndpoint(
  on: Queryable,
  clientId: string | null,
  endpointId: string,
): Promise<EndpointSummary> {
  if (isUuid(endpointId.toLowerCase())) await on.query({ ...LOCK, values: [clientId, endpointId] });
  return findEndpoint(on, clientId, endpointId);
}
