/**
 * The insights of a property: GET `/console/api/insight/<name>` answers exactly what `/api/insight/v1/<name>` answers to a
 * partner, for every client code. What docs/openapi.json says of them holds; this file follows src/insight. Errors are
 * ErrorAnswer. With `accept: text/csv` an answer is CSV, its next page in the header `link`.
 */

import type { Resource } from "./contract-batches.ts";

export type GroupBy =
  | "none"
  | "roomType"
  | "bookedRoomType"
  | "marketSegment"
  | "rateCode"
  | "channel"
  | "group";

/** What all insights about nights take. */
export interface InsightQuery {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** Stay dates, `to` included. */
  readonly from: string;
  readonly to: string;
  /** Absent: none. */
  readonly by?: GroupBy;
  /** An inclusive UTC instant; absent: all that there is. */
  readonly asOf?: string;
  readonly clock?: "source" | "receipt";
  readonly limit?: number;
  readonly cursor?: string;
}

export interface InsightPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  readonly clock: "source" | "receipt";
  readonly asOf: string | null;
  /** With `clock=receipt`: nothing received at or before it can still change an answer. */
  readonly watermark: string | null;
  readonly settingsVersion: number;
  /** Of what was sent before and is not current, not all may be told; absent: all is known. */
  readonly knownFrom?: string;
}

/** The group under the name that was asked for by `by`, and no other; null: the records name none. */
interface Grouped {
  readonly roomType?: string | null;
  readonly bookedRoomType?: string | null;
  readonly marketSegment?: string | null;
  readonly rateCode?: string | null;
  readonly channel?: string | null;
  readonly group?: string | null;
}

/** Nights of one date, group and currency. Money is decimal text, rooms and guests are numbers. */
export interface OnTheBooksItem extends Grouped {
  readonly stayDate: string;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
  /** 0 to 1 and beyond, as decimal text of four digits. */
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly currency: string | null;
  /** Held for groups and not picked up: apart from `rooms`. */
  readonly blocksRemaining: number;
  /** Of labels that nobody has mapped: apart from `rooms`. */
  readonly unmappedRooms: number;
  /** What inventory itself says is sold. */
  readonly soldReported: number | null;
}

export type OnTheBooksAnswer = InsightPage<OnTheBooksItem>;

/** `pickup`: what came between `since` (not included) and `asOf`. */
export interface PickupQuery extends InsightQuery {
  readonly since: string;
}

/** Signed. A night that did not change is not listed. */
export interface PickupItem extends Grouped {
  readonly stayDate: string;
  /** Booked less cancelled. */
  readonly rooms: number;
  readonly booked: number;
  readonly cancelled: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly currency: string | null;
}

export type PickupAnswer = InsightPage<PickupItem>;

/** `pace` from so many days before each night. */
export interface PaceQuery extends InsightQuery {
  readonly daysBefore?: number;
}

/** `pace`: all nights from..to together, from `daysBefore` down to 0, beside the nights 364 days before; by group and currency. */
export interface PaceItem extends Grouped {
  readonly daysBefore: number;
  /** Null: some of the nights have not come so near yet. */
  readonly rooms: number | null;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adr: string | null;
  readonly lastYearRooms: number | null;
  readonly lastYearRoomRevenue: string | null;
  readonly lastYearGrossRoomRevenue: string | null;
  readonly lastYearAdr: string | null;
  readonly currency: string | null;
}

export type PaceAnswer = InsightPage<PaceItem>;

/** A group's block on a night. Rooms; null where nothing is told. */
export interface BlocksItem {
  readonly stayDate: string;
  readonly group: string;
  /** Only with `by=roomType`. */
  readonly roomType?: string | null;
  readonly name: string | null;
  readonly label: string | null;
  /** Null: nobody has mapped the label. */
  readonly holds: boolean | null;
  readonly cutoffDate: string | null;
  readonly blocks: number;
  readonly originalBlocks: number | null;
  /** As the master says, and as counted from the reservations that name the group. */
  readonly pickedUp: number | null;
  readonly pickedUpRebuilt: number;
  readonly remaining: number;
  /** Given back: original less current; negative where the block grew. */
  readonly wash: number | null;
  readonly washAfterCutoff: number;
}

