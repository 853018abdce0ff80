import { randomUUID } from "node:crypto";
import type pg from "pg";
import { Scope } from "../identity/scope.ts";
import { readWatched, type WatchedItem } from "../insight/console/portfolio.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { settingsOfClients } from "../settings/property-settings.ts";
import { type Changes, changesOf, type OpenAlert } from "./alerts.ts";
import type { AlertCondition } from "./console-answers.ts";
import { lastDue } from "./schedule.ts";
import { ALERT_CONDITIONS, listSubscriptions, type Subscription } from "./subscription.ts";

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

/** How many properties the client codes $1 (null: all) have. */
const COUNT_PROPERTIES = namedStatement(
  "count-properties-of-codes",
  `select client_code as "clientCode", count(*)::integer as properties from bellhop.property
  where $1::text[] is null or client_code = any ($1) group by client_code order by client_code`,
);

/** One node compares at a time: an older view of the properties must not end what a newer one began. */
const COMPARING_LOCK = 7_302_051;
/** The range of the console's portfolio, so that an alert and that page agree. */
const ALERT_NIGHTS = 30;
/** Properties that are read at once, and how often: 100,000 properties. */
const PROPERTIES_MAX = 5_000;
const READS_MAX = 20;
/** Comparing takes seconds, in which the transaction is idle. */
const IDLE_MS_MAX = 120_000;
/** While so many messages of a subscription wait, its conditions are not compared, so that none is lost. */
const WAITING_MAX = 20;
/** So many messages of alerts a day are not spaced; each further one waits a minute longer, so that what comes and goes is no storm. */
const UNSPACED_MAX = 5;
/** Further ones begin with the next comparison. */
const BEGINS_MAX = 1_000;

const isActive = ({ pausedAt, isOperatorDisabled }: Subscription) => pausedAt === null && !isOperatorDisabled;

/** Queues the reports that are due and the alerts that began or ended, each once. Returns the number of queued messages. */
export async function planMessages(pool: pg.Pool, now = new Date()): Promise<number> {
  const active = (await listSubscriptions(pool)).filter(isActive);
  const byKind = Map.groupBy(active, ({ kind }) => kind);
  // Queued first, because alerts may fail.
  const reports = await planReports(pool, byKind.get("report") ?? [], now);
  const alerts = byKind.get("alerts") ?? [];
  return alerts.length === 0 ? reports : reports + (await planAlerts(pool, alerts));
}

async function planReports(pool: pg.Pool, reports: readonly Subscription[], now: Date): Promise<number> {
  if (reports.length === 0) return 0;
  const codes = [...new Set(reports.map(({ clientCode }) => clientCode ?? ""))];
  const settings = await settingsOfClients(pool, codes);
  const pauses = new WorkPauses();
  const due: object[] = [];
  for (const { subscriptionId, clientCode, propertyCode, localTime, activeFrom } of reports) {
    if (pauses.isDue) await pauses.pause();
    const timeZone = settings.get(clientCode ?? "")?.of(propertyCode).timeZone ?? "UTC";
    const { date, at } = lastDue(now, localTime ?? "", timeZone);
    if (at <= activeFrom) continue;
    due.push({ message_id: randomUUID(), subscription_id: subscriptionId, occasion: `report:${date}` });
  }
  if (due.length === 0) return 0;
  return (await pool.query({ ...QUEUE, values: [JSON.stringify(due)] })).rowCount ?? 0;
}

/** Uses one connection, so that a node's messages are sent meanwhile. */
function planAlerts(pool: pg.Pool, subscriptions: readonly Subscription[]): Promise<number> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ taken: boolean }>("select pg_try_advisory_xact_lock($1) as taken", [
      COMPARING_LOCK,
    ]);
    if (rows[0]?.taken !== true) return 0;
    await client.query(`set local idle_in_transaction_session_timeout = ${IDLE_MS_MAX}`);
    return compareAll(client, subscriptions);
  });
}

