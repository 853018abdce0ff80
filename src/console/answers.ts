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

/** An item of an answer as its row has it: JSON writes the instants as texts. */
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
  /** Null: no client has this id. */
  readonly clientName: string | null;
}

/** A page may be empty and still have a next one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}

export interface SessionAnswer {
  /** Null: nobody is logged in. */
  readonly operator: {
    readonly name: string;
    readonly role: Role;
    readonly permissions: readonly Permission[];
    /** `CLIENTCODE/PROPERTYCODE`, `CLIENTCODE/*`, or one for everything. */
    readonly grants: readonly string[];
    /** False: logs in at the OpenID Connect provider alone. */
    readonly hasPassword: boolean;
    /** Codes of an authenticator app are asked for at a login with the password. */
    readonly hasTotp: boolean;
  } | null;
  /** Null: no OpenID Connect provider is configured. */
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

/** A minute, or of a day a quarter of an hour. */
export interface IntakeMinute {
  /** When it begins. */
  readonly minute: string;
  /** Null: not counted yet. */
  readonly resources: Readonly<Record<Resource, Rates>> | null;
}

export type IntakeRange = "hour" | "day";

/** Outcomes of the records that are applied; `records` is all of them. */
export type IntakeOutcomes = Readonly<Record<"records" | "rejected" | "quarantined" | "warned", number>>;

export interface IntakeAnswer {
  readonly now: string;
  /**
   * The last hour by minute, or the last day by quarter of an hour, oldest first. The current one is last and still growing. A day
   * counts what is applied.
   */
  readonly minutes: readonly IntakeMinute[];
  /** Of these minutes. */
  readonly outcomes: IntakeOutcomes;
  readonly lag: {
    /** The age of the oldest batch that is not applied yet; 0 when every batch is applied. */
    readonly seconds: number;
    readonly oldestReceivedAt: string | null;
    /** Parts of batches waiting to be applied; counted up to `waitingMax`. */
    readonly waiting: number;
    readonly waitingMax: number;
  };
  /** Records in quarantine; counted up to 10,000. */
  readonly quarantined: number;
  /** The newest 20 batches, newest first. */
  readonly lastBatches: readonly RequestItem[];
}

/** `records` is the sum of all others but `warned`. */
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
  /** Expected hours between batches; null: none are expected, so the feed is never silent. */
  readonly cadenceHours: number | null;
}

/** Why a property needs attention: a silent feed, records in quarantine, nights that do not reconcile, rooms under unmapped statuses. */
export type Attention = "silent" | "quarantine" | "variance" | "unmapped";

/** Net room revenue in one currency, and what it comes to. Null: no revenue, rooms or capacity is known. */
export interface PortfolioAmounts {
  readonly currency: string | null;
  readonly roomRevenue: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
}

export interface PortfolioPickup {
  readonly rooms: number;
  readonly amounts: readonly { readonly currency: string | null; readonly roomRevenue: string }[];
}

/** Some nights of a property added up, as the insights on the books and pickup have them. */
export interface PortfolioFigures {
  readonly rooms: number;
  /** Of the nights whose capacity is reported; null: of none. */
  readonly occupancy: string | null;
  readonly amounts: readonly PortfolioAmounts[];
  /** Since the same time yesterday, and seven days before. */
  readonly pickup: Readonly<Record<"day" | "week", PortfolioPickup>>;
}

export interface PortfolioItem extends PropertyCodes {
  readonly name: string | null;
  readonly city: string | null;
  /** When the figures were computed, and of which business day on; null: not yet, and neither are they. */
  readonly asOf: string | null;
  readonly day: string | null;
  readonly feeds: readonly FeedGlance[];
  /** Records in quarantine; counted up to 1,000 of each property. */
  readonly quarantined: number;
  readonly attention: readonly Attention[];
  readonly now: PortfolioFigures | null;
  /** The same weekdays 364 days before, as known then; null: nothing was. */
  readonly lastYear: PortfolioFigures | null;
  /** Nights on which inventory and reservations differ, and by how many rooms in all. */
  readonly variance: { readonly nights: number; readonly rooms: number } | null;
  /** Rooms on the books of the next 90 nights. */
  readonly rooms: readonly number[] | null;
  readonly roomsLastYear: readonly number[] | null;
}