export type BlocksAnswer = InsightPage<BlocksItem>;

/** What inventory reports of a night and what reservations come to. */
export interface ReconciliationItem {
  readonly stayDate: string;
  /** Only with `by=roomType`. */
  readonly roomType?: string | null;
  /** Null: inventory has no record of the night. */
  readonly reported: number | null;
  readonly reportedTransient: number | null;
  readonly reportedGroup: number | null;
  readonly rebuilt: number;
  readonly rebuiltTransient: number;
  readonly rebuiltGroup: number;
  /** Reported less rebuilt. */
  readonly difference: number | null;
  /** Held for groups and not picked up: apart from what is rebuilt. */
  readonly unpickedBlocks: number;
  /** Where the report of the night lies. */
  readonly reportedAt: string | null;
  readonly requestId: string | null;
  readonly index: number | null;
}

export type ReconciliationAnswer = InsightPage<ReconciliationItem>;

/** Why a hotel's count may be another. */
export interface Finding {
  /** `share-counted-twice`, `cancelled-but-sold`, `unpicked-block-counted`, `missing-reservation`, `wrong-sold-count` … */
  readonly kind: string;
  readonly roomType: string | null;
  /** Rooms that it would explain: positive where the hotel counts more. */
  readonly rooms: number;
  readonly nights: number;
  readonly nightsExplained: number;
  readonly records: readonly {
    readonly resource: Resource;
    readonly key: string;
    readonly requestId: string;
    readonly index: number;
  }[];
  readonly message: string;
}

/** What a reservation says of one night, of one room type. */
export interface NightReservation {
  readonly reservationId: string;
  readonly label: string | null;
  readonly deducts: boolean | null;
  readonly roomType: string | null;
  readonly bookedRoomType: string | null;
  readonly group: string | null;
  readonly shareId: string | null;
  /** As it names them, and those of them that count on this night. */
  readonly rooms: number;
  readonly counted: number;
  readonly arrival: string;
  readonly departure: string;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  /** A version of it that came later and was older: it is kept and does not count. */
  readonly late: { readonly requestId: string; readonly index: number } | null;
}

/** `reconciliation/night` with stayDate instead of from and to: one night taken apart. Pages are of the reservations. */
export interface NightReconciliationAnswer extends Omit<InsightPage<never>, "items"> {
  readonly night: ReconciliationItem;
  readonly roomTypes: readonly ReconciliationItem[];
  /** The likeliest first; at most 100 of `findingCount`. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  readonly reservations: readonly NightReservation[];
}

/** How one feed of a property does: an item for each resource. Hours have two places, rates are of 1 and have four. */
export interface FeedHealthItem {
  readonly propertyCode: string;
  readonly resource: Resource;
  readonly lastReceivedAt: string | null;
  /** As observed; null: too few batches to tell. */
  readonly cadenceHours: number | null;
  /** The property's setting; null: nothing is expected. */
  readonly expectedCadenceHours: number | null;
  readonly silent: boolean;
  /** Hours beyond the expected cadence. */
  readonly silentHours: number | null;
  readonly waiting: number;
  readonly oldestWaitingAt: string | null;
  /** Of the last seven days. */
  readonly batches: number;
  readonly records: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly warned: number;
  readonly rejectionRate: string | null;
  readonly warningRate: string | null;
  /** Held now. */
  readonly quarantined: number;
  readonly unmappedLabelCount: number;
  readonly unmappedLabels: readonly { readonly label: string; readonly records: number }[];
  /** The last night that is usually sent. */
  readonly nightsTo: string | null;
  readonly lastPushAt: string | null;
  /** Nights up to it without a record, and those that the last push left out; at most 400 are listed of each. */
  readonly missingNights: readonly string[];
  readonly missingNightCount: number;
  readonly staleNights: readonly string[];
  readonly staleNightCount: number;
}

export interface FeedHealthAnswer extends InsightPage<FeedHealthItem> {
  /** The property's business day. */
  readonly businessDay: string;
  readonly readAt: string;
}
