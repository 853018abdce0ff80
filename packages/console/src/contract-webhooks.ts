/** Webhooks under `/console/api`; `contract.ts` says what holds for all of it. */

import type { Resource } from "./contract-batches.ts";

export type WebhookEventName = "request.applied" | "changes.available";

/** An endpoint and how it stands. */
export interface WebhookItem {
  readonly endpointId: string;
  /** `reply-to`: an origin that ReplyTo headers named. */
  readonly kind: "webhook" | "reply-to";
  readonly clientId: string;
  readonly clientName: string;
  readonly url: string;
  readonly description: string;
  readonly events: readonly WebhookEventName[];
  /** These three narrow the changes; null: all. */
  readonly resource: Resource | null;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly state: "active" | "failing" | "paused";
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
  readonly pauseReason: string | null;
  /** Failed tries since the last good one. */
  readonly failures: number;
  readonly failingSince: string | null;
  /** 10,001: more than 10,000. */
  readonly waiting: number;
  readonly waitingSince: string | null;
  readonly deadLetters: number;
  /** Events that found the queue full. */
  readonly dropped: number;
  readonly droppedSince: string | null;
  readonly lastTryAt: string | null;
  readonly lastStatus: number | null;
  readonly lastFailure: string | null;
  readonly createdAt: string;
}

/** GET `webhooks`: all, the oldest first, or those of a client. Answers this. */
export interface WebhooksAnswer {
  readonly items: readonly WebhookItem[];
}

/** One try. */
export interface WebhookAttemptItem {
  readonly attemptId: number;
  readonly messageId: string;
  readonly event: string;
  readonly url: string;
  readonly attempt: number;
  readonly attemptedAt: string;
  readonly durationMs: number;
  readonly status: number | null;
  /** Null: delivered. */
  readonly failure: string | null;
  /** The beginning of what was answered. */
  readonly answer: string;
}

export interface DeadLetterItem {
  readonly messageId: string;
  readonly event: string;
  /** The request that it tells of, or a cursor of the change feed. */
  readonly cause: string;
  readonly createdAt: string;
  readonly deadAt: string;
  readonly attempts: number;
  readonly lastFailure: string | null;
}

/** GET `webhooks/{endpointId}`, and what every change of one but its removal answers. 404 `bellhop.console.NotFound`. */
export interface WebhookAnswer extends WebhookItem {
  /** The newest 100. */
  readonly attempts: readonly WebhookAttemptItem[];
  /** The newest 100. */
  readonly newestDeadLetters: readonly DeadLetterItem[];
}

/** POST `webhooks`. 422 says what it takes. Answers WebhookSecretAnswer. */
export interface CreateWebhookRequest {
  readonly clientId: string;
  readonly url: string;
  readonly description?: string;
  readonly events: readonly WebhookEventName[];
  readonly resource?: Resource;
  readonly clientCode?: string;
  readonly propertyCode?: string;
}

/** POST `webhooks/{endpointId}/rotate`. Answers WebhookSecretAnswer. */
export interface RotateWebhookRequest {
  readonly overlapSeconds: number;
}

/** A secret, this once. */
export interface WebhookSecretAnswer {
  readonly endpointId: string;
  readonly secret: string;
  readonly previousExpiresAt: string | null;
}

/** POST `webhooks/{endpointId}/pause`; `resume` and `test` take `{}`. */
export interface PauseWebhookRequest {
  readonly reason?: string;
}

/** POST `webhooks/{endpointId}/redrive`: one dead letter, or all. */
export interface RedriveWebhookRequest {
  readonly messageId?: string;
}