/**
 * The properties that sell in a currency, or whose own it is while nothing is booked, together; last year's of those of which it is known. Rooms, occupancy and RevPAR are of those whose
 * main currency it is: no room counts twice.
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
  /** So many from today on are what the figures are of. */
  readonly nights: number;
  /** Of all properties that match, not of this page alone. */
  readonly totals: readonly PortfolioTotal[];
  readonly properties: number;
  /** There are more properties than one portfolio has. */
  readonly isCut: boolean;
  readonly cities: readonly string[];
}

/** Every client code that has a property, in order; at most 1,000. */
export interface ClientCodesAnswer {
  readonly items: readonly { readonly clientCode: string; readonly properties: number }[];
}

/** What the navigation warns of: records in quarantine, counted up to 10,000, and properties with a silent feed. */
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

/** The best few of each kind, of what the operator may see. */
export interface SearchAnswer {
  readonly properties: readonly FoundProperty[];
  /** How many match in all. */
  readonly propertyTotal: number;
  readonly clients: readonly { readonly clientId: string; readonly name: string }[];
  /** By how their id begins. */
  readonly requests: readonly RequestItem[];
  /** By their whole id. */
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
  /** The first and last night with inventory; null: none. */
  readonly firstNight: string | null;
  readonly lastNight: string | null;
  readonly nights: readonly CalendarNight[];
}

export interface CalendarAnswer extends PropertyCodes, Calendar {
  readonly from: string;
  readonly to: string;
}

/** One version of a record, and what it changed. */
export interface VersionItem {
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly requestId: string;
  readonly index: number;
  readonly outcome: Outcome;
  readonly status: string | null;
  /** Received after a version with a newer source time. */
  readonly late: boolean;
  /** Differences from the version before it by source time; empty for the first. At most 200 of `changeTotal`. */
  readonly changes: readonly JsonChange[];
  /** Null where the two were not compared: one is larger than 256 kB or no longer kept. */
  readonly changeTotal: number | null;
  /** Null where it is no longer kept (docs/retention.md). */
  readonly payload: Payload | null;
}

/** One difference; values are JSON verbatim (`"OTB"` with its quotes, 120.50), null where there is none. */
export interface JsonChange {
  /** RFC 6901, into the record: `/roomStays/0/departureDate`. */
  readonly pointer: string;
  /** The pointer as people read it: an entry of a list by its night and room type, else counted from 1. */
  readonly path: readonly string[];
  readonly before: string | null;
  readonly after: string | null;
}

export interface QuarantineItem {
  readonly requestId: string;
  readonly index: number;
  /** Null: the record could not be read. */
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
  /** What a release would do; null: it is decided, or the record cannot be read. */
  readonly release: {
    readonly sourceTime: string;
    /** Of the current version; null: there is none. */
    readonly currentSourceTime: string | null;
    /** From the current version to the quarantined record; at most 200 of `changeTotal`. Null: one of them is too large to compare. */
    readonly changes: readonly JsonChange[] | null;
    readonly changeTotal: number;
  } | null;
}

/** The records quarantined for one reason; of all that are quarantined, the oldest 10,000 are counted. */
export interface QuarantineGroup {
  readonly code: string;
  readonly records: number;
  readonly oldestReceivedAt: string;
  /** The first 20 of `propertyTotal`, the most records first. */
  readonly properties: readonly (PropertyCodes & { readonly records: number })[];
  readonly propertyTotal: number;
}

export interface QuarantinePageAnswer extends Page<QuarantineItem> {
  /** Of all pages and reasons, whatever reason is asked for; the most records first. */
  readonly groups: readonly QuarantineGroup[];
}

/** Null `failure`: the decision is durable and takes effect within moments. */
export interface ResolvedRecord {
  /** Request id, slash and index, as given. */
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
  /** Set: revoked permanently. */
  readonly revokedAt: string | null;
  /** To the minute. */
  readonly lastUsedAt: string | null;
  readonly grantTotal: number;
}

