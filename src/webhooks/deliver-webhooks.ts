import { hostname } from "node:os";
import type pg from "pg";
import type { Config } from "../config.ts";
import type { SecretCipher } from "../platform/crypto/secret-cipher.ts";
import { createPool, logSlowStatements, POOL_ANSWER_MS_MAX } from "../platform/db/connection.ts";
import { readStatement } from "../platform/db/statement.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { type CursorSecret, readCursorEpoch } from "../query/changes/change-cursor.ts";
import { AddressRules } from "./address-rules.ts";
import { type DeliveryParts, type DueMessage, deliverOnce, type Tried } from "./deliver-once.ts";
import { resolveByDns } from "./endpoint-address.ts";
import { hasListeners, noticeApplied } from "./notice-applied.ts";
import { ChangeNoticer } from "./notice-changes.ts";
import { ShardLeases } from "./queue.ts";
import { standardPlan } from "./retry-plan.ts";

const FIND_DUE = readStatement(new URL("./sql/find-due-messages.sql", import.meta.url));
const TIDY = readStatement(new URL("./sql/tidy-webhooks.sql", import.meta.url));

/** Polling interval for due messages. Messages queued by this node are sent at once. */
const POLL_MS = 500;
const TEND_MS = 1_000;
const TIDY_MS = 60_000;

/** Concurrent attempts, each with a socket and a message in memory. */
const AT_ONCE_MAX = 256;
/** Limit for failing endpoints, so that they cannot delay others. */
const FAILING_AT_ONCE_MAX = 64;
/** Clients take turns (find-due-messages.sql), so that those with many slow endpoints cannot delay others. */
const OF_CLIENT_AT_ONCE_MAX = 16;
const OF_ENDPOINT_AT_ONCE_MAX = 4;

/** Limits per endpoint. */
const TRIES_KEPT = 500;
const DEAD_LETTERS_KEPT = 1_000;
const DEAD_LETTER_DAYS = 30;

/** How long `stop` waits for attempts in progress; aborted ones are retried by other nodes. */
const STOP_MS = 1_000;

interface DelivererOptions extends Omit<DeliveryParts, "send"> {
  readonly clientConfig: pg.ClientConfig;
  readonly send: Omit<DeliveryParts["send"], "stopping">;
  /** Key and epoch of the change feed's cursors. */
  readonly cursorSecret: () => Promise<CursorSecret>;
  /** The node's name for display. */
  readonly owner: string;
  readonly events: {
    tried(tried: Tried): void;
    failed(error: unknown): void;
  };
}

interface UnderWay extends DueMessage {
  readonly done: Promise<void>;
}

const shardOf = (endpointId: string) => Number.parseInt(endpointId.slice(-1), 16);

/**
 * Queues and delivers messages for this node's shards of the endpoints, from construction on. Limits and backoff are per endpoint, so that
 * a slow or dead one does not delay others.
 */
export class WebhookDeliverer {
  readonly #options: DelivererOptions;
  readonly #delivery: DeliveryParts;
  readonly #noticer: ChangeNoticer;
  readonly #leases: ShardLeases;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, UnderWay>();
  readonly #loops: Readonly<Record<"tend" | "notice" | "changes" | "deliver" | "tidy", Repeat>>;

