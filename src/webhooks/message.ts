import { createHash } from "node:crypto";

/** What an endpoint can be told. */
export const WEBHOOK_EVENTS = ["changes.available", "request.applied"] as const;

export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** Sent when somebody asks for it, to any endpoint. */
export const TEST_EVENT = "webhook.test";

/** A message as it is queued. */
export interface NewMessage {
  readonly messageId: string;
  readonly endpointId: string;
  readonly event: WebhookEvent | typeof TEST_EVENT;
  /** The request or position that it tells of. */
  readonly cause: string;
  /** Where it goes, if not to the endpoint's own address. */
  readonly url: string | null;
  readonly body: string;
}

/** The body of a message (Standard Webhooks 1.0, "Payload structure"); `timestamp` is when what it tells of happened. */
export function bodyOf(type: NewMessage["event"], timestamp: string, data: unknown): string {
  return JSON.stringify({ type, timestamp, data });
}

/** The `webhook-id` of a message: the same with every try, and what a receiver knows a repetition by. */
export function webhookIdOf(messageId: string): string {
  return `msg_${messageId.replaceAll("-", "")}`;
}

/** The message's id of a `webhook-id` or of itself; undefined for what is neither. */
export function messageIdOf(text: string): string | undefined {
  const hex = /^(?:msg_)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/.exec(
    text,
  );
  return hex === null ? undefined : hex.slice(1).join("-");
}

/** An id that is the same whoever makes the message: two nodes that notice one event at a time make one message of it. */
export function messageIdFor(endpointId: string, event: string, cause: string): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([endpointId, event, cause]))
    .digest();
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x80;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = digest.toString("hex").slice(0, 32);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
