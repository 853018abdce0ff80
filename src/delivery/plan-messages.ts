import { randomUUID } from "node:crypto";
import type pg from "pg";
import { isWithinKeys, Scope } from "../identity/scope.ts";
import type { PortfolioItem } from "../insight/console/answers.ts";
import { answerPortfolio } from "../insight/console/portfolio.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { withTransaction } from "../platform/db/transaction.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
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

/** Client codes within $1 (`Scope.keys`), those with the fewest properties first. */
const COUNT_PROPERTIES = namedStatement(
  "count-properties-of-codes",
  `select client_code as "clientCode", count(*)::integer as properties from bellhop.property as property
  where ${isWithinKeys("$1")} group by client_code order by properties, client_code`,
);

/** One node plans at a time: an older view of the portfolio must not end what a newer one began. */
const PLANNING_LOCK = 7_302_051;
/** The range of the console's portfolio, so that an alert and that page agree. */
const ALERT_NIGHTS = 30;
const EVERY_PROPERTY = {
  search: undefined,
  city: undefined,
  attention: undefined,
  sort: "name",
  isDescending: false,
} as const;
/** Properties of one answer of the portfolio, and how many are asked for: 100,000 properties. */
const PORTFOLIO_MAX = 5_000;
const PORTFOLIOS_MAX = 20;
/** Reading the portfolio takes seconds, in which the transaction is idle. */
const IDLE_MS_MAX = 120_000;
/** While so many messages of a subscription wait, its conditions are not compared, so that none is lost. */
const WAITING_MAX = 20;
/** So many messages of alerts a day are not spaced; each further one waits a minute longer, so that what comes and goes is no storm. */
const UNSPACED_MAX = 5;
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
    await client.query(`set local idle_in_transaction_session_timeout = ${IDLE_MS_MAX}`);
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
  const pauses = new WorkPauses();
  let queued = 0;
  for (const subscription of subscriptions) {
    if (pauses.isDue) await pauses.pause();
    const changes = changesOf(subscription, portfolio, open.get(subscription.subscriptionId) ?? []);
    if (changes.begins.length + changes.ends.length > 0)
      queued += await recordChanges(client, subscription, changes);
  }
  return queued;
}

/** Client codes in groups that have at most PORTFOLIO_MAX properties together, or are one. */
function groupsOf(
  counted: readonly { readonly clientCode: string; readonly properties: number }[],
): string[][] {
  const groups: string[][] = [];
  let room = 0;
  for (const { clientCode, properties } of counted) {
    if (properties > room) {
      groups.push([]);
      room = PORTFOLIO_MAX;
    }
    groups.at(-1)?.push(clientCode);
    room -= properties;
  }
  return groups;
}

/** The properties of all subscriptions, each read once; large client codes last, so that none displaces the properties of others. */
async function readPortfolioOf(
  pool: pg.Pool,
  subscriptions: readonly Subscription[],
): Promise<readonly PortfolioItem[]> {
  const within = new Scope([...new Set(subscriptions.flatMap((one) => one.grants))]);
  const { rows } = await pool.query<{ clientCode: string; properties: number }>({
    ...COUNT_PROPERTIES,
    values: [within.keys],
  });
  const all: PortfolioItem[] = [];
  for (const clientCodes of groupsOf(rows).slice(0, PORTFOLIOS_MAX)) {
    const question = { within, clientCodes, nights: ALERT_NIGHTS, ...EVERY_PROPERTY } as const;
    const { items } = await answerPortfolio(pool, question, 0, PORTFOLIO_MAX);
    // Alerts do not use the nights, which are the most of an item.
    for (const item of items) all.push({ ...item, rooms: null, roomsLastYear: null });
  }
  return all;
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
    values: [subscriptionId, WAITING_MAX, UNSPACED_MAX],
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
