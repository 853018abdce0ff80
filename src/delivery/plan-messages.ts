import { randomUUID } from "node:crypto";
import type pg from "pg";
import { Scope } from "../identity/scope.ts";
import type { PortfolioItem } from "../insight/console/answers.ts";
import { answerPortfolio } from "../insight/console/portfolio.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { settingsOfClients } from "../settings/property-settings.ts";
import { type Changes, changesOf, type OpenAlert } from "./alerts.ts";
import { lastDue } from "./schedule.ts";
import { listSubscriptions, type Subscription } from "./subscription.ts";

const QUEUE = readStatement(new URL("./sql/queue-messages.sql", import.meta.url));
const CHANGE_ALERTS = readStatement(new URL("./sql/change-alerts.sql", import.meta.url));
const FIND_UNSENT = readStatement(new URL("./sql/find-unsent-message.sql", import.meta.url));
/** Open alerts of the subscriptions $1. */
const READ_OPEN = namedStatement(
  "read-open-alerts",
  `select alert.alert_id::text as "alertId", alert.subscription_id as "subscriptionId", property.client_code as "clientCode",
    property.property_code as "propertyCode", alert.condition, alert.subject
  from bellhop.alert as alert
  join bellhop.property as property on property.property_id = alert.property_id
  where alert.subscription_id = any ($1::uuid[]) and alert.ended_at is null`,
);

/** One node plans at a time: an older view of the portfolio must not end what a newer one began. */
const PLANNING_LOCK = 7_302_051;
/** The range of the console's portfolio, so that an alert and that page agree. */
const ALERT_NIGHTS = 30;
const PORTFOLIO_MAX = 5_000;
/** While so many messages of a subscription wait, its conditions are not compared, so that none is lost. */
const WAITING_MAX = 20;
/** Further ones begin with the next comparison. */
const BEGINS_MAX = 1_000;

const isActive = ({ pausedAt, isOperatorDisabled }: Subscription) => pausedAt === null && !isOperatorDisabled;

/** Queues the reports that are due and the alerts that began or ended, each once. Returns the number of queued messages. */
export function planMessages(pool: pg.Pool, now = new Date()): Promise<number> {
  return withTransaction(pool, async (client) => {
    const lock = await client.query<{ taken: boolean }>("select pg_try_advisory_xact_lock($1) as taken", [
      PLANNING_LOCK,
    ]);
    if (lock.rows[0]?.taken !== true) return 0;
    const active = (await listSubscriptions(client)).filter(isActive);
    const byKind = Map.groupBy(active, ({ kind }) => kind);
    const reports = await planReports(client, byKind.get("report") ?? [], now);
    return reports + (await planAlerts(pool, client, byKind.get("alerts") ?? []));
  });
}

async function planReports(
  client: pg.ClientBase,
  reports: readonly Subscription[],
  now: Date,
): Promise<number> {
  if (reports.length === 0) return 0;
  const codes = [...new Set(reports.map(({ clientCode }) => clientCode ?? ""))];
  const settings = await settingsOfClients(client, codes);
  const due = reports.flatMap(({ subscriptionId, clientCode, propertyCode, localTime, activeFrom }) => {
    const timeZone = settings.get(clientCode ?? "")?.of(propertyCode).timeZone ?? "UTC";
    const { date, at } = lastDue(now, localTime ?? "", timeZone);
    return at > activeFrom
      ? [{ message_id: randomUUID(), subscription_id: subscriptionId, occasion: `report:${date}` }]
      : [];
  });
  if (due.length === 0) return 0;
  return (await client.query({ ...QUEUE, values: [JSON.stringify(due)] })).rowCount ?? 0;
}

async function planAlerts(
  pool: pg.Pool,
  client: pg.ClientBase,
  subscriptions: readonly Subscription[],
): Promise<number> {
  if (subscriptions.length === 0) return 0;
  const portfolio = await readPortfolioOf(pool, subscriptions);
  const { rows } = await client.query<OpenAlert & { subscriptionId: string }>({
    ...READ_OPEN,
    values: [subscriptions.map(({ subscriptionId }) => subscriptionId)],
  });
  const open = Map.groupBy(rows, ({ subscriptionId }) => subscriptionId);
  let queued = 0;
  for (const subscription of subscriptions) {
    const changes = changesOf(subscription, portfolio, open.get(subscription.subscriptionId) ?? []);
    if (changes.begins.length + changes.ends.length > 0)
      queued += await recordChanges(client, subscription, changes);
  }
  return queued;
}

/** The properties of all subscriptions, each read once. */
async function readPortfolioOf(
  pool: pg.Pool,
  subscriptions: readonly Subscription[],
): Promise<readonly PortfolioItem[]> {
  const grants = new Set(subscriptions.flatMap((one) => one.grants));
  const { items } = await answerPortfolio(
    pool,
    {
      within: new Scope([...grants]),
      nights: ALERT_NIGHTS,
      search: undefined,
      city: undefined,
      attention: undefined,
      sort: "name",
      isDescending: false,
    },
    0,
    PORTFOLIO_MAX,
  );
  return items;
}

/** Returns the number of queued messages. Changes join a message that no node has tried to send. */
async function recordChanges(
  client: pg.ClientBase,
  { subscriptionId }: Subscription,
  { begins: all, ends }: Changes,
): Promise<number> {
  const begins = all.slice(0, BEGINS_MAX);
  const reported = ends.filter(({ isReported }) => isReported);
  const { rows } = await client.query<{ messageId: string | null; hasRoom: boolean }>({
    ...FIND_UNSENT,
    values: [subscriptionId, WAITING_MAX],
  });
  const [{ messageId: unsent, hasRoom } = { messageId: null, hasRoom: false }] = rows;
  const isReported = begins.length + reported.length > 0;
  if (isReported && unsent === null && !hasRoom) return 0;
  const messageId = isReported ? (unsent ?? randomUUID()) : null;
  if (messageId !== null && unsent === null) {
    const message = {
      message_id: messageId,
      subscription_id: subscriptionId,
      occasion: `alerts:${messageId}`,
    };
    await client.query({ ...QUEUE, values: [JSON.stringify([message])] });
  }
  const began = begins.map(({ clientCode, propertyCode, condition, subject, detail }) => ({
    client_code: clientCode,
    property_code: propertyCode,
    condition,
    subject,
    detail,
  }));
  const ids = (of: Changes["ends"]) => of.map(({ alertId }) => alertId);
  await client.query({
    ...CHANGE_ALERTS,
    values: [subscriptionId, messageId, JSON.stringify(began), ids(ends), ids(reported)],
  });
  return messageId === null || unsent !== null ? 0 : 1;
}
