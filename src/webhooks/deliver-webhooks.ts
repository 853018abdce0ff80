import { hostname } from "node:os";
import type pg from "pg";
import type { Config } from "../config.ts";
import { createPool, POOL_ANSWER_MS_MAX, tellSlowStatements } from "../platform/db/pool.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import { createMetrics, type MetricValues } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { type CursorSeal, readCursorEpoch } from "../query/changes/change-cursor.ts";
import { AddressRules } from "./address-rules.ts";
import {
  type DeliveryParts,
  type DueMessage,
  deliverOnce,
  standardPlan,
  type Tried,
} from "./deliver-once.ts";
import { resolveByDns } from "./endpoint-address.ts";
import { noticeApplied } from "./notice-applied.ts";
import { ChangeNoticer } from "./notice-changes.ts";
import { ShardLeases } from "./queue.ts";
import type { SecretSealer } from "./secrets.ts";

/** So soon again at most, however often it is woken: what wakes it comes in bursts. */
const GAP_MS = 20;

/**
 * Does its work again and again: `everyMs` after the last time, or as soon as it is woken. What fails is told and tried again
 * like the rest.
 */
class Repeat {
  readonly #work: () => Promise<void>;
  readonly #everyMs: number;
  readonly #failed: (error: unknown) => void;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #isWanted = false;
  #stopped = false;

  constructor(work: () => Promise<void>, everyMs: number, failed: (error: unknown) => void) {
    this.#work = work;
    this.#everyMs = everyMs;
    this.#failed = failed;
  }

  start(): void {
    this.#plan(0);
  }

