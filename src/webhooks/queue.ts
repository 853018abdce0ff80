import { randomUUID } from "node:crypto";
import type pg from "pg";
import { endWithClient, openSession } from "../platform/db/connection.ts";
import { countPresent, enterPresence } from "../platform/db/coordination.ts";
import type { Row } from "../platform/db/row.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { DeadLetterItem, WebhookAttemptItem } from "./console-answers.ts";
import { WebhookNotFound } from "./endpoint-address.ts";
import { bodyOf, messageIdOf, type NewMessage, TEST_EVENT } from "./message.ts";

const ENQUEUE = readStatement(new URL("./sql/enqueue-messages.sql", import.meta.url));
/** At most $2 dead letters of endpoint $1, newest first. */
const LIST_DEAD = namedStatement(
  "list-dead-letters",
  `select message_id as "messageId", endpoint_id as "endpointId", event, cause, created_at as "createdAt",
    dead_at as "deadAt", attempts, last_failure as "lastFailure"
  from bellhop.webhook_message
  where endpoint_id = $1 and dead_at is not null
  order by dead_at desc, message_id
  limit $2`,
);
/** Queues the dead letters of endpoint $1 (or only $2) again, starting with the first attempt. */
const REDRIVE = namedStatement(
  "redrive-dead-letters",
  `update bellhop.webhook_message
  set dead_at = null, attempts = 0, next_try_at = clock_timestamp()
  where endpoint_id = $1 and dead_at is not null and ($2::uuid is null or message_id = $2)`,
);
/** The newest $2 attempts of endpoint $1 (or of message $3), newest first. */
const LIST_ATTEMPTS = namedStatement(
  "list-webhook-attempts",
  `select attempt_id as "attemptId", message_id as "messageId", event, url, attempt, attempted_at as "attemptedAt",
    duration_ms as "durationMs", status, failure, answer
  from bellhop.webhook_attempt
  where endpoint_id = $1 and ($3::uuid is null or message_id = $3)
  order by attempt_id desc
  limit $2`,
);

/** Maximum waiting messages per event and endpoint: about 10 MB, or three hours at one batch per second. */
const WAITING_MAX = 10_000;
const DEAD_LETTERS_LISTED_MAX = 1_000;

/**
 * Queues messages, each id once, in the caller's transaction. If an endpoint's queue is full, its message is dropped and counted, so that
 * the owner knows to list requests.
 */
export async function enqueueMessages(on: Queryable, messages: readonly NewMessage[]): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map(({ messageId: message_id, endpointId: endpoint_id, ...rest }) => {
    return { message_id, endpoint_id, ...rest };
  });
  await on.query({ ...ENQUEUE, values: [JSON.stringify(rows), WAITING_MAX] });
}

/** Queues a `webhook.test` for an endpoint, even a paused one; returns the message's id. */
export async function enqueueTest(on: Queryable, endpointId: string): Promise<string> {
  const messageId = randomUUID();
  const data = { endpointId, text: "Test event." };
  const body = bodyOf(TEST_EVENT, new Date().toISOString(), data);
  await enqueueMessages(on, [{ messageId, endpointId, event: TEST_EVENT, cause: "", url: null, body }]);
  return messageId;
}

/** A dead letter without its body. */
export type DeadLetter = Row<DeadLetterItem> & { readonly endpointId: string };

/** At most 1,000 dead letters of an endpoint, newest first. */
export async function listDeadLetters(on: Queryable, endpointId: string): Promise<DeadLetter[]> {
  return (await on.query<DeadLetter>({ ...LIST_DEAD, values: [endpointId, DEAD_LETTERS_LISTED_MAX] })).rows;
}

/** Queues one or (null) all dead letters again under the same ids; returns how many. Throws WebhookNotFound for an unknown id. */
export async function redriveDeadLetters(
  on: Queryable,
  endpointId: string,
  messageId: string | null,
): Promise<number> {
  const known = messageId === null ? null : messageIdOf(messageId);
  const { rowCount } =
    known === undefined ? { rowCount: 0 } : await on.query({ ...REDRIVE, values: [endpointId, known] });
  if (messageId !== null && rowCount === 0)
    throw new WebhookNotFound(
      "No dead letter has this id: the message was delivered, or was never given up.",
    );
  return rowCount ?? 0;
}

