// Types only, from modules without Node: the console compiles them for the browser.
import type {
  WebhookAttempt,
  WebhookDeadLetter,
  WebhookEndpoint,
  WebhookSecret,
} from "../console/api-types.ts";

/** `reply-to`: an origin from ReplyTo headers. `waiting`: 10,001 means more than 10,000. */
export interface WebhookItem extends Omit<WebhookEndpoint, "pausedBy"> {
  readonly clientId: string;
  readonly clientName: string;
  readonly pausedBy: string | null;
}

/** All endpoints, oldest first, or those of a client. */
export interface WebhooksAnswer {
  readonly items: readonly WebhookItem[];
}

export interface WebhookAttemptItem extends Omit<WebhookAttempt, "webhookId"> {
  readonly attemptId: number;
  readonly messageId: string;
  readonly url: string;
  /** The start of the response. */
  readonly answer: string;
}

export interface DeadLetterItem extends Omit<WebhookDeadLetter, "webhookId"> {
  readonly messageId: string;
}

export interface WebhookAnswer extends WebhookItem {
  /** The newest 100. */
  readonly attempts: readonly WebhookAttemptItem[];
  /** The newest 100. */
  readonly newestDeadLetters: readonly DeadLetterItem[];
}

/** The only answer with the secret. */
export interface WebhookSecretAnswer extends WebhookSecret {
  readonly endpointId: string;
}
