import { createHash } from "node:crypto";

/** The events that an endpoint can ask for. */
export const WEBHOOK_EVENTS = ["changes.available", "request.applied"] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Sent on request, to any endpoint. */
export const TEST_EVENT = "webhook.test";

export interface NewMessage {
  readonly messageId: string;
  readonly endpointId: string;
  readonly event: WebhookEvent | typeof TEST_EVENT;
  /** The request or position that it is about. */
  readonly cause: string;
  /** Where it goes, if not to the endpoint's own address. */
  readonly url: string | null;
  readonly body: string;
}

/** The body of a message (Standard Webhooks 1.0, "Payload structure"); `timestamp` is the time of the event. */
export function bodyOf(type: NewMessage["event"], timestamp: string, data: unknown): string {
  return JSON.stringify({ type, timestamp, data });
}

/** The `webhook-id` of a message: the same with every attempt, so that a receiver recognises a repetition. */
export function webhookIdOf(messageId: string): string {
  return `msg_${messageId.replaceAll("-", "")}`;
}

/** The id of a message from its `webhook-id` or its id; undefined for any other text. */
export function messageIdOf(text: string): string | undefined {
  const groups = /^(?:msg_)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/;
  return groups.exec(text)?.slice(1).join("-");
}

/** An id derived from the event, so that two nodes that see one event make one message of it. */
export function messageIdFor(endpointId: string, event: string, cause: string): string {
  const name = JSON.stringify([endpointId, event, cause]);
  const digest = createHash("sha256").update(name).digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString("hex").slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
