import { randomUUID } from "node:crypto";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { bodyOf, messageIdOf, type NewMessage, TEST_EVENT } from "./message.ts";
import { WebhookNotFound } from "./webhook-input-error.ts";

const ENQUEUE = readStatement(new URL("./sql/enqueue-messages.sql", import.meta.url));
/** What was given up of endpoint $1, the newest first, at most $2. */
const LIST_DEAD = namedStatement(
  "list-dead-letters",
  `select message_id as "messageId", endpoint_id as "endpointId", event, cause, created_at as "createdAt",
    dead_at as "deadAt", attempts, last_failure as "lastFailure"
  from bellhop.webhook_message
  where endpoint_id = $1 and dead_at is not null
  order by dead_at desc, message_id
  limit $2`,
);
/** Has the dead letters of endpoint $1 (or only $2) tried anew, from the beginning of their plan. */
const REDRIVE = namedStatement(
  "redrive-dead-letters",
  `update bellhop.webhook_message
  set dead_at = null, attempts = 0, next_try_at = clock_timestamp()
  where endpoint_id = $1 and dead_at is not null and ($2::uuid is null or message_id = $2)`,
);
/** The newest $2 tries of endpoint $1 (or of its message $3), the newest first. */
const LIST_ATTEMPTS = namedStatement(
  "list-webhook-attempts",
  `select attempt_id as "attemptId", message_id as "messageId", event, url, attempt, attempted_at as "attemptedAt",
    duration_ms as "durationMs", status, failure, answer
  from bellhop.webhook_attempt
  where endpoint_id = $1 and ($3::uuid is null or message_id = $3)
  order by attempt_id desc
  limit $2`,
);

/**
 * Messages that may wait for one endpoint: some 10 MB of outcomes. Of a client that sends a batch a second it is three hours in
 * which its receiver is away; whoever comes back later lists its requests instead.
 */
const WAITING_MAX = 10_000;
const DEAD_LETTERS_LISTED_MAX = 1_000;

/**
 * Queues messages, each id once. What finds its endpoint's queue full is dropped and counted there, so that its owner knows
 * from when on to ask for requests. Part of the caller's transaction.
 */
export async function enqueueMessages(on: Queryable, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map(({ messageId, endpointId, event, cause, url, body }) => ({
    message_id: messageId,
    endpoint_id: endpointId,
    event,
    cause,
    url,
    body,
  }));
  await on.query({ ...ENQUEUE, values: [JSON.stringify(rows), WAITING_MAX] });
}

/** Queues a `webhook.test` for an endpoint, also while it is paused; answers the message's id. */
export async function enqueueTest(on: Queryable, endpointId: string, now: Date): Promise<string> {
  const messageId = randomUUID();
  const data = { endpointId, text: "This is a test: nothing has happened." };
  const body = bodyOf(TEST_EVENT, now.toISOString(), data);
  await enqueueMessages(on, [{ messageId, endpointId, event: TEST_EVENT, cause: "", url: null, body }]);
  return messageId;
}

/** A message that was given up, without what it says. */
export interface DeadLetter {
  readonly messageId: string;
  readonly endpointId: string;
  readonly event: string;
  readonly cause: string;
  readonly createdAt: Date;
  readonly deadAt: Date;
  readonly attempts: number;
  readonly lastFailure: string | null;
}

/** The dead letters of an endpoint, the newest first, at most 1,000. */
export async function listDeadLetters(on: Queryable, endpointId: string): Promise<DeadLetter[]> {
  return (await on.query<DeadLetter>({ ...LIST_DEAD, values: [endpointId, DEAD_LETTERS_LISTED_MAX] })).rows;
}

/**
 * Queues dead letters of an endpoint again, with the ids they had: all (null) or one. Answers how many. Throws
 * WebhookNotFound when the one is not there.
 */
export async function redriveDeadLetters(
  on: Queryable,
  endpointId: string,
  messageId: string | null,
): Promise<number> {
  const known = messageId === null ? null : messageIdOf(messageId);
  const rowCount =
    known === undefined ? 0 : ((await on.query({ ...REDRIVE, values: [endpointId, known] })).rowCount ?? 0);
  if (messageId !== null && rowCount === 0)
    throw new WebhookNotFound("There is no dead letter with this id: it was delivered, or never given up.");
  return rowCount;
}

/** One try, as the delivery log has it. */
export interface Attempt {
  readonly attemptId: number;
  readonly messageId: string;
  readonly event: string;
  readonly url: string;
  /** Which try of the message it was, from 1. */
  readonly attempt: number;
  readonly attemptedAt: Date;
  readonly durationMs: number;
  readonly status: number | null;
  readonly failure: string | null;
  /** The beginning of the answer's body: for operators alone. */
  readonly answer: string;
}

/** The newest tries of an endpoint, or of one of its messages, the newest first. */
export async function listAttempts(
  on: Queryable,
  endpointId: string,
  limit: number,
  messageId: string | null = null,
): Promise<Attempt[]> {
  return (await on.query<Attempt>({ ...LIST_ATTEMPTS, values: [endpointId, limit, messageId] })).rows;
}
