import { RESOURCES, type Resource } from "../../contract/resource.ts";
import { hasAtMost } from "../../contract/schema/field.ts";
import type { AddressRules } from "./address-rules.ts";
import { readEndpointUrl } from "./endpoint-address.ts";
import { WEBHOOK_EVENTS, type WebhookEvent } from "./message.ts";
import { WebhookInputError } from "./webhook-input-error.ts";

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
    ...{ description, events, clientCode, propertyCode },
    resource: resource === null ? null : (wordsOf("resource", [resource], RESOURCES)[0] ?? null),
  };
}