  constructor(options: DelivererOptions) {
    const { clientConfig, owner, events, pool, cipher, plan, tracer, send } = options;
    this.#options = options;
    this.#delivery = { pool, cipher, plan, tracer, send: { ...send, stopping: this.#stopping.signal } };
    this.#noticer = new ChangeNoticer(pool, options.cursorSecret);
    const { failed } = events;
    this.#leases = new ShardLeases(clientConfig, owner, failed);
    const ofShards = (work: (shards: readonly number[]) => Promise<void>, everyMs: number) =>
      new Repeat(
        async () => {
          const { shards } = this.#leases;
          if (shards.length > 0) await work(shards);
        },
        everyMs,
        failed,
        0,
      );
    this.#loops = {
      tend: new Repeat(() => this.#tend(), TEND_MS, failed, 0),
      notice: ofShards((shards) => this.#notice(shards), POLL_MS),
      // Separate, because reading changes must not delay `request.applied`.
      changes: ofShards((shards) => this.#noticeChanges(shards), POLL_MS),
      deliver: ofShards((shards) => this.#deliver(shards), POLL_MS),
      tidy: ofShards((shards) => this.#tidy(shards), TIDY_MS),
    };
  }

  /** Waits briefly for attempts in progress, aborts the rest, and releases the endpoints to other nodes. */
  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#loops).map((loop) => loop.stop()));
    const cutOff = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
    clearTimeout(cutOff);
    await this.#leases.close();
  }

  async #tend(): Promise<void> {
    const former = this.#leases.shards.length;
    const isBusy = (shard: number) =>
      [...this.#underWay.values()].some((one) => shardOf(one.endpointId) === shard);
    await this.#leases.tend(isBusy);
    if (this.#leases.shards.length <= former) return;
    this.#loops.notice.wake();
    this.#loops.deliver.wake();
    this.#loops.tidy.wake();
  }

  async #notice(shards: readonly number[]): Promise<void> {
    const { pool, cipher } = this.#options;
    if (!(await hasListeners(pool))) return;
    const { found, queued } = await noticeApplied(pool, cipher, shards);
    if (found) this.#loops.notice.wake();
    if (queued) this.#loops.deliver.wake();
  }

  async #noticeChanges(shards: readonly number[]): Promise<void> {
    if (await this.#noticer.notice(shards)) this.#loops.deliver.wake();
  }

  async #deliver(shards: readonly number[]): Promise<void> {
    if (this.#underWay.size >= AT_ONCE_MAX) return;
    const bounds = [OF_ENDPOINT_AT_ONCE_MAX, AT_ONCE_MAX, OF_CLIENT_AT_ONCE_MAX];
    const values = [shards, [...this.#underWay.keys()], ...bounds];
    const { rows } = await this.#options.pool.query<DueMessage>({ ...FIND_DUE, values });
    for (const due of rows) if (this.#hasRoomFor(due)) this.#begin(due);
  }

  #hasRoomFor({ endpointId, clientId, failures }: DueMessage): boolean {
    const others = [...this.#underWay.values()];
    const ofClient = others.filter((other) => other.clientId === clientId).length;
    if (others.length >= AT_ONCE_MAX || ofClient >= OF_CLIENT_AT_ONCE_MAX) return false;
    const ofEndpoint = others.filter((other) => other.endpointId === endpointId).length;
    if (failures === 0) return ofEndpoint < OF_ENDPOINT_AT_ONCE_MAX;
    return ofEndpoint === 0 && others.filter((other) => other.failures > 0).length < FAILING_AT_ONCE_MAX;
  }

  #begin(due: DueMessage): void {
    const { events } = this.#options;
    const done = deliverOnce(this.#delivery, due)
      .then((tried) => {
        if (tried === undefined) return;
        events.tried(tried);
        const isOver = tried.failure === null || tried.isDead;
        if (tried.event === "changes.available" && isOver) this.#loops.changes.wake();
      })
      // The message is still queued and is retried.
      .catch(events.failed)
      .finally(() => {
        this.#underWay.delete(due.messageId);
        this.#loops.deliver.wake();
      });
    this.#underWay.set(due.messageId, { ...due, done });
  }

  async #tidy(shards: readonly number[]): Promise<void> {
    // Also for parts recorded for an endpoint that has since been deleted.
    await noticeApplied(this.#options.pool, this.#options.cipher, shards);
    const values = [shards, TRIES_KEPT, DEAD_LETTERS_KEPT, DEAD_LETTER_DAYS];
    await this.#options.pool.query({ ...TIDY, values });
  }
}

/** Size of a node's pool for deliveries; each statement takes some milliseconds. */
export const WEBHOOK_CONNECTIONS = 4;
const HOUR_SECONDS = 3_600;

export interface DelivererParts {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly clientConfig: pg.ClientConfig;
  readonly cipher: SecretCipher;
  /** The key that encrypts cursors. */
  readonly cursorKey: () => Promise<Buffer>;
}

/** Starts delivering webhooks for this node's share of the endpoints. */
export function startDeliverer(parts: DelivererParts) {
  const { config, log, metrics, tracer, clientConfig, cipher, cursorKey } = parts;
  const watch = logSlowStatements(config.slowQueryMs, log, metrics);
  const pool = createPool(clientConfig, log, WEBHOOK_CONNECTIONS, POOL_ANSWER_MS_MAX, watch);
  const deliverer = new WebhookDeliverer({
    clientConfig,
    pool,
    cipher,
    tracer,
    cursorSecret: async () => ({ key: await cursorKey(), epoch: await readCursorEpoch(pool) }),
    owner: `${hostname()}/${process.pid}`,
    plan: standardPlan(config.webhookPauseHours * HOUR_SECONDS),
    send: { rules: new AddressRules(config.webhookAllowedNetworks), resolve: resolveByDns },
    events: {
      tried({ endpointId, messageId, event, failure, ageSeconds, isDead, isPaused }) {
        metrics.webhookTries.inc({ result: failure === null ? "delivered" : isDead ? "given up" : "failed" });
        if (failure === null) metrics.webhookSeconds.observe(ageSeconds);
        else log.info({ endpointId, messageId, event, failure, isDead }, "a webhook was not delivered");
        if (isPaused) log.warn({ endpointId }, "a failing webhook endpoint was paused");
      },
      failed: (error) => log.warn({ err: error }, "webhook delivery failed and is retried"),
    },
  });
  return {
    async stop() {
      await deliverer.stop();
      await pool.end();
    },
  };
}
