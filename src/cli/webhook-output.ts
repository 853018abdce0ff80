import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "../db/transaction.ts";
import { type EndpointSummary, stateOf } from "../feed/webhooks/endpoint.ts";
import { type Attempt, listAttempts } from "../feed/webhooks/queue.ts";
import { momentText } from "./text-output.ts";

const LOOK_MS = 100;
/** A try ends after 15 s, and is begun within one. */
const WAIT_MS_MAX = 20_000;

/** An endpoint for programs. */
export function endpointJson(endpoint: EndpointSummary): Record<string, unknown> {
  return { ...endpoint, kind: endpoint.kind === "r" ? "reply-to" : "webhook", state: stateOf(endpoint) };
}

/** An endpoint for people. */
export function endpointFields(endpoint: EndpointSummary): [string, string][] {
  const { resource, clientCode, propertyCode, pausedAt, failingSince, droppedSince } = endpoint;
  const fields: [string, string][] = [
    ["endpoint id", endpoint.endpointId],
    ["client", `${endpoint.clientName} (${endpoint.clientId})`],
    ["address", endpoint.kind === "r" ? `${endpoint.url} (by ReplyTo)` : endpoint.url],
    ["description", endpoint.description || "-"],
    ["events", endpoint.events.join(" ")],
    ["resource", resource ?? "all"],
    ["properties", clientCode === null ? "all granted" : `${clientCode}/${propertyCode ?? "*"}`],
    ["state", stateOf(endpoint)],
    ["waiting", `${endpoint.waiting} (oldest ${momentText(endpoint.waitingSince)})`],
    ["dead letters", String(endpoint.deadLetters)],
  ];
  if (pausedAt !== null)
    fields.push(["paused", `${momentText(pausedAt)} by ${endpoint.pausedBy}: ${endpoint.pauseReason}`]);
  if (failingSince !== null)
    fields.push(["failing", `${endpoint.failures} tries since ${momentText(failingSince)}`]);
  if (droppedSince !== null)
    fields.push([
      "dropped",
      `${endpoint.dropped} events since ${momentText(droppedSince)}: the queue was full`,
    ]);
  return fields;
}

/** One row of the delivery log. */
export function attemptRow({
  attemptedAt,
  event,
  messageId,
  attempt,
  durationMs,
  status,
  failure,
}: Attempt): string[] {
  return [
    ...[momentText(attemptedAt), event, messageId, String(attempt), String(durationMs)],
    ...[status === null ? "-" : String(status), failure ?? "-"],
  ];
}

/** The first try of a message; undefined where none came in time. */
export async function waitForTry(
  on: Queryable,
  endpointId: string,
  messageId: string,
): Promise<Attempt | undefined> {
  for (let waitedMs = 0; waitedMs <= WAIT_MS_MAX; waitedMs += LOOK_MS) {
    const [attempt] = await listAttempts(on, endpointId, 1, messageId);
    if (attempt !== undefined) return attempt;
    await delay(LOOK_MS);
  }
  return undefined;
}
