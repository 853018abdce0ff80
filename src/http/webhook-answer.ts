import { type EndpointSummary, stateOf } from "../feed/webhooks/endpoint.ts";
import { webhookIdOf } from "../feed/webhooks/message.ts";
import type { Attempt, DeadLetter } from "../feed/webhooks/queue.ts";

/** An endpoint as its owner is told of it. */
export function webhookAnswer(endpoint: EndpointSummary) {
  const { endpointId, kind, url, description, events, resource, clientCode, propertyCode } = endpoint;
  const { pausedAt, pausedBy, pauseReason, failures, failingSince, waiting, waitingSince } = endpoint;
  const { deadLetters, dropped, droppedSince, lastTryAt, lastStatus, lastFailure, createdAt } = endpoint;
  return {
    endpointId,
    kind: kind === "r" ? ("reply-to" as const) : ("webhook" as const),
    ...{ url, description, events, resource, clientCode, propertyCode },
    state: stateOf(endpoint),
    // Who among the operators paused it is theirs to know.
    pausedBy:
      pausedBy === null
        ? null
        : pausedBy.startsWith("client:")
          ? "client"
          : pausedBy === "service"
            ? "service"
            : "operator",
    ...{ pausedAt, pauseReason, failures, failingSince, waiting, waitingSince, deadLetters },
    ...{ dropped, droppedSince, lastTryAt, lastStatus, lastFailure, createdAt },
  };
}

/** A try as the owner of its endpoint is told of it: without what was answered, which is for operators. */
export function attemptAnswer({
  messageId,
  event,
  attempt,
  attemptedAt,
  durationMs,
  status,
  failure,
}: Attempt) {
  return { webhookId: webhookIdOf(messageId), event, attempt, attemptedAt, durationMs, status, failure };
}

export function deadLetterAnswer({
  messageId,
  event,
  cause,
  createdAt,
  deadAt,
  attempts,
  lastFailure,
}: DeadLetter) {
  return { webhookId: webhookIdOf(messageId), event, cause, createdAt, deadAt, attempts, lastFailure };
}
