/**
 * The insights of a property: GET `/console/api/insight/<name>` answers exactly what `/api/insight/v1/<name>` answers to a
 * partner, for every client code. PROVISIONAL until those routes have landed: what docs/openapi.json says of them holds,
 * and this file follows it. Errors are ErrorAnswer; parameters below; `text/csv` by `Accept` (also from a link: `format=csv`
 * is not known, so the app fetches with the header and saves the text).
 */

export type GroupBy = "roomType" | "marketSegment" | "rateCode" | "channel" | "group";

/** What all insights take. */
export interface InsightQuery {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** Stay dates, `to` included. */
  readonly from: string;
  readonly to: string;
  readonly by?: GroupBy;
  /** An inclusive UTC instant; absent: now. */
  readonly asOf?: string;
  readonly clock?: "source" | "receipt";
  readonly limit?: number;
  readonly cursor?: string;
}

interface InsightPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
  /** With `clock=receipt`: nothing received at or before it can still change an answer. */
  readonly watermark?: string | null;
  readonly settingsVersion?: number;
}

/** Nights of one date, grouping and currency. Money is decimal text, rooms and guests are numbers. */
export interface OnTheBooksItem {
  readonly stayDate: string;
  /** The one that was asked for by `by`; null: the records name none. */
  readonly roomType?: string | null;
  readonly marketSegment?: string | null;
  readonly rateCode?: string | null;
  readonly channel?: string | null;
  readonly group?: string | null;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly capacity: number | null;
  /** 0 to 1 and beyond, as decimal text. */
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly currency: string | null;
}

export type OnTheBooksAnswer = InsightPage<OnTheBooksItem>;

/** `pickup` takes `since` (an instant) beside `asOf`: what came in between. Signed. */
export interface PickupQuery extends InsightQuery {
  readonly since: string;
}

export type PickupAnswer = InsightPage<OnTheBooksItem>;

/** `pace`: the booking curve of from..to together, by days before arrival, beside the same time last year. */
export interface PaceItem {
  readonly daysBefore: number;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly lastYearRooms: number | null;
  readonly lastYearRoomRevenue: string | null;
  readonly currency: string | null;
}

export type PaceAnswer = InsightPage<PaceItem>;

export interface BlocksItem {
  readonly stayDate: string;
  readonly group: string;
  readonly roomType: string | null;
  readonly held: number;
  readonly pickedUp: number;
  readonly remaining: number;
  readonly wash: number;
}

export type BlocksAnswer = InsightPage<BlocksItem>;

export interface ReconciliationItem {
  readonly stayDate: string;
  readonly roomType: string | null;
  /** What inventory says. */
  readonly reported: number | null;
  /** What reservations and blocks say. */
  readonly rebuilt: number;
  readonly difference: number | null;
}

export type ReconciliationAnswer = InsightPage<ReconciliationItem>;

export interface FeedHealthItem {
  readonly resource: "inventories" | "reservations" | "groups";
  readonly lastReceivedAt: string | null;
  readonly cadenceHours: number | null;
  readonly silent: boolean;
  readonly missingNights: readonly string[];
  readonly lagSeconds: number | null;
  readonly rejectionRate: string | null;
  readonly warningRate: string | null;
  readonly unmappedLabels: readonly string[];
}

export type FeedHealthAnswer = InsightPage<FeedHealthItem>;
