import { randomUUID } from "node:crypto";
import type pg from "pg";
import { demand, isWhole } from "../identity/admin.ts";
import { recordAudit } from "../identity/audit.ts";
import { Scope } from "../identity/scope.ts";
import type { Row } from "../platform/db/row.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type Queryable, withTransaction } from "../platform/db/transaction.ts";
import { ConflictError, NotFoundError } from "../platform/errors/operator-error.ts";
import { isUuid } from "../platform/http/position.ts";
import { countText } from "../platform/runtime/amounts.ts";
import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import { settingsOfClients } from "../settings/property-settings.ts";
import type { AlertCondition, ListedSubscription, MessageItem, SubscriptionItem } from "./console-answers.ts";
import { isLocalTime, nextDue } from "./schedule.ts";

const LIST = readStatement(new URL("./sql/list-subscriptions.sql", import.meta.url));
const LIST_MESSAGES = readStatement(new URL("./sql/list-subscription-messages.sql", import.meta.url));
/** Locks the operator, so that two concurrent subscriptions do not exceed its limit. */
const READ_OPERATOR = namedStatement(
  "read-subscribing-operator",
  `select grants, (select count(*)::integer from bellhop.subscription where operator_name = $1) as own,
    (select count(*)::integer from bellhop.subscription) as all
  from bellhop.operator where name = $1 for no key update`,
);
const INSERT = namedStatement(
  "insert-subscription",
  `insert into bellhop.subscription
    (subscription_id, operator_name, kind, client_code, property_code, local_time, nights, conditions, pickup_rooms)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
);
const PAUSE = namedStatement(
  "pause-subscription",
  `update bellhop.subscription set paused_at = clock_timestamp(), paused_by = $2
  where subscription_id = $1 and paused_at is null`,
);
/** Forgets open alerts: conditions that still hold begin anew, because what happened meanwhile was not reported. */
const RESUME = namedStatement(
  "resume-subscription",
  `with closed as (
    update bellhop.alert set ended_at = clock_timestamp() where subscription_id = $1 and ended_at is null
  )
  update bellhop.subscription set paused_at = null, paused_by = null, active_from = clock_timestamp()
  where subscription_id = $1 and paused_at is not null`,
);
const REMOVE = namedStatement(
  "remove-subscription",
  `delete from bellhop.subscription where subscription_id = $1`,
);
/** Queues a test, unless $3 were queued within an hour. */
const QUEUE_TEST = namedStatement(
  "queue-subscription-test",
  `insert into bellhop.subscription_message (message_id, subscription_id, occasion)
  select $1::uuid, $2::uuid, 'test:' || $1::uuid::text
  where (
    select count(*) from bellhop.subscription_message
    where subscription_id = $2::uuid and occasion like 'test:%' and created_at > clock_timestamp() - interval '1 hour'
  ) < $3`,
);

export const ALERT_CONDITIONS = [
  "silent",
  "quarantine",
  "variance",
  "unmapped",
  "pickup",
] as const satisfies readonly AlertCondition[];

export const NIGHTS_DEFAULT = 30;
const NIGHTS_MAX = 365;
const PICKUP_ROOMS_MAX = 10_000;
const OF_OPERATOR_MAX = 20;
/** Each is planned every minute. */
const SUBSCRIPTIONS_MAX = 2_000;
const TESTS_PER_HOUR = 10;
const MESSAGES_LISTED_MAX = 100;

const NO_SUBSCRIPTION = "No subscription has this id.";

/** A subscription with what decides what its operator may see. */
export type Subscription = Row<SubscriptionItem> & {
  readonly grants: readonly string[];
  /** Times that were due before are not sent. */
  readonly activeFrom: Date;
};

/** Which subscriptions to list; omitted: any. */
export interface SubscriptionFilter {
  readonly operators?: readonly string[] | undefined;
  readonly subscriptionId?: string | undefined;
}

const filterValues = ({ operators, subscriptionId }: SubscriptionFilter) => [
  operators ?? null,
  subscriptionId ?? null,
];

export async function listSubscriptions(
  on: Queryable,
  filter: SubscriptionFilter = {},
): Promise<Subscription[]> {
  return (await on.query<Subscription>({ ...LIST, values: [...filterValues(filter), SUBSCRIPTIONS_MAX] }))
    .rows;
}

/** The subscription with this id, if it is one of those of the filter. Throws NotFoundError. */
export async function findSubscription(
  on: Queryable,
  subscriptionId: string,
  filter: Omit<SubscriptionFilter, "subscriptionId"> = {},
): Promise<Subscription> {
  const [found] = isUuid(subscriptionId) ? await listSubscriptions(on, { ...filter, subscriptionId }) : [];
  if (found === undefined) throw new NotFoundError(NO_SUBSCRIPTION);
  return found;
}

/** The newest 100 messages. */
export async function listMessages(on: Queryable, filter: SubscriptionFilter): Promise<Row<MessageItem>[]> {
  const values = [...filterValues(filter), MESSAGES_LISTED_MAX];
  return (await on.query<Row<MessageItem>>({ ...LIST_MESSAGES, values })).rows;
}

type Listed = Omit<Row<ListedSubscription>, "nextAt"> & { readonly nextAt: Date | null };

/** Adds the time zones of reports and when they are due next. */
export async function withDueTimes(
  on: Queryable,
  subscriptions: readonly Subscription[],
  now: Date,
): Promise<Listed[]> {
  const codes = [
    ...new Set(subscriptions.flatMap((one) => (one.kind === "report" ? [one.clientCode ?? ""] : []))),
  ];
  const settings = await settingsOfClients(on, codes);
  const pauses = new WorkPauses();
  const listed: Listed[] = [];
  for (const { grants: _grants, activeFrom: _from, ...one } of subscriptions) {
    if (pauses.isDue) await pauses.pause();
    const timeZone =
      one.kind === "report"
        ? (settings.get(one.clientCode ?? "")?.of(one.propertyCode).timeZone ?? null)
        : null;
    const isDue = timeZone !== null && one.pausedAt === null && !one.isOperatorDisabled;
    const nextAt = isDue ? nextDue(now, one.localTime ?? "", timeZone).at : null;
    listed.push({ ...one, timeZone, nextAt });
  }
  return listed;
}

/** What to subscribe to, as typed. */
export interface SubscriptionInput {
  readonly kind: string;
  readonly clientCode?: string | undefined;
  readonly propertyCode?: string | undefined;
  readonly localTime?: string | undefined;
  readonly nights?: number | undefined;
  readonly conditions?: readonly string[] | undefined;
  readonly pickupRooms?: number | undefined;
}

type CheckedInput = Pick<
  SubscriptionItem,
  "kind" | "clientCode" | "propertyCode" | "localTime" | "nights" | "conditions" | "pickupRooms"
>;

function checkReport({ localTime, nights = NIGHTS_DEFAULT, ...input }: SubscriptionInput): CheckedInput {
  const { clientCode, propertyCode } = input;
  demand(clientCode !== undefined && propertyCode !== undefined, "A report is of one property: name it.");
  demand(localTime !== undefined && isLocalTime(localTime), "localTime must be HH:MM, such as 07:00.");
  demand(isWhole(nights, 1, NIGHTS_MAX), `nights must be 1 to ${NIGHTS_MAX}.`);
  demand(
    input.conditions === undefined && input.pickupRooms === undefined,
    "Only alerts have conditions and pickupRooms.",
  );
  return { kind: "report", clientCode, propertyCode, localTime, nights, conditions: [], pickupRooms: null };
}

function checkAlerts(input: SubscriptionInput): CheckedInput {
  const { clientCode = null, propertyCode = null, conditions = [], pickupRooms = null } = input;
  demand(propertyCode === null || clientCode !== null, "A property needs its client code.");
  demand(
    input.localTime === undefined && input.nights === undefined,
    "Only reports have localTime and nights: an alert is sent when its condition begins.",
  );
  const known = ALERT_CONDITIONS.filter((condition) => conditions.includes(condition));
  demand(
    known.length > 0 && conditions.every((one) => ALERT_CONDITIONS.some((condition) => condition === one)),
    `conditions must be some of ${ALERT_CONDITIONS.join(", ")}.`,
  );
  const hasPickup = known.includes("pickup");
  demand(
    hasPickup ? pickupRooms !== null && isWhole(pickupRooms, 1, PICKUP_ROOMS_MAX) : pickupRooms === null,
    hasPickup
      ? `The alert pickup needs pickupRooms, 1 to ${PICKUP_ROOMS_MAX}.`
      : "Only the alert pickup has pickupRooms.",
  );
  return {
    kind: "alerts",
    clientCode,
    propertyCode,
    localTime: null,
    nights: null,
    conditions: known,
    pickupRooms,
  };
}

function checkInput(input: SubscriptionInput): CheckedInput {
  demand(input.kind === "report" || input.kind === "alerts", "kind must be report or alerts.");
  return input.kind === "report" ? checkReport(input) : checkAlerts(input);
}

/** The properties that a subscription is about, `every` for all of its operator's. */
export const placeOf = (
  { clientCode, propertyCode }: Pick<SubscriptionItem, "clientCode" | "propertyCode">,
  every: string,
): string => (clientCode === null ? every : `${clientCode}/${propertyCode ?? "*"}`);

/** Whether an operator with the scope may see some of the properties that a subscription is about. */
export function isWithin(
  scope: Scope,
  { clientCode, propertyCode }: Pick<SubscriptionItem, "clientCode" | "propertyCode">,
): boolean {
  if (clientCode === null) return true;
  return propertyCode === null ? scope.touches(clientCode) : scope.permits(clientCode, propertyCode);
}

/** The database and the actor for the audit. */
interface SubscriptionAdmin {
  readonly pool: pg.Pool;
  readonly who: string;
}

/** Subscribes an operator; returns the subscription's id. Throws InputError, ConflictError, NotFoundError. */
export async function addSubscription(
  { pool, who }: SubscriptionAdmin,
  operator: string,
  input: SubscriptionInput,
): Promise<string> {
  const checked = checkInput(input);
  const subscriptionId = randomUUID();
  await withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ grants: string[]; own: number; all: number }>({
      ...READ_OPERATOR,
      values: [operator],
    });
    const [found] = rows;
    if (found === undefined)
      throw new NotFoundError(
        `No operator is named ${JSON.stringify(operator)} (see bellhop operator list).`,
      );
    if (!isWithin(new Scope(found.grants), checked)) throw new NotFoundError("No property has these codes.");
    if (found.own >= OF_OPERATOR_MAX)
      throw new ConflictError(
        `An operator has at most ${countText(OF_OPERATOR_MAX, "subscription")}: remove one first.`,
      );
    if (found.all >= SUBSCRIPTIONS_MAX)
      throw new ConflictError(`All operators together have at most ${SUBSCRIPTIONS_MAX} subscriptions.`);
    const { kind, clientCode, propertyCode, localTime, nights, conditions, pickupRooms } = checked;
    const values = [
      subscriptionId,
      operator,
      kind,
      clientCode,
      propertyCode,
      localTime,
      nights,
      conditions,
      pickupRooms,
    ];
    await client.query({ ...INSERT, values });
    await recordAudit(client, {
      who,
      what: "create-subscription",
      detail: { operator, subscriptionId, ...checked },
    });
  });
  return subscriptionId;
}

type Known = Pick<Subscription, "subscriptionId" | "operator" | "kind">;

/** Changes a subscription, with its audit entry. Returns whether anything changed. */
async function change(
  { pool, who }: SubscriptionAdmin,
  { subscriptionId, operator, kind }: Known,
  what: string,
  statement: typeof PAUSE,
  ...values: readonly unknown[]
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const { rowCount } = await client.query({ ...statement, values: [subscriptionId, ...values] });
    if (rowCount === 0) return false;
    await recordAudit(client, { who, what, detail: { operator, subscriptionId, kind } });
    return true;
  });
}

/** Pauses a subscription: nothing is planned, and what waits is dropped when it is due. */
export const pauseSubscription = (admin: SubscriptionAdmin, subscription: Known): Promise<boolean> =>
  change(admin, subscription, "pause-subscription", PAUSE, admin.who);

export const resumeSubscription = (admin: SubscriptionAdmin, subscription: Known): Promise<boolean> =>
  change(admin, subscription, "resume-subscription", RESUME);

/** Removes a subscription with its messages and alerts. */
export const removeSubscription = (admin: SubscriptionAdmin, subscription: Known): Promise<boolean> =>
  change(admin, subscription, "remove-subscription", REMOVE);

/** Queues a message with the current content, also of a paused subscription. Throws ConflictError beyond ten an hour. */
export async function queueTest(on: Queryable, { subscriptionId }: Known): Promise<string> {
  const messageId = randomUUID();
  const { rowCount } = await on.query({ ...QUEUE_TEST, values: [messageId, subscriptionId, TESTS_PER_HOUR] });
  if (rowCount === 1) return messageId;
  throw new ConflictError(`A subscription sends at most ${TESTS_PER_HOUR} tests an hour.`);
}
