/** What was asked of webhooks cannot be; the message tells who asked why, and what can. */
export class WebhookInputError extends Error {}

/** There is no such endpoint or message, or it is not the asker's. */
export class WebhookNotFound extends Error {}
