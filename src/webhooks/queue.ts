import { randomUUID } from "node:crypto";
import pg from "pg";
import { endWithClient } from "../platform/db/connection.ts";
import { countPresent, enterPresence } from "../platform/db/presence.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { WebhookNotFound } from "./endpoint-address.ts";
import { bodyOf, messageIdOf, type NewMessage, TEST_EVENT } from "./message.ts";

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

/** Renews this session's leases for $1 seconds and answers them. */
const RENEW = namedStatement(
  "renew-webhook-shards",
  `update bellhop.webhook_shard as shard
  set leased_until = clock_timestamp() + make_interval(secs => $1)
  from pg_stat_activity as me
  where me.pid = pg_backend_pid() and shard.backend_pid = me.pid and shard.backend_start = me.backend_start
  returning shard.shard`,
);
const TAKE = readStatement(new URL("./sql/take-webhook-shards.sql", import.meta.url));
/** Gives up those of the shards $1 that this session holds. */
const GIVE_UP = namedStatement(
  "give-up-webhook-shards",
  `update bellhop.webhook_shard
  set owner = null, backend_pid = null, backend_start = null, leased_until = null
  where shard = any ($1::smallint[]) and backend_pid = pg_backend_pid()`,
);

/** Endpoints are divided by the last digit of their id, buckets by what is left of them. */
export const SHARDS = 16;
/**
 * A lease ends with its holder's backend, which a killed process takes with it at once. Of a node that hangs, or that the
 * network has forgotten, it ends after this time: longer than a busy machine keeps a loop from its turn, and below the time
 * of one try.
 */
const LEASE_SECONDS = 10;
const ANSWER_MS_MAX = 5_000;

interface ShardRow {
  readonly shard: number;
}

/**
 * Which shards of webhooks this node delivers for: its part of all, by leases that it renews once a second on a session of
 * its own. While it cannot, it has none.
 */
export class ShardLeases {
  readonly #clientConfig: pg.ClientConfig;
  readonly #owner: string;
  readonly #failed: (error: unknown) => void;
  #client: pg.Client | undefined;
  #held: readonly number[] = [];
  #leaving: ReadonlySet<number> = new Set();

  constructor(clientConfig: pg.ClientConfig, owner: string, failed: (error: unknown) => void) {
    this.#clientConfig = clientConfig;
    this.#owner = owner;
    this.#failed = failed;
  }

  /** Those that new work may be begun for. */
  get shards(): readonly number[] {
    return this.#held.filter((shard) => !this.#leaving.has(shard));
  }

  /** Renews what is held, takes what is free, and gives up what others are to have once nothing of it is under way. */
  async tend(isBusy: (shard: number) => boolean): Promise<void> {
    try {
      const client = this.#client ?? (await this.#connect());
      const renewed = await client.query<ShardRow>({ ...RENEW, values: [LEASE_SECONDS] });
      const held = renewed.rows.map(({ shard }) => shard).sort((left, right) => left - right);
      const nodes = Math.max(1, (await countPresent(client)).get("deliver") ?? 1);
      const share = Math.ceil(SHARDS / nodes);
      this.#leaving = new Set(held.slice(share));
      const idle = [...this.#leaving].filter((shard) => !isBusy(shard));
      if (idle.length > 0) await client.query({ ...GIVE_UP, values: [idle] });
      const kept = held.filter((shard) => !idle.includes(shard));
      const taken = kept.length < share ? await this.#take(client, share - kept.length) : [];
      this.#held = [...kept, ...taken];
    } catch (error) {
      await this.#drop();
      throw error;
    }
  }

  /** Gives everything up, so that another node has it at once. */
  async close(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    await this.#client?.query({ ...GIVE_UP, values: [held] }).catch(() => undefined);
    await this.#drop();
  }

  async #take(client: pg.Client, most: number): Promise<number[]> {
    const { rows } = await client.query<ShardRow>({ ...TAKE, values: [this.#owner, LEASE_SECONDS, most] });
    return rows.map(({ shard }) => shard);
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      ...this.#clientConfig,
      application_name: "bellhop webhooks",
      query_timeout: ANSWER_MS_MAX,
    });
    client.on("error", this.#failed);
    client.on("end", () => {
      if (this.#client !== client) return;
      this.#client = undefined;
      this.#held = [];
    });
    try {
      await client.connect();
      await endWithClient(client);
      await enterPresence(client, ["deliver"], this.#owner);
    } catch (error) {
      await client.end().catch(() => undefined);
      throw error;
    }
    this.#client = client;
    return client;
  }

  async #drop(): Promise<void> {
    const lost = this.#client;
    this.#client = undefined;
    this.#held = [];
    await lost?.end().catch(() => undefined);
  }
}
