// Types only, from modules without Node: the console compiles them for the browser.

export type SubscriptionKind = "report" | "alerts";

/** What an alert can be about (docs/delivery.md). */
export type AlertCondition = "silent" | "quarantine" | "variance" | "unmapped" | "pickup";

export interface SubscriptionItem {
  readonly subscriptionId: string;
  readonly operator: string;
  /** Where it is sent; null: the operator has no e-mail address, and it is kept in the console. */
  readonly email: string | null;
  readonly isOperatorDisabled: boolean;
  readonly kind: SubscriptionKind;
  /** Null: all of the operator's properties. */
  readonly clientCode: string | null;
  /** Null: all of the client code's. */
  readonly propertyCode: string | null;
  /** Of reports: `HH:MM` in the property's time zone, and how many nights. */
  readonly localTime: string | null;
  readonly nights: number | null;
  /** Of alerts. */
  readonly conditions: readonly AlertCondition[];
  /** Net rooms of one business day at which the alert `pickup` begins. */
  readonly pickupRooms: number | null;
  readonly createdAt: string;
  readonly pausedAt: string | null;
  readonly pausedBy: string | null;
  /** Alerts that have begun and not ended. */
  readonly openAlerts: number;
}

/** The time zone of a report's property and its next due time; null while it is paused, and for alerts. */
export interface ListedSubscription extends SubscriptionItem {
  readonly timeZone: string | null;
  readonly nextAt: string | null;
}

export type MessageState = "waiting" | "sent" | "kept" | "failed" | "dropped";

export interface MessageItem {
  readonly messageId: string;
  readonly subscriptionId: string;
  readonly operator: string;
  readonly kind: SubscriptionKind;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly occasion: string;
  readonly subject: string;
  readonly state: MessageState;
  readonly attempts: number;
  readonly createdAt: string;
  readonly settledAt: string | null;
  /** Why it waits, failed or was dropped. */
  readonly result: string;
  /** Whether the console has the message itself. */
  readonly hasBody: boolean;
}

/** Subscriptions, oldest first, and the newest 100 messages: the operator's own, or those of every operator that they may manage. */
export interface SubscriptionsAnswer {
  readonly items: readonly ListedSubscription[];
  readonly messages: readonly MessageItem[];
  /** Whether a mail server is configured. */
  readonly isMailConfigured: boolean;
  /** The operator's own address. */
  readonly email: string | null;
}
