import { createHash } from "node:crypto";

/** The events that an endpoint can subscribe to. */
export const WEBHOOK_EVENTS = ["changes.available", "request.applied"] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Sent on request to any endpoint. */
export const TEST_EVENT = "webhook.test";

export interface NewMessage {
  readonly messageId: string;
  readonly endpointId: string;
  readonly event: WebhookEvent | typeof TEST_EVENT;
  /** The request or position that caused it. */
  readonly cause: string;
  /** Destination if it is not the endpoint's URL. */
  readonly url: string | null;
  readonly body: string;
}

/** A message body (Standard Webhooks 1.0, "Payload structure"); `timestamp` is the time of the event. */
export function bodyOf(type: NewMessage["event"], timestamp: string, data: unknown): string {
  return JSON.stringify({ type, timestamp, data });
}

/** The `webhook-id` of a message, the same for every attempt, so that receivers can detect duplicates. */
export function webhookIdOf(messageId: string): string {
  return `msg_${messageId.replaceAll("-", "")}`;
}

/** Parses a message id or `webhook-id`; undefined for other text. */
export function messageIdOf(text: string): string | undefined {
  const groups = /^(?:msg_)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/;
  return groups.exec(text)?.slice(1).join("-");
}

/** An id derived from the event, so that two nodes create the same message for it. */
export function messageIdFor(endpointId: string, event: string, cause: string): string {
  const name = JSON.stringify([endpointId, event, cause]);
  const digest = createHash("sha256").update(name).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString("hex").slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
