/** The answers of the console API (`/console/api`), shared with the console. Times are ISO 8601 UTC, dates YYYY-MM-DD. */
// Types only, from modules without Node: the console compiles them for the browser.
import type { Resource } from "#contract/resource.ts";
import type { Grant } from "../identity/permissions.ts";
import type { Permission, Role } from "../identity/roles.ts";
import type { Outcome } from "../query/outcome.ts";
import type {
  Backfill,
  BackfillItem,
  BackfillResourceProgress,
  BackfillSignature,
  CertificationReport,
  RecordOutcome,
  RequestSummary,
  Warning,
  WebhookAttempt,
  WebhookDeadLetter,
  WebhookEndpoint,
  WebhookSecret,
} from "./api-types.ts";

/** An item as a database row, with Date values, which JSON serializes as strings. */
export type Row<Item> = {
  readonly [Key in keyof Item]: Key extends `${string}At` | `${string}Since`
    ? Date | Extract<Item[Key], null>
    : Item[Key];
};

export type { Grant, Outcome, Permission, Resource, Role };

export interface ErrorAnswer {
  readonly timestamp: string;
  readonly status: number;
  readonly error: string;
  /** A stable code, such as `bellhop.console.NotLoggedIn`. */
  readonly exception: string;
  readonly message: string;
}

interface OfClient {
  readonly clientId: string;
  /** Null if no client has this id. */
  readonly clientName: string | null;
}

/** A page may be empty and still have a next one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export interface SessionAnswer {
  /** Null if nobody is logged in. */
  readonly operator: {
    readonly name: string;
    readonly role: Role;
    readonly permissions: readonly Permission[];
    /** `CLIENTCODE/PROPERTYCODE`, `CLIENTCODE/*`, or a grant for everything. */
    readonly grants: readonly string[];
    /** False: logs in only at the OpenID Connect provider. */
    readonly hasPassword: boolean;
    /** Whether a login with the password requires a code of an authenticator app. */
    readonly hasTotp: boolean;
  } | null;
  /** Null if no OpenID Connect provider is configured. */
  readonly singleSignOn: { readonly host: string } | null;
  /** Sent with every POST; null without a session. Changes with each login. */
  readonly csrfToken: string | null;
  /** Idle sessions end sooner. */
  readonly expiresAt: string | null;
  /** Seconds without a request after which the session ends. */
  readonly idleSeconds: number;
  /** False: nobody can log in yet. */
  readonly hasOperators: boolean;
  readonly version: string;
}

export type Rates = Readonly<Record<"batches" | "records", number>>;

/** A minute, or a quarter of an hour for a day. */
export interface IntakeMinute {
  /** Start time. */
  readonly minute: string;
  /** Null if not counted yet. */
  readonly resources: Readonly<Record<Resource, Rates>> | null;
}

export type IntakeRange = "hour" | "day";

/** Outcomes of applied records; `records` is the total. */
export type IntakeOutcomes = Readonly<Record<"records" | "rejected" | "quarantined" | "warned", number>>;

export interface IntakeAnswer {
  readonly now: string;
  /**
   * The last hour by minute, or the last day by quarter of an hour, oldest first. The last entry is still growing. A day counts applied
   * records.
   */
  readonly minutes: readonly IntakeMinute[];
  /** In these minutes. */
  readonly outcomes: IntakeOutcomes;
  readonly lag: {
    /** The age of the oldest unapplied batch; 0 if every batch is applied. */
    readonly seconds: number;
    readonly oldestReceivedAt: string | null;
    /** Unapplied batch parts, counted up to `waitingMax`. */
    readonly waiting: number;
    readonly waitingMax: number;
  };
  /** Records in quarantine; counted up to 10,000. */
  readonly quarantined: number;
  /** The newest 20 batches, newest first. */
  readonly lastBatches: readonly RequestItem[];
}

/** `records` is the sum of all others except `warned`. */
export type RequestCounts = RequestSummary["counts"];

export interface RequestItem extends RequestSummary, OfClient {}

/** A warning or violation. `pointer` is an RFC 6901 JSON pointer into the batch: `/3/roomStays/0/arrivalDate`. */
export type RecordNotice = Warning;

export interface RecordItem extends Omit<RecordOutcome, "outcome"> {
  /** `pending`: not applied yet. */
  readonly outcome: Outcome | "pending";
}

