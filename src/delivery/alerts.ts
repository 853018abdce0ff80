import { Scope } from "../identity/scope.ts";
import type { WatchedItem } from "../insight/console/portfolio.ts";
import type { AlertCondition } from "./console-answers.ts";
import type { Subscription } from "./subscription.ts";

/** What an alert says of its condition; each condition has its own fields. */
export interface AlertDetail {
  /** `silent` */
  readonly resource?: string;
  readonly lastReceivedAt?: string | null;
  readonly cadenceHours?: number | null;
  /** `quarantine` */
  readonly records?: number;
  /** `variance` */
  readonly nights?: number;
  /** `variance` and `pickup` */
  readonly rooms?: number;
  /** `pickup` */
  readonly day?: string;
  readonly threshold?: number;
}

/** A condition that holds at a property. */
export interface Fact {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly condition: AlertCondition;
  /** Distinguishes conditions of one kind: the feed, or the business day. */
  readonly subject: string;
  readonly detail: AlertDetail;
}

/** An alert that has not ended. */
export interface OpenAlert extends Omit<Fact, "detail"> {
  readonly alertId: string;
}

export interface Changes {
  readonly begins: readonly Fact[];
  /** Alerts that ended; only the reported ones are in a message. */
  readonly ends: readonly { readonly alertId: string; readonly isReported: boolean }[];
}

type Condition = Pick<Fact, "subject" | "detail">;

/** The conditions of one kind that hold at a property; undefined: not known now. */
const CONDITIONS: Readonly<
  Record<AlertCondition, (item: WatchedItem, pickupRooms: number | null) => readonly Condition[] | undefined>
> = {
  silent: ({ feeds }) =>
    feeds
      .filter(({ state }) => state === "silent")
      .map(({ resource, lastReceivedAt, cadenceHours }) => ({
        subject: resource,
        detail: { resource, lastReceivedAt, cadenceHours },
      })),
  quarantine: ({ quarantined }) =>
    quarantined === 0 ? [] : [{ subject: "", detail: { records: quarantined } }],
  variance: ({ variance }) =>
    variance === null ? undefined : variance.nights === 0 ? [] : [{ subject: "", detail: { ...variance } }],
  unmapped: ({ now, attention }) =>
    now === null ? undefined : attention.includes("unmapped") ? [{ subject: "", detail: {} }] : [],
  pickup({ now, day }, threshold) {
    if (now === null || day === null || threshold === null) return undefined;
    const { rooms } = now.pickup.day;
    return Math.abs(rooms) < threshold ? [] : [{ subject: day, detail: { rooms, day, threshold } }];
  },
};

/** Open alerts by client code, then property: a key for each of thousands of properties would take most of the time. */
const byProperty = (open: readonly OpenAlert[]) =>
  new Map(
    [...Map.groupBy(open, ({ clientCode }) => clientCode)].map(([clientCode, some]) => [
      clientCode,
      Map.groupBy(some, ({ propertyCode }) => propertyCode),
    ]),
  );

/** Whether a subscription is about a property that its operator may see now. */
export function isCovered(
  scope: Scope,
  { clientCode, propertyCode }: Pick<Subscription, "clientCode" | "propertyCode">,
  item: Pick<WatchedItem, "clientCode" | "propertyCode">,
): boolean {
  return (
    (clientCode === null || clientCode === item.clientCode) &&
    (propertyCode === null || propertyCode === item.propertyCode) &&
    scope.permits(item.clientCode, item.propertyCode)
  );
}

/**
 * What began and ended since a subscription's alerts were last compared. An alert also ends unreported: with its property's data, with the
 * operator's right to see it, and a pickup with its business day, until which it does not begin again.
 */
export function changesOf(
  subscription: Pick<Subscription, "grants" | "clientCode" | "propertyCode" | "conditions" | "pickupRooms">,
  portfolio: readonly WatchedItem[],
  open: readonly OpenAlert[],
): Changes {
  const scope = new Scope(subscription.grants);
  const before = byProperty(open);
  const covered = new Set<OpenAlert>();
  const begins: Fact[] = [];
  const ends: { alertId: string; isReported: boolean }[] = [];
  for (const item of portfolio) {
    if (!isCovered(scope, subscription, item)) continue;
    const { clientCode, propertyCode } = item;
    const own = before.get(clientCode)?.get(propertyCode) ?? [];
    for (const condition of subscription.conditions) {
      const holding = CONDITIONS[condition](item, subscription.pickupRooms);
      const alerts = own.filter((alert) => alert.condition === condition);
      for (const one of holding ?? [])
        if (!alerts.some(({ subject }) => subject === one.subject))
          begins.push({ clientCode, propertyCode, condition, ...one });
      for (const alert of alerts) {
        covered.add(alert);
        if (!goesOn(condition, alert.subject, item, holding))
          ends.push({ alertId: alert.alertId, isReported: condition !== "pickup" });
      }
    }
  }
  for (const alert of open) if (!covered.has(alert)) ends.push({ alertId: alert.alertId, isReported: false });
  return { begins, ends };
}

function goesOn(
  condition: AlertCondition,
  subject: string,
  { day }: WatchedItem,
  holding: readonly Condition[] | undefined,
): boolean {
  if (condition === "pickup") return day === null || day === subject;
  return holding === undefined || holding.some((one) => one.subject === subject);
}
