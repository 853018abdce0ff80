// Types only, from modules without Node: the console compiles them for the browser.
import type { Resource } from "#contract/resource.ts";
import type { Page } from "../../platform/http/answers.ts";
import type { PropertyCodes, RequestItem } from "../../query/console/answers.ts";

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