async function compareAll(client: pg.ClientBase, subscriptions: readonly Subscription[]): Promise<number> {
  const properties = Map.groupBy(await readProperties(client, subscriptions), ({ clientCode }) => clientCode);
  const { rows } = await client.query<OpenAlert & { subscriptionId: string }>({
    ...READ_OPEN,
    values: [subscriptions.map(({ subscriptionId }) => subscriptionId)],
  });
  const open = Map.groupBy(rows, ({ subscriptionId }) => subscriptionId);
  const pauses = new WorkPauses();
  let queued = 0;
  for (const subscription of subscriptions) {
    if (pauses.isDue) await pauses.pause();
    const scope = new Scope(watchedOf(subscription));
    const own = [...properties].flatMap(([code, some]) => (scope.touches(code) ? some : []));
    const changes = changesOf(subscription, own, open.get(subscription.subscriptionId) ?? []);
    if (changes.begins.length + changes.ends.length > 0)
      queued += await recordChanges(client, subscription, changes);
  }
  return queued;
}

/** The grants of an operator that a subscription is about. */
function watchedOf({ grants, clientCode, propertyCode }: Subscription): readonly string[] {
  if (clientCode === null) return grants;
  const scope = new Scope(grants);
  if (propertyCode !== null)
    return scope.permits(clientCode, propertyCode) ? [`${clientCode}/${propertyCode}`] : [];
  if (scope.permitsClientCode(clientCode)) return [`${clientCode}/*`];
  return grants.filter((grant) => grant.startsWith(`${clientCode}/`));
}

interface Counted {
  readonly clientCode: string;
  readonly properties: number;
}

/** Client codes in groups that have at most PROPERTIES_MAX properties together, or are one. */
function groupsOf(counted: readonly Counted[]): Set<string>[] {
  const groups: Set<string>[] = [];
  let room = 0;
  for (const { clientCode, properties } of counted) {
    if (properties > room) {
      groups.push(new Set());
      room = PROPERTIES_MAX;
    }
    groups.at(-1)?.add(clientCode);
    room -= properties;
  }
  return groups;
}

/** Each property that a subscription is about, with what its conditions need; large client codes last, so that none displaces others. */
async function readProperties(
  on: Queryable,
  subscriptions: readonly Subscription[],
): Promise<readonly WatchedItem[]> {
  const scopeOf = (...wanting: readonly AlertCondition[]) =>
    new Scope([
      ...new Set(
        subscriptions
          .filter(({ conditions }) => conditions.some((one) => wanting.includes(one)))
          .flatMap(watchedOf),
      ),
    ]);
  const scopes = {
    feeds: scopeOf("silent"),
    quarantine: scopeOf("quarantine"),
    figures: scopeOf("variance", "unmapped", "pickup"),
  };
  const within = scopeOf(...ALERT_CONDITIONS);
  const { rows: whole } = await on.query<Counted>({
    ...COUNT_PROPERTIES,
    values: [within.isEverything ? null : within.parts.wholly],
  });
  const single = Map.groupBy(within.isEverything ? [] : within.parts.single, ({ clientCode }) => clientCode);
  const singles = [...single].map(([clientCode, { length: properties }]) => ({ clientCode, properties }));
  const counted = [...whole, ...singles].sort((one, other) => one.properties - other.properties);
  const all: WatchedItem[][] = [];
  for (const group of groupsOf(counted).slice(0, READS_MAX)) {
    const parts = {
      wholly: whole.flatMap(({ clientCode }) => (group.has(clientCode) ? [clientCode] : [])),
      single: [...group].flatMap((clientCode) => single.get(clientCode) ?? []),
    };
    all.push(await readWatched(on, parts, scopes, ALERT_NIGHTS));
  }
  return all.flat();
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
  const [found] = rows;
  // It was removed meanwhile.
  if (found === undefined) return 0;
  const { messageId: unsent, hasRoom } = found;
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
