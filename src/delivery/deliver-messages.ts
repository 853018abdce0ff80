import { randomUUID } from "node:crypto";
import type pg from "pg";
import type { Config } from "../config.ts";
import { QuestionTooLarge } from "../insight/question.ts";
import { createPool, logSlowStatements, POOL_ANSWER_MS_MAX, readFor } from "../platform/db/connection.ts";
import { readStatement } from "../platform/db/statement.ts";
import { NotFoundError } from "../platform/errors/operator-error.ts";
import { Repeat } from "../platform/runtime/repeat.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import { compose, type DueMessage, type ReportSource } from "./compose.ts";
import type { MessageState } from "./console-answers.ts";
import { createMailTransport, MailNotSent, type MailTransport } from "./mail-transport.ts";
import { asHtml, type MessageContent } from "./message.ts";
import { planMessages } from "./plan-messages.ts";
import { findSubscription, type Subscription } from "./subscription.ts";
import { UNSUBSCRIBE_PATH, unsubscribeTokenOf } from "./unsubscribe.ts";

const LEASE = readStatement(new URL("./sql/lease-messages.sql", import.meta.url));
const SETTLE = readStatement(new URL("./sql/settle-message-of-subscription.sql", import.meta.url));
const TIDY = readStatement(new URL("./sql/tidy-subscriptions.sql", import.meta.url));

/** Figures change once a minute. */
const PLAN_MS = 60_000;
const SEND_MS = 3_000;
const TIDY_MS = 3_600_000;
/** Each has a report and its file in memory. */
const SENDERS = 2;
/** Longer than an attempt takes, so that no other node sends the message meanwhile. */
const LEASE_SECONDS = 120;
const ATTEMPT_MS_MAX = 90_000;
/** Seconds to wait after each failed attempt: the last one is a day after the first. */
const RETRY_SECONDS = [60, 300, 900, 3_600, 10_800, 21_600, 43_200] as const;
/** An attempt that ended with its node has no result; so many in all. */
const ATTEMPTS_MAX = 2 * RETRY_SECONDS.length;
const MESSAGE_DAYS = 30;
const MESSAGES_KEPT = 100;
const BODIES_KEPT = 14;

/** Size of a node's pool for reports and alerts: one for each sender, one for planning. */
export const DELIVERY_CONNECTIONS = SENDERS + 1;

/** How an attempt ended, for metrics and logs; `retried`: it waits for the next. */
export interface Settled {
  readonly subscriptionId: string;
  readonly messageId: string;
  readonly state: Exclude<MessageState, "waiting"> | "retried";
  readonly result: string;
  /** Why a message could not be made. */
  readonly err?: unknown;
}

interface SenderOptions {
  readonly pool: pg.Pool;
  /** Undefined: messages are kept in the console. */
  readonly mail: MailTransport | undefined;
  /** Public address of the console. */
  readonly baseUrl: () => string;
  readonly unsubscribeKey: () => Promise<Buffer>;
  readonly report?: ReportSource | undefined;
  readonly leaseSeconds?: number;
}

/** The end of an attempt. */
interface Outcome {
  readonly state: MessageState;
  readonly result: string;
  readonly content?: MessageContent;
  readonly err?: unknown;
}

const stateAfterFailure = ({ attempts }: DueMessage): MessageState =>
  attempts > RETRY_SECONDS.length ? "failed" : "waiting";