export interface ClientOptionsAnswer {
  readonly knownScopes: readonly string[];
  /** The scopes of a new client, and the limits that apply where a client's own are null. */
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
  | "personalData"
  | "negativeCounts"
  | "cadence.inventories"
  | "cadence.reservations"
  | "cadence.groups";

export interface SettingItem {
  readonly name: SettingName;
  /** The effective value, as text: "capacity", "Europe/Lisbon", "04:00", "EUR", "24". */
  readonly value: string | null;
  readonly from: "property" | "client" | "default";
}

export interface SettingsAnswer {
  readonly clientCode: string;
  readonly propertyCode: string | null;
  /** Raised by every change of the client code's settings and status mappings. */
  readonly settingsVersion: number;
  readonly settings: readonly SettingItem[];
}

export interface StatusItem {
  readonly resource: "reservations" | "groups";
  readonly status: string;
  readonly records: number;
  /** The word of the default mapping; null where it has none. */
  readonly canonical: string | null;
  /** Whether rooms under it are on the books. */
  readonly deducts: boolean;
  readonly by: "mapping" | "default" | "unmapped";
}

/** A page of the statuses in use or mapped, by resource and status. A change answers the first 100. */
export interface StatusesAnswer extends Page<StatusItem> {
  readonly clientCode: string;
  /** Totals of all pages. */
  readonly unmapped: { readonly statuses: number; readonly records: number };
}

/** What another meaning of a status would change on the books. */
export interface MappingForesightAnswer {
  /** Current records under the status; 10,000 at most. */
  readonly records: number;
  readonly properties: number;
  /** From the first to the last date of those records, each night once per property. */
  readonly nights: number;
  /** There are more records, and may be more of the rest. */
  readonly isCut: boolean;
}

/** The secret of an authenticator app; `uri` is for a QR code. */
export interface TotpAnswer {
  readonly secret: string;
  readonly uri: string;
}

/** The only answer with the recovery codes; each is good once in the place of a code. */
export interface TotpConfirmedAnswer {
  readonly recoveryCodes: readonly string[];
}

export interface OperatorItem {
  readonly name: string;
  readonly role: Role;
  readonly grants: readonly string[];
  readonly email: string | null;
  /** The account with this email has logged in; later accounts with it are others. */
  readonly isBound: boolean;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly createdAt: string;
  readonly lastLoginAt: string | null;
  /** Set: cannot log in. */
  readonly disabledAt: string | null;
}

/** The operators who see nothing that the asking one does not, by name. */
export interface OperatorsAnswer {
  readonly items: readonly OperatorItem[];
  /** Every role there is, the least first. */
  readonly roles: readonly Role[];
}

/** The only answer with the password; null: the operator logs in at the OpenID Connect provider alone. */
export interface OperatorPasswordAnswer {
  readonly name: string;
  readonly password: string | null;
}

export interface AuditItem {
  readonly auditId: string;
  readonly occurredAt: string;
  /** `console:<operator>`, `cli:<user>`, `client:<client id>`, `service`. */
  readonly who: string;
  /** What an operator of the console was then; null: somebody else. */
  readonly role: Role | null;
  /** A verb-noun: `rotate-secret`. */
  readonly what: string;
  readonly clientId: string | null;
  /** Null: no client has this id. */
  readonly clientName: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** A certification of a client's integration, with the property of its instructions. */
export interface CertificationItem extends PropertyCodes {
  readonly certificationId: string;
  readonly clientId: string;
  readonly clientName: string;
  /** What the client may push; steps about others cannot pass. */
  readonly resources: readonly Resource[];
  /** The limits of the client while it is open. */
  readonly requestRate: number;
  readonly requestBurst: number;
  readonly tokenSeconds: number;
  readonly openedAt: string;
  readonly openedBy: string;
  /** When it was ended or will end automatically. */
  readonly endsAt: string;
  readonly isOpen: boolean;
}

/** `docs`: where the documentation says how to do it right, below `/docs/`. */
export type CertificationStep = CertificationReport["steps"][number] & { readonly docs: string };

/** A certification and its report, by the requests from `evidence.from` on. */
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
  /** Of a closed one: whether the log gives the signed statement; null where retention may be why not, and without a statement. */
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

/** `reply-to`: an origin that ReplyTo headers named. `waiting`: 10,001 is more than 10,000. */
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