/** An attempt in the delivery log. Only operators see the start of the response body. */
export type Attempt = Row<WebhookAttemptItem>;

/** The newest attempts of an endpoint, or of one message, newest first. */
export async function listAttempts(
  on: Queryable,
  endpointId: string,
  limit: number,
  messageId: string | null = null,
): Promise<Attempt[]> {
  return (await on.query<Attempt>({ ...LIST_ATTEMPTS, values: [endpointId, limit, messageId] })).rows;
}

/** Renews this session's leases for $1 seconds and returns them. */
const RENEW = namedStatement(
  "renew-webhook-shards",
  `update bellhop.webhook_shard as shard
  set leased_until = clock_timestamp() + make_interval(secs => $1)
  from pg_stat_activity as me
  where me.pid = pg_backend_pid() and shard.backend_pid = me.pid and shard.backend_start = me.backend_start
  returning shard.shard`,
);
const TAKE = readStatement(new URL("./sql/take-webhook-shards.sql", import.meta.url));
/** Releases those of the shards $1 that this session holds. */
const RELEASE = namedStatement(
  "give-up-webhook-shards",
  `update bellhop.webhook_shard
  set owner = null, backend_pid = null, backend_start = null, leased_until = null
  where shard = any ($1::smallint[]) and backend_pid = pg_backend_pid()`,
);

/** Endpoints are assigned to shards by the last digit of their id, buckets by remainder. */
export const SHARDS = 16;
/**
 * Lease duration. A killed holder's lease ends at once with its backend; a hanging node's ends after this time, which exceeds a busy
 * machine's delays and is shorter than an attempt.
 */
const LEASE_SECONDS = 10;
const ANSWER_MS_MAX = 5_000;

/** Leases this node's share of the shards, renewed every second on a separate session. If renewal fails, the node has no shards. */
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

  /** The shards for which new work may start. */
  get shards(): readonly number[] {
    return this.#held.filter((shard) => !this.#leaving.has(shard));
  }

  /** Renews leases, acquires free shards, and releases those beyond the node's share once they are idle. */
  async tend(isBusy: (shard: number) => boolean): Promise<void> {
    try {
      const client = this.#client ?? (await this.#connect());
      const shardsOf = async (statement: typeof RENEW, values: unknown[]) =>
        (await client.query<{ shard: number }>({ ...statement, values })).rows.map(({ shard }) => shard);
      const held = (await shardsOf(RENEW, [LEASE_SECONDS])).sort((left, right) => left - right);
      const nodes = Math.max(1, (await countPresent(client)).get("deliver") ?? 1);
      const share = Math.ceil(SHARDS / nodes);
      this.#leaving = new Set(held.slice(share));
      const idle = [...this.#leaving].filter((shard) => !isBusy(shard));
      if (idle.length > 0) await client.query({ ...RELEASE, values: [idle] });
      const kept = held.filter((shard) => !idle.includes(shard));
      const free = share - kept.length;
      const taken = free > 0 ? await shardsOf(TAKE, [this.#owner, LEASE_SECONDS, free]) : [];
      this.#held = [...kept, ...taken];
    } catch (error) {
      await this.#drop();
      throw error;
    }
  }

  /** Releases all leases, so that other nodes can take them at once. */
  async close(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    await this.#client?.query({ ...RELEASE, values: [held] }).catch(() => undefined);
    await this.#drop();
  }

  async #connect(): Promise<pg.Client> {
    const config = { ...this.#clientConfig, query_timeout: ANSWER_MS_MAX };
    const client = await openSession(config, "webhooks", async (opened) => {
      opened.on("error", this.#failed);
      opened.on("end", () => {
        if (this.#client !== opened) return;
        this.#client = undefined;
        this.#held = [];
      });
      await endWithClient(opened);
      await enterPresence(opened, ["deliver"], this.#owner);
    });
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