/** Sends the messages of the outbox. Any number of nodes may: each message is leased by one. */
export class MessageSender {
  readonly #options: SenderOptions;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** Sends a message that is due; undefined if there is none. */
  async sendDue(signal: AbortSignal): Promise<Settled | undefined> {
    const lease = randomUUID();
    const values = [lease, this.#options.leaseSeconds ?? LEASE_SECONDS];
    const { rows } = await this.#options.pool.query<DueMessage>({ ...LEASE, values });
    const [due] = rows;
    return due === undefined ? undefined : this.#sendOne(due, lease, signal);
  }

  async #sendOne(due: DueMessage, lease: string, signal: AbortSignal): Promise<Settled> {
    const { messageId, subscriptionId, attempts } = due;
    const outcome = await this.#attempt(due, AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS_MAX)]));
    const { state, result, content, err } = outcome;
    // The console composes alerts again, for what may be seen then.
    const isKept = state === "kept" && content?.isAsOf === true;
    const html = isKept ? asHtml(content, undefined) : null;
    const seconds = RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? 0;
    await this.#options.pool.query({
      ...SETTLE,
      values: [messageId, lease, state, result, content?.subject ?? "", html, seconds],
    });
    const of = { subscriptionId, messageId, ...(err !== undefined && { err }) };
    return { ...of, state: state === "waiting" ? "retried" : state, result };
  }

  async #attempt(due: DueMessage, signal: AbortSignal): Promise<Outcome> {
    if (due.attempts > ATTEMPTS_MAX) return { state: "failed", result: "Every attempt ended with its node." };
    const { pool, baseUrl, report } = this.#options;
    try {
      const subscription = await findSubscription(pool, due.subscriptionId);
      const { content, dropped } = await readFor(signal, () =>
        compose(pool, subscription, due, baseUrl(), report),
      );
      if (content === undefined) return { state: "dropped", result: dropped };
      return { ...(await this.#hand(subscription, due, content, signal)), content };
    } catch (error) {
      if (error instanceof NotFoundError || error instanceof QuestionTooLarge)
        return { state: "dropped", result: error.message };
      return { state: stateAfterFailure(due), result: "The message could not be made.", err: error };
    }
  }

  /** Hands a message to the mail server, or keeps it in the console. */
  async #hand(
    { email, subscriptionId }: Subscription,
    due: DueMessage,
    content: MessageContent,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { mail, baseUrl, unsubscribeKey } = this.#options;
    if (mail === undefined) return { state: "kept", result: "No mail server is configured." };
    if (email === null) return { state: "kept", result: "The operator has no e-mail address." };
    const token = unsubscribeTokenOf(await unsubscribeKey(), subscriptionId);
    const unsubscribe = `${baseUrl()}${UNSUBSCRIBE_PATH}/${token}`;
    try {
      await mail.send({ messageId: due.messageId, to: email, content, unsubscribe }, signal);
      return { state: "sent", result: "" };
    } catch (error) {
      if (!(error instanceof MailNotSent)) throw error;
      return { state: error.isPermanent ? "failed" : stateAfterFailure(due), result: error.message };
    }
  }
}

export async function tidySubscriptions(pool: pg.Pool): Promise<void> {
  await pool.query({ ...TIDY, values: [MESSAGE_DAYS, MESSAGES_KEPT, BODIES_KEPT] });
}

export interface DeliveryParts {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clientConfig: pg.ClientConfig;
  readonly baseUrl: () => string;
  readonly cursorKey: () => Promise<Buffer>;
}

/** Plans and sends reports and alerts on this node. */
export function startDelivery({ config, log, metrics, clientConfig, baseUrl, cursorKey }: DeliveryParts) {
  const watch = logSlowStatements(config.slowQueryMs, log, metrics);
  const pool = createPool(clientConfig, log, DELIVERY_CONNECTIONS, POOL_ANSWER_MS_MAX, watch);
  const mail = config.mail === undefined ? undefined : createMailTransport(config.mail);
  const sender = new MessageSender({ pool, mail, baseUrl, unsubscribeKey: cursorKey });
  const stopping = new AbortController();
  const failed = (error: unknown) =>
    log.warn({ err: error }, "reports and alerts could not be processed and are retried");
  const note = ({ state, ...of }: Settled) => {
    metrics.subscriptionMessages.inc({ result: state });
    if (of.err !== undefined) log.warn(of, "a report or alert could not be made");
    else if (state === "failed" || state === "retried") log.info(of, "a report or alert was not sent");
  };
  const send = () => {
    const loop: Repeat = new Repeat(
      async () => {
        const settled = await sender.sendDue(stopping.signal);
        if (settled === undefined) return;
        note(settled);
        loop.wake();
      },
      SEND_MS,
      failed,
      SEND_MS,
    );
    return loop;
  };
  const sends = Array.from({ length: SENDERS }, send);
  const plan = new Repeat(
    async () => {
      if ((await planMessages(pool)) > 0) for (const loop of sends) loop.wake();
    },
    PLAN_MS,
    failed,
    SEND_MS,
  );
  const tidy = new Repeat(() => tidySubscriptions(pool), TIDY_MS, failed, PLAN_MS);
  return {
    async stop() {
      stopping.abort();
      await Promise.all([plan, ...sends, tidy].map((loop) => loop.stop()));
      mail?.close();
      await pool.end();
    },
  };
}
