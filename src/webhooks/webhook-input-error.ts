import { OperatorError } from "../platform/errors/operator-error.ts";

/** What was asked of webhooks cannot be; the message tells who asked why, and what can. */
export class WebhookInputError extends OperatorError {}

/** There is no such endpoint or message, or it is not the asker's. */
export class WebhookNotFound extends OperatorError {}