export interface RequestAnswer extends RequestItem {
  readonly records: readonly RecordItem[];
  readonly nextCursor: string | null;
}

export interface RecordAnswer {
  readonly requestId: string;
  readonly resource: Resource;
  readonly receivedAt: string;
  readonly record: RecordItem;
  readonly payload: Payload;
  /** What Bellhop reads of it, by the notes of the record schema. */
  readonly fields: readonly RecordField[];
}

export interface RecordField {
  /** `roomStays[0].rateCode` */
  readonly path: string;
  readonly value: string;
  readonly description: string;
}

/** A record verbatim, as text, so that no number changes. */
export interface Payload {
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

export interface PropertyCodes {
  readonly clientCode: string;
  readonly propertyCode: string;
}

/** One feed of a property in a list of properties; the insight `feed-health` has the details. */
export interface FeedGlance {
  readonly resource: Resource;
  readonly lastReceivedAt: string | null;
  /** `silent`: the last batch is older than the expected cadence; `never`: no batch was ever received. */
  readonly state: "ok" | "silent" | "never";
  /** Expected hours between batches; null if none are expected, so the feed is never silent. */
  readonly cadenceHours: number | null;
}

/** Why a property needs attention: a silent feed, records in quarantine, nights that do not reconcile, rooms in unmapped statuses. */
export type Attention = "silent" | "quarantine" | "variance" | "unmapped";

/** Net room revenue in one currency, with ADR and RevPAR. Null if revenue, rooms or capacity are unknown. */
export interface PortfolioAmounts {
  readonly currency: string | null;
  readonly roomRevenue: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  /** Revenue without a room night by cause (docs/figures.md); in none of the others. Null: none. */
  readonly dayUseRevenue: string | null;
  readonly feeRevenue: string | null;
  readonly outsideStayRevenue: string | null;
}

export interface PortfolioPickup {
  readonly rooms: number;
  readonly amounts: readonly { readonly currency: string | null; readonly roomRevenue: string }[];
}

/** Sums over nights of a property, as in the insights on-the-books and pickup. */
export interface PortfolioFigures {
  readonly rooms: number;
  /** Of the nights with a reported capacity; null if there are none. */
  readonly occupancy: string | null;
  readonly amounts: readonly PortfolioAmounts[];
  /** Since the end of yesterday's business day, and of the business day seven days ago. */
  readonly pickup: Readonly<Record<"day" | "week", PortfolioPickup>>;
}

export interface PortfolioItem extends PropertyCodes {
  readonly name: string | null;
  readonly city: string | null;
  /** When the figures were computed, and their first business day; null if not computed yet. */
  readonly asOf: string | null;
  readonly day: string | null;
  /** The zone of the business day. */
  readonly timeZone: string | null;
  /** The instants after which pickup counts. */
  readonly pickupSince: Readonly<Record<"day" | "week", string>> | null;
  /** The instant that last year's figures are as of, and the first night of last year that is known. */
  readonly lastYearAsOf: string | null;
  readonly lastYearKnownFrom: string | null;
  readonly feeds: readonly FeedGlance[];
  /** Records in quarantine, counted up to 1,000 per property. */
  readonly quarantined: number;
  readonly attention: readonly Attention[];
  readonly now: PortfolioFigures | null;
  /** The same weekdays 364 days earlier, as known then; null unless all of them were. */
  readonly lastYear: PortfolioFigures | null;
  /** Nights on which inventory and reservations differ, and the total difference in rooms. */
  readonly variance: { readonly nights: number; readonly rooms: number } | null;
  /** Rooms on the books for the next 90 nights. */
  readonly rooms: readonly number[] | null;
  /** Null for a night that is not known. */
  readonly roomsLastYear: readonly (number | null)[] | null;
}

/**
 * Totals of the properties that sell in a currency, or have it as their own while nothing is booked; last year's include only properties
 * for which it is known. Rooms, occupancy and RevPAR include only properties with this main currency, so no room counts twice.
 */
export interface PortfolioTotal {
  readonly currency: string | null;
  readonly properties: number;
  readonly now: PortfolioFigures;
  readonly lastYear: PortfolioFigures | null;
  readonly lastYearProperties: number;
}

export type PortfolioSort =
  | "name"
  | "occupancy"
  | "rooms"
  | "revenue"
  | "adr"
  | "revpar"
  | "pickupDay"
  | "pickupWeek"
  | "change"
  | "variance";

export interface PortfolioAnswer extends Page<PortfolioItem> {
  /** The number of nights, from today, that the figures cover. */
  readonly nights: number;
  /** Of all matching properties, not only this page. */
  readonly totals: readonly PortfolioTotal[];
  readonly properties: number;
  /** Whether there are more properties than a portfolio can have. */
  readonly isCut: boolean;
  readonly cities: readonly string[];
}

/** Client codes that have properties, in order; at most 1,000. */
export interface ClientCodesAnswer {
  readonly items: readonly { readonly clientCode: string; readonly properties: number }[];
}

/** Warnings in the navigation: records in quarantine, counted up to 10,000, and properties with a silent feed. */
export interface AttentionAnswer {
  readonly quarantined: number;
  readonly silent: number;
}

export interface FoundProperty extends PropertyCodes {
  readonly name: string | null;
  readonly city: string | null;
}

/** The current version of a reservation or group. */
export interface FoundRecord extends PropertyCodes {
  readonly resource: Resource;
  readonly key: string;
}

/** The best few matches of each kind that the operator may see. */
export interface SearchAnswer {
  readonly properties: readonly FoundProperty[];
  /** The number of matches. */
  readonly propertyTotal: number;
  readonly clients: readonly { readonly clientId: string; readonly name: string }[];
  /** By prefix of the id. */
  readonly requests: readonly RequestItem[];
  /** By exact id. */
  readonly records: readonly FoundRecord[];
}

export interface CalendarNight {
  readonly date: string;
  /** `missing`: no inventory, between the first and the last reported night; `outside`: before or after those. */
  readonly inventory: "reported" | "missing" | "outside";
  readonly receivedAt: string | null;
  readonly sourceTime: string | null;
}

export interface Calendar {
  /** The first and last night with inventory; null if there are none. */
  readonly firstNight: string | null;
  readonly lastNight: string | null;
  readonly nights: readonly CalendarNight[];
}

export interface CalendarAnswer extends PropertyCodes, Calendar {
  readonly from: string;
  readonly to: string;
}

/** A version of a record and its changes. */
export interface VersionItem {
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly requestId: string;
  readonly index: number;
  readonly outcome: Outcome;
  readonly status: string | null;
  /** Received after a version with a newer source time. */
  readonly late: boolean;
  /** Differences from the previous version by source time; empty for the first. At most 200 of `changeTotal`. */
  readonly changes: readonly JsonChange[];
  /** Null if not compared: one is larger than 256 kB, has more than 16,384 values, or is no longer retained. */
  readonly changeTotal: number | null;
  /** Null if no longer retained (docs/retention.md). */
  readonly payload: Payload | null;
}

/** A difference; values are JSON verbatim (`"OTB"` with its quotes, 120.50), null if absent, truncated with an ellipsis beyond 8,200 characters. */
export interface JsonChange {
  /** RFC 6901 pointer into the record: `/roomStays/0/departureDate`. */
  readonly pointer: string;
  /** The pointer in readable form: list entries by night and room type, otherwise counted from 1. */
  readonly path: readonly string[];
  readonly before: string | null;
  readonly after: string | null;
}

export interface QuarantineItem {
  readonly requestId: string;
  readonly index: number;
  /** Null if the record could not be read. */
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly resource: Resource;
  readonly key: string;
  readonly code: string;
  readonly message: string;
  readonly receivedAt: string;
  readonly state: "quarantined" | "released" | "discarded";
  readonly resolvedAt: string | null;
}

export interface QuarantineAnswer extends QuarantineItem {
  readonly clientId: string;
  readonly payload: Payload;
  /** Preview of a release; null if the record is resolved or cannot be read. */
  readonly release: {
    readonly sourceTime: string;
    /** Source time of the current version; null if there is none. */
    readonly currentSourceTime: string | null;
    /** From the current version to the quarantined record; at most 200 of `changeTotal` and 65,536 characters. Null if one is too large to compare. */
    readonly changes: readonly JsonChange[] | null;
    readonly changeTotal: number;
  } | null;
}

/** Records quarantined for one reason. Only the oldest 10,000 quarantined records are counted. */
export interface QuarantineGroup {
  readonly code: string;
  readonly records: number;
  readonly oldestReceivedAt: string;
  /** The first 20 of `propertyTotal`, by descending number of records. */
  readonly properties: readonly (PropertyCodes & { readonly records: number })[];
  readonly propertyTotal: number;
}

export interface QuarantinePageAnswer extends Page<QuarantineItem> {
  /** Of all pages and reasons, by descending number of records. */
  readonly groups: readonly QuarantineGroup[];
}

/** `failure` is null if the decision is stored; it takes effect within moments. */
export interface ResolvedRecord {
  /** Request id, slash and index. */
  readonly record: string;
  readonly entryId: string | null;
  readonly failure: string | null;
}

export interface ResolveAnswer {
  readonly records: readonly ResolvedRecord[];
}

/** Null follows the configuration. */
export interface ClientLimits {
  readonly requestRate: number | null;
  readonly requestBurst: number | null;
  readonly tokenBurst: number | null;
}

export interface ClientItem extends ClientLimits {
  readonly clientId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: string;
  /** Not null: revoked permanently. */
  readonly revokedAt: string | null;
  /** To the minute. */
  readonly lastUsedAt: string | null;
  readonly grantTotal: number;
}

export interface ClientOptionsAnswer {
  readonly knownScopes: readonly string[];
  /** The scopes of a new client, and the limits that replace null. */
  readonly defaults: {
    readonly scopes: readonly string[];
    readonly requestRate: number;
    readonly requestBurst: number;
    readonly tokenBurst: number;
  };
}

export interface ClientAnswer extends ClientItem, ClientOptionsAnswer {
  /** The first 1,000 of `grantTotal`. */
  readonly grants: readonly Grant[];
  readonly replyToOrigins: readonly string[];
  readonly secrets: readonly SecretItem[];
}

export interface SecretItem {
  readonly slot: number;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly lastUsedAt: string | null;
  readonly live: boolean;
}

/** The only answer with the secret. */
export interface CreateClientAnswer {
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The only answer with the secret. */
export interface RotateSecretAnswer extends CreateClientAnswer {
  readonly previousExpiresAt: string | null;
  /** A third, older secret that was ended: a client has at most two. */
  readonly endedCreatedAt: string | null;
}

export type SettingName =
  | "name"
  | "city"
  | "occupancyBase"
  | "timeZone"
  | "businessDayEnd"
  | "weekend"
  | "currency"
  | "groupHierarchy"
  | "personalData"
  | "negativeCounts"
  | "cadence.inventories"
  | "cadence.reservations"
  | "cadence.groups";

export interface SettingItem {
  readonly name: SettingName;
  /** The effective value as text: "capacity", "Europe/Lisbon", "04:00", "EUR", "24". */
  readonly value: string | null;
  readonly from: "property" | "client" | "default";
}

export interface SettingsAnswer {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  /** Increased by every change of the client code's settings and status mappings. */
  readonly settingsVersion: number;
  /** The current business day, by these settings. */
  readonly businessDay: string;
  readonly settings: readonly SettingItem[];
}

export interface StatusItem {
  readonly resource: "reservations" | "groups";
  readonly status: string;
  readonly records: number;
  /** The standard status of the default mapping; null if it has none. */
  readonly canonical: string | null;
  /** Whether its rooms are on the books. */
  readonly deducts: boolean;
  readonly by: "mapping" | "default" | "unmapped";
}

/** A page of the statuses in use or mapped, by resource and status. A change returns the first 100. */
export interface StatusesAnswer extends Page<StatusItem> {
  readonly clientCode: string;
  /** Totals of all pages. */
  readonly unmapped: { readonly statuses: number; readonly records: number };
}

/** Preview of a changed status mapping. */
export interface MappingForesightAnswer {
  /** Current records in the status; at most 10,000. */
  readonly records: number;
  readonly properties: number;
  /** Nights between the first and last date of those records, counted once per property. */
  readonly nights: number;
  /** Whether there are more records than counted. */
  readonly isCut: boolean;
}

/** The secret of an authenticator app; `uri` is for a QR code. */
export interface TotpAnswer {
  readonly secret: string;
  readonly uri: string;
}

/** The only answer with the recovery codes; each replaces a code once. */
export interface TotpConfirmedAnswer {
  readonly recoveryCodes: readonly string[];
}

export interface OperatorItem {
  readonly name: string;
  readonly role: Role;
  readonly grants: readonly string[];
  readonly email: string | null;
  /** Whether the account with this email has logged in; another account with it is rejected. */
  readonly isBound: boolean;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly createdAt: string;
  readonly lastLoginAt: string | null;
  /** Not null: cannot log in. */
  readonly disabledAt: string | null;
}

/** The operators whose grants are within the requesting operator's, by name. */
export interface OperatorsAnswer {
  readonly items: readonly OperatorItem[];
  /** All roles in ascending order. */
  readonly roles: readonly Role[];
}

/** The only answer with the password; null if the operator logs in only at the OpenID Connect provider. */
export interface OperatorPasswordAnswer {
  readonly name: string;
  readonly password: string | null;
}

export interface AuditItem {
  readonly auditId: string;
  readonly occurredAt: string;
  /** `console:<operator>`, `cli:<user>`, `client:<client id>`, `service`. */
  readonly who: string;
  /** The console operator's role at the time; null for other actors. */
  readonly role: Role | null;
  /** An action name: `rotate-secret`. */
  readonly what: string;
  readonly clientId: string | null;
  /** Null if no client has this id. */
  readonly clientName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A certification of a client's integration, with the property of its instructions. */
export interface CertificationItem extends PropertyCodes {
  readonly certificationId: string;
  readonly clientId: string;
  readonly clientName: string;
  /** The resources that the client may push; steps for others cannot pass. */
  readonly resources: readonly Resource[];
  /** The client's limits while it is open. */
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenSeconds: number;
  readonly openedAt: string;
  readonly openedBy: string;
  /** When it was ended or will end automatically. */
  readonly endsAt: string;
  readonly isOpen: boolean;
}

/** `docs`: the documentation page below `/docs/`. */
export type CertificationStep = CertificationReport["steps"][number] & { readonly docs: string };

/** A certification with its report on requests from `evidence.from` on. */
export interface CertificationAnswer
  extends CertificationItem,
    Pick<CertificationReport, "verdict" | "observed" | "evidence"> {
  readonly steps: readonly CertificationStep[];
}

export type { BackfillResourceProgress as BackfillResource, BackfillSignature };

export interface BackfillListItem extends BackfillItem, OfClient {
  readonly signatures: readonly BackfillSignature[];
}

export interface BackfillAnswer extends Backfill, OfClient {
  readonly abandonedBy: string | null;
  readonly abandonedWhy: string | null;
  /**
   * For a closed one: whether the log reproduces the signed statement; null without a statement, or if retention may account for a
   * difference.
   */
  readonly reproduced: boolean | null;
}

export type BackfillGap =
  | {
      readonly kind: "records-short";
      readonly resource: Resource;
      readonly expected: number;
      readonly distinct: number;
      readonly missing: number;
    }
  | { readonly kind: "date-missing"; readonly resource: Resource; readonly date: string }
  | {
      readonly kind: "record-failed";
      readonly resource: Resource;
      readonly requestId: string;
      readonly index: number;
      readonly key: string | null;
      readonly outcome: "rejected" | "quarantined" | "discarded";
      readonly code: string | null;
      readonly message: string | null;
      readonly mended: boolean;
    };

/** `reply-to`: an origin from ReplyTo headers. `waiting`: 10,001 means more than 10,000. */
export interface WebhookItem extends Omit<WebhookEndpoint, "pausedBy"> {
  readonly clientId: string;
  readonly clientName: string;
  readonly pausedBy: string | null;
}

/** All endpoints, oldest first, or those of a client. */
export interface WebhooksAnswer {
  readonly items: readonly WebhookItem[];
}

export interface WebhookAttemptItem extends Omit<WebhookAttempt, "webhookId"> {
  readonly attemptId: number;
  readonly messageId: string;
  readonly url: string;
  /** The start of the response. */
  readonly answer: string;
}

export interface DeadLetterItem extends Omit<WebhookDeadLetter, "webhookId"> {
  readonly messageId: string;
}

export interface WebhookAnswer extends WebhookItem {
  /** The newest 100. */
  readonly attempts: readonly WebhookAttemptItem[];
  /** The newest 100. */
  readonly newestDeadLetters: readonly DeadLetterItem[];
}

/** The only answer with the secret. */
export interface WebhookSecretAnswer extends WebhookSecret {
  readonly endpointId: string;
}