  wake(): void {
    if (this.#running === undefined) this.#plan(GAP_MS);
    else this.#isWanted = true;
  }

  /** Lets what runs end, and nothing follow. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #plan(ms: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#running = this.#run();
    }, ms);
  }

  async #run(): Promise<void> {
    this.#isWanted = false;
    try {
      await this.#work();
    } catch (error) {
      if (!this.#stopped) this.#failed(error);
    }
    this.#running = undefined;
    this.#plan(this.#isWanted ? GAP_MS : this.#everyMs);
  }
}

const FIND_DUE = readStatement(new URL("./sql/find-due-messages.sql", import.meta.url));
const TIDY = readStatement(new URL("./sql/tidy-webhooks.sql", import.meta.url));

/** How often what is due is looked for; what this node queues itself is tried at once. */
const LOOK_MS = 500;
const TEND_MS = 1_000;
const TIDY_MS = 60_000;

/** Tries under way at once, each with one socket and one message in memory. */
const AT_ONCE_MAX = 256;
/** Of them of endpoints that fail: the others find room however many of those there are. */
const FAILING_AT_ONCE_MAX = 64;
const OF_CLIENT_AT_ONCE_MAX = 16;
const OF_ENDPOINT_AT_ONCE_MAX = 4;

/** What is kept for each endpoint. */
const TRIES_KEPT = 500;
const DEAD_LETTERS_KEPT = 1_000;
const DEAD_LETTER_DAYS = 30;

/** What a node that is told to stop gives tries that are under way; those that are cut off are made again elsewhere. */
const STOP_MS = 1_000;

interface DelivererOptions extends Omit<DeliveryParts, "send"> {
  readonly clientConfig: pg.ClientConfig;
  readonly send: Omit<DeliveryParts["send"], "stopping">;
  /** What the change feed's cursors are sealed with. */
  readonly cursorSeal: () => Promise<CursorSeal>;
  /** Names the node, for people. */
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
 * Notices what endpoints are to be told and tells them, for this node's part of the endpoints. Every endpoint has tries and
 * plans of its own, so that one which is slow or gone takes nothing from the others.
 */
export class WebhookDeliverer {
  readonly #options: DelivererOptions;
  readonly #delivery: DeliveryParts;
  readonly #noticer: ChangeNoticer;
  readonly #leases: ShardLeases;
  readonly #stopping = new AbortController();
  readonly #underWay = new Map<string, UnderWay>();
  readonly #loops: {
    readonly tend: Repeat;
    readonly notice: Repeat;
    readonly changes: Repeat;
    readonly deliver: Repeat;
    readonly tidy: Repeat;
  };

  constructor(options: DelivererOptions) {
    const { clientConfig, owner, events, pool, sealer, plan, tracer, send } = options;
    this.#options = options;
    this.#delivery = { pool, sealer, plan, tracer, send: { ...send, stopping: this.#stopping.signal } };
    this.#noticer = new ChangeNoticer(pool, options.cursorSeal);
    this.#leases = new ShardLeases(clientConfig, owner, events.failed);
    const repeat = (work: () => Promise<void>, everyMs: number) => new Repeat(work, everyMs, events.failed);
    this.#loops = {
      tend: repeat(() => this.#tend(), TEND_MS),
      notice: repeat(() => this.#notice(), LOOK_MS),
      changes: repeat(() => this.#noticeChanges(), LOOK_MS),
      deliver: repeat(() => this.#deliver(), LOOK_MS),
      tidy: repeat(() => this.#tidy(), TIDY_MS),
    };
  }

  start(): void {
    for (const loop of Object.values(this.#loops)) loop.start();
  }

  /** Lets tries end that are about to, cuts the others off, and leaves the endpoints to other nodes. */
  async stop(): Promise<void> {
    await Promise.all(Object.values(this.#loops).map((loop) => loop.stop()));
    const cutOff = setTimeout(() => this.#stopping.abort(), STOP_MS);
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
    clearTimeout(cutOff);
    await this.#leases.close();
  }

  async #tend(): Promise<void> {
    const former = this.#leases.shards.length;
    await this.#leases.tend((shard) =>
      [...this.#underWay.values()].some((one) => shardOf(one.endpointId) === shard),
    );
    if (this.#leases.shards.length > former) {
      this.#loops.notice.wake();
      this.#loops.deliver.wake();
      this.#loops.tidy.wake();
    }
  }

  async #notice(): Promise<void> {
    const { shards } = this.#leases;
    if (shards.length === 0) return;
    const { found, queued } = await noticeApplied(this.#options.pool, this.#options.sealer, shards);
    if (found) this.#loops.notice.wake();
    if (queued) this.#loops.deliver.wake();
  }

  /** By itself: what one endpoint's changes take to read keeps nobody from hearing of applied requests. */
  async #noticeChanges(): Promise<void> {
    const { shards } = this.#leases;
    if (shards.length > 0 && (await this.#noticer.notice(shards))) this.#loops.deliver.wake();
  }

  async #deliver(): Promise<void> {
    const { shards } = this.#leases;
    const room = AT_ONCE_MAX - this.#underWay.size;
    if (shards.length === 0 || room <= 0) return;
    const values = [shards, [...this.#underWay.keys()], OF_ENDPOINT_AT_ONCE_MAX, AT_ONCE_MAX];
    const { rows } = await this.#options.pool.query<DueMessage>({ ...FIND_DUE, values });
    for (const due of rows) if (this.#hasRoomFor(due)) this.#begin(due);
  }

  #hasRoomFor({ endpointId, clientId, failures }: DueMessage): boolean {
    let ofEndpoint = 0;
    let ofClient = 0;
    let failing = 0;
    for (const other of this.#underWay.values()) {
      if (other.endpointId === endpointId) ofEndpoint += 1;
      if (other.clientId === clientId) ofClient += 1;
      if (other.failures > 0) failing += 1;
    }
    if (this.#underWay.size >= AT_ONCE_MAX || ofClient >= OF_CLIENT_AT_ONCE_MAX) return false;
    if (failures > 0) return ofEndpoint === 0 && failing < FAILING_AT_ONCE_MAX;
    return ofEndpoint < OF_ENDPOINT_AT_ONCE_MAX;
  }

  #begin(due: DueMessage): void {
    const { events } = this.#options;
    const done = deliverOnce(this.#delivery, due)
      .then((tried) => {
        if (tried === undefined) return;
        events.tried(tried);
        if (tried.event === "changes.available" && (tried.failure === null || tried.isDead))
          this.#loops.changes.wake();
      })
      // It is still queued: it is tried again when the database answers.
      .catch(events.failed)
      .finally(() => {
        this.#underWay.delete(due.messageId);
        this.#loops.deliver.wake();
      });
    this.#underWay.set(due.messageId, { ...due, done });
  }

  async #tidy(): Promise<void> {
    const { shards } = this.#leases;
    if (shards.length === 0) return;
    const values = [shards, TRIES_KEPT, DEAD_LETTERS_KEPT, DEAD_LETTER_DAYS];
    await this.#options.pool.query({ ...TIDY, values });
  }
}

/** Connections for what is noticed, loaded and settled; each statement takes some milliseconds. */
const POOL_SIZE = 4;
const HOUR_SECONDS = 3_600;

export interface DelivererParts {
  readonly config: Config;
  readonly log: Logger;
  readonly tracer: Tracer | undefined;
  readonly clientConfig: pg.ClientConfig;
  readonly sealer: SecretSealer;
  /** What cursors are sealed with. */
  readonly cursorKey: () => Promise<Buffer>;
}

export interface RunningDeliverer {
  metrics(): Promise<MetricValues>;
  stop(): Promise<void>;
}

/** Starts to deliver webhooks for this node's part of the endpoints. */
export function startDeliverer({
  config,
  log,
  tracer,
  clientConfig,
  sealer,
  cursorKey,
}: DelivererParts): RunningDeliverer {
  const metrics = createMetrics();
  const watch = tellSlowStatements(config.slowQueryMs, log, metrics);
  const pool = createPool(clientConfig, log, POOL_SIZE, POOL_ANSWER_MS_MAX, watch);
  const deliverer = new WebhookDeliverer({
    clientConfig,
    pool,
    sealer,
    tracer,
    cursorSeal: async () => ({ key: await cursorKey(), epoch: await readCursorEpoch(pool) }),
    owner: `${hostname()}/${process.pid}`,
    plan: standardPlan(config.webhookPauseHours * HOUR_SECONDS),
    send: { rules: new AddressRules(config.webhookAllowedNetworks), resolve: resolveByDns },
    events: {
      tried({ endpointId, messageId, event, failure, ageSeconds, isDead, isPaused }) {
        metrics.webhookTries.inc({ result: failure === null ? "delivered" : isDead ? "given up" : "failed" });
        if (failure === null) metrics.webhookSeconds.observe(ageSeconds);
        else log.info({ endpointId, messageId, event, failure, isDead }, "a webhook was not delivered");
        if (isPaused) log.warn({ endpointId }, "a webhook endpoint that keeps failing was paused");
      },
      failed: (error) => log.warn({ err: error }, "delivering webhooks failed and is tried again"),
    },
  });
  deliverer.start();
  return {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    async stop() {
      await deliverer.stop();
      await pool.end();
    },
  };
}
