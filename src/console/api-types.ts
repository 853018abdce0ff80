/** Generated from docs/openapi.json by `npm run generate -- openapi`: answers of the API, as the service and its console use them. */

export interface InsightPage {
  readonly nextCursor: string | null;
  readonly clock: "source" | "receipt";
  readonly asOf: string | null;
  readonly watermark: string | null;
  readonly readAt: string;
  readonly timeZone: string;
  readonly businessDayEnd: string;
  readonly businessDay: string;
  readonly settingsVersion: number;
  readonly knownFrom?: string | undefined;
}

export interface GroupedItem {
  readonly roomType?: string | null | undefined;
  readonly bookedRoomType?: string | null | undefined;
  readonly marketSegment?: string | null | undefined;
  readonly rateCode?: string | null | undefined;
  readonly channel?: string | null | undefined;
  readonly group?: string | null | undefined;
  readonly currency: string | null;
}

export interface OnTheBooksPage extends InsightPage {
  readonly lastYearAsOf: string | null;
  readonly lastYearKnownFrom: string | null;
  readonly items: readonly OnTheBooksItem[];
}

export interface PickupPage extends InsightPage {
  readonly since: string;
  readonly until: string | null;
  readonly items: readonly PickupItem[];
}

export interface PacePage extends InsightPage {
  readonly lastYearKnownFrom: string | null;
  readonly items: readonly PaceItem[];
}

export interface MovementPage extends InsightPage {
  readonly items: readonly MovementItem[];
}

export interface DailyReportPage extends InsightPage {
  readonly lastYearAsOf: string | null;
  readonly lastYearKnownFrom: string | null;
  readonly totals: readonly DailyReportItem[];
  readonly items: readonly DailyReportItem[];
}

export interface BlocksPage extends InsightPage {
  readonly items: readonly BlocksItem[];
}

export interface ReconciliationPage extends InsightPage {
  readonly items: readonly ReconciliationItem[];
}

export interface NightReconciliationPage extends InsightPage {
  readonly night: {
    readonly stayDate: string;
    readonly reported: number | null;
    readonly reportedTransient: number | null;
    readonly reportedGroup: number | null;
    readonly rebuilt: number;
    readonly rebuiltTransient: number;
    readonly rebuiltGroup: number;
    readonly difference: number | null;
    readonly unpickedBlocks: number;
    readonly reportedAt: string | null;
    readonly requestId: string | null;
    readonly index: number | null;
  };
  readonly roomTypes: readonly ReconciliationItem[];
  readonly findings: {
    readonly kind: "wrong-sold-count" | "rejected" | "quarantined" | "changed-since-count" | "stale" | "unmapped-label" | "room-type-spelling" | "virtual-room-type" | "room-type-not-listed" | "room-without-share" | "share-counted-twice" | "overlapping-stays" | "implausible-dates" | "complimentary-left-out" | "pickup-not-received" | "unpicked-block-counted" | "cancelled-but-sold" | "day-use-counted" | "other-room-type-booked" | "block-without-hold-counted" | "missing-reservation" | (string & {});
    readonly roomType: string | null;
    readonly rooms: number;
    readonly nights: number;
    readonly nightsExplained: number;
    readonly records: {
      readonly resource: "inventories" | "reservations" | "groups";
      readonly key: string;
      readonly requestId: string;
      readonly index: number;
    }[];
    readonly message: string;
    readonly action: string;
  }[];
  readonly findingCount: number;
  readonly reservations: readonly NightReservationItem[];
}

export interface FeedHealthPage extends InsightPage {
  readonly items: readonly FeedHealthItem[];
}

export interface RequestSummary {
  readonly requestId: RequestId;
  readonly status: "accepted" | "applied";
  readonly resource: "inventories" | "reservations" | "groups";
  readonly receivedAt: Timestamp;
  readonly appliedAt: string | null;
  readonly correlationId: string | null;
  readonly replyTo: string | null;
  readonly backfillId: string | null;
  readonly handling: "strict" | "lenient";
  readonly counts: {
    readonly records: number;
    readonly pending: number;
    readonly applied: number;
    readonly unchanged: number;
    readonly stale: number;
    readonly duplicate: number;
    readonly quarantined: number;
    readonly discarded: number;
    readonly rejected: number;
    readonly warned: number;
  };
}

export interface RecordOutcome {
  readonly index: number;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly key: string | null;
  readonly outcome: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected";
  readonly code: string | null;
  readonly pointer: string;
  readonly message: string | null;
  readonly warnings: readonly Warning[];
  readonly violations?: readonly ViolationBody[] | undefined;
  readonly violationTotal?: number | undefined;
  readonly resolvedAt?: Timestamp | undefined;
}

export interface Backfill extends BackfillItem {
  readonly resources: readonly BackfillResourceProgress[];
  readonly waitingBatches: number;
  readonly oldestWaitingAt: string | null;
  readonly lateBatches: number;
  readonly signatures: readonly BackfillSignature[];
}

export interface BackfillItem {
  readonly backfillId: BackfillId;
  readonly state: "open" | "closed" | "abandoned";
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly note: string | null;
  readonly openedAt: Timestamp;
  readonly endedAt: string | null;
  readonly statementHash: string | null;
}

export interface WebhookEndpoint {
  readonly endpointId: string;
  readonly kind: "webhook" | "reply-to";
  readonly url: string;
  readonly description: string;
  readonly events: readonly ("changes.available" | "request.applied")[];
  readonly resource: "inventories" | "reservations" | "groups" | null;
  readonly clientCode: string | null;
  readonly propertyCode: string | null;
  readonly state: "active" | "failing" | "paused";
  readonly pausedBy: "client" | "operator" | "service" | null;
  readonly pausedAt: string | null;
  readonly pauseReason: string | null;
  readonly failures: number;
  readonly failingSince: string | null;
  readonly waiting: number;
  readonly waitingSince: string | null;
  readonly deadLetters: number;
  readonly dropped: number;
  readonly droppedSince: string | null;
  readonly lastTryAt: string | null;
  readonly lastStatus: number | null;
  readonly lastFailure: string | null;
  readonly createdAt: string;
}

export interface WebhookAttempt {
  readonly webhookId: string;
  readonly event: string;
  readonly attempt: number;
  readonly attemptedAt: string;
  readonly durationMs: number;
  readonly status: number | null;
  readonly failure: string | null;
}

export interface WebhookDeadLetter {
  readonly webhookId: string;
  readonly event: string;
  readonly cause: string;
  readonly createdAt: string;
  readonly deadAt: string;
  readonly attempts: number;
  readonly lastFailure: string | null;
}

export interface WebhookSecret {
  readonly secret: string;
  readonly previousExpiresAt: string | null;
}

export interface CertificationReport {
  readonly certificationId: string;
  readonly clientId: string;
  readonly property: {
    readonly clientCode: string;
    readonly propertyCode: string;
  };
  readonly openedAt: Timestamp;
  readonly verdict: "certified" | "failed" | "incomplete";
  readonly steps: readonly CertificationStep[];
  readonly observed: {
    readonly batches: number;
    readonly records: number;
    readonly pending: number;
    readonly tokens: number;
    readonly rateLimited: number;
    readonly refused: number;
    readonly lenient: number;
    readonly keyed: number;
    readonly compressed: Record<string, number>;
  };
  readonly evidence: {
    readonly from: Timestamp;
    readonly until: string | null;
    readonly isWhole: boolean;
    readonly hash: string;
  };
}

export interface PortfolioReport {
  readonly from: string;
  readonly to: string;
  readonly items: readonly PortfolioReportItem[];
  readonly totals: readonly PortfolioReportItem[];
  readonly properties: number;
  readonly missing: readonly MissingHotel[];
  readonly unknown: readonly UnknownFigures[];
  readonly oldestAsOf: string | null;
  readonly newestAsOf: string | null;
  readonly businessDay: string;
  readonly lastBusinessDay: string;
}

export interface OnTheBooksItem extends GroupedItem {
  readonly stayDate: string;
  readonly dayOfWeek?: number | undefined;
  readonly dates?: number | undefined;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly blocksRemaining: number;
  readonly unmappedRooms: number;
  readonly soldReported: number | null;
  readonly dayUseRooms: number;
  readonly dayUseRevenue: string | null;
  readonly feeRevenue: string | null;
  readonly outsideStayRevenue: string | null;
  readonly lastYearRooms?: number | null | undefined;
  readonly lastYearRoomRevenue?: string | null | undefined;
  readonly lastYearGrossRoomRevenue?: string | null | undefined;
  readonly lastYearAdr?: string | null | undefined;
  readonly lastYearCapacity?: number | null | undefined;
  readonly lastYearOutOfOrder?: number | null | undefined;
  readonly lastYearOccupancy?: string | null | undefined;
  readonly lastYearRevpar?: string | null | undefined;
  readonly lastYearFinalRooms?: number | null | undefined;
  readonly lastYearFinalRoomRevenue?: string | null | undefined;
  readonly lastYearFinalAdr?: string | null | undefined;
  readonly pickup1Rooms?: number | null | undefined;
  readonly pickup1RoomRevenue?: string | null | undefined;
  readonly pickup3Rooms?: number | null | undefined;
  readonly pickup3RoomRevenue?: string | null | undefined;
  readonly pickup7Rooms?: number | null | undefined;
  readonly pickup7RoomRevenue?: string | null | undefined;
  readonly pickup30Rooms?: number | null | undefined;
  readonly pickup30RoomRevenue?: string | null | undefined;
}

export interface PickupItem extends GroupedItem {
  readonly stayDate: string;
  readonly rooms: number;
  readonly booked: number;
  readonly cancelled: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly dayUseRooms: number;
  readonly dayUseRevenue: string | null;
  readonly feeRevenue: string | null;
  readonly outsideStayRevenue: string | null;
}

export interface PaceItem extends GroupedItem {
  readonly daysBefore: number;
  readonly rooms: number | null;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adr: string | null;
  readonly lastYearRooms: number | null;
  readonly lastYearRoomRevenue: string | null;
  readonly lastYearGrossRoomRevenue: string | null;
  readonly lastYearAdr: string | null;
}

export interface MovementItem {
  readonly stayDate: string;
  readonly dayOfWeek?: number | undefined;
  readonly dates?: number | undefined;
  readonly arrivals: number;
  readonly departures: number;
  readonly stayThroughs: number;
  readonly lengthOfStay: string | null;
  readonly leadDays: string | null;
  readonly cancelledRooms: number;
  readonly cancelledRoomRevenue: string | null;
  readonly cancelledLeadDays: string | null;
  readonly cancellationRate: string | null;
  readonly noShowRooms: number;
  readonly noShowRoomRevenue: string | null;
  readonly noShowRate: string | null;
  readonly currency: string | null;
}

export interface DailyReportItem {
  readonly stayDate: string;
  readonly dayOfWeek?: number | undefined;
  readonly dates?: number | undefined;
  readonly rooms: number;
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
  readonly adults: number;
  readonly children: number;
  readonly capacity: number | null;
  readonly outOfOrder: number | null;
  readonly occupancy: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly currency: string | null;
  readonly blocksRemaining: number;
  readonly unmappedRooms: number;
  readonly soldReported: number | null;
  readonly dayUseRooms: number;
  readonly dayUseRevenue: string | null;
  readonly feeRevenue: string | null;
  readonly outsideStayRevenue: string | null;
  readonly lastYearRooms: number | null;
  readonly lastYearRoomRevenue: string | null;
  readonly lastYearGrossRoomRevenue: string | null;
  readonly lastYearAdr: string | null;
  readonly lastYearCapacity: number | null;
  readonly lastYearOutOfOrder: number | null;
  readonly lastYearOccupancy: string | null;
  readonly lastYearRevpar: string | null;
  readonly lastYearFinalRooms: number | null;
  readonly lastYearFinalRoomRevenue: string | null;
  readonly lastYearFinalAdr: string | null;
  readonly pickup1Rooms: number | null;
  readonly pickup1RoomRevenue: string | null;
  readonly pickup3Rooms: number | null;
  readonly pickup3RoomRevenue: string | null;
  readonly pickup7Rooms: number | null;
  readonly pickup7RoomRevenue: string | null;
  readonly pickup30Rooms: number | null;
  readonly pickup30RoomRevenue: string | null;
  readonly arrivals: number;
  readonly departures: number;
  readonly stayThroughs: number;
  readonly cancelledRooms: number;
  readonly cancelledRoomRevenue: string | null;
  readonly cancellationRate: string | null;
  readonly noShowRooms: number;
  readonly noShowRoomRevenue: string | null;
  readonly noShowRate: string | null;
}

export interface BlocksItem {
  readonly stayDate: string;
  readonly group: string;
  readonly roomType?: string | null | undefined;
  readonly name: string | null;
  readonly label: string | null;
  readonly holds: boolean | null;
  readonly cutoffDate: string | null;
  readonly blocks: number;
  readonly subgroupBlocks: number;
  readonly originalBlocks: number | null;
  readonly pickedUp: number | null;
  readonly pickedUpRebuilt: number;
  readonly remaining: number;
  readonly wash: number | null;
  readonly washAfterCutoff: number;
}

export interface ReconciliationItem {
  readonly stayDate: string;
  readonly roomType?: string | null | undefined;
  readonly reported: number | null;
  readonly reportedTransient: number | null;
  readonly reportedGroup: number | null;
  readonly rebuilt: number;
  readonly rebuiltTransient: number;
  readonly rebuiltGroup: number;
  readonly difference: number | null;
  readonly unpickedBlocks: number;
  readonly reportedAt: string | null;
  readonly requestId: string | null;
  readonly index: number | null;
}

export interface NightReservationItem {
  readonly reservationId: string;
  readonly label: string | null;
  readonly deducts: boolean | null;
  readonly roomType: string | null;
  readonly bookedRoomType: string | null;
  readonly group: string | null;
  readonly marketSegment: string | null;
  readonly rateCode: string | null;
  readonly roomRevenue: string | null;
  readonly currency: string | null;
  readonly shareId: string | null;
  readonly rooms: number;
  readonly counted: number;
  readonly arrival: string;
  readonly departure: string;
  readonly bookedAt: string | null;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
  readonly late: {
    readonly requestId: string;
    readonly index: number;
  } | null;
}

export interface FeedHealthItem {
  readonly propertyCode: string;
  readonly resource: "inventories" | "reservations" | "groups";
  readonly lastReceivedAt: string | null;
  readonly cadenceHours: number | null;
  readonly expectedCadenceHours: number | null;
  readonly silent: boolean;
  readonly silentHours: number | null;
  readonly waiting: number;
  readonly oldestWaitingAt: string | null;
  readonly batches: number;
  readonly records: number;
  readonly stale: number;
  readonly duplicate: number;
  readonly rejected: number;
  readonly warned: number;
  readonly rejectionRate: string | null;
  readonly warningRate: string | null;
  readonly quarantined: number;
  readonly unmappedLabelCount: number;
  readonly unmappedLabels: {
    readonly label: string;
    readonly records: number;
  }[];
  readonly nightsTo: string | null;
  readonly lastPushAt: string | null;
  readonly missingNightCount: number;
  readonly missingNights: readonly string[];
  readonly staleNightCount: number;
  readonly staleNights: readonly string[];
}

export type RequestId = string;

export type Timestamp = string;

export interface Warning {
  readonly pointer: string;
  readonly code: "inventory.oversold" | "inventory.sold-split" | "inventory.room-type-repeated" | "inventory.too-many-room-types" | "count.negative" | "reservation.revenue-total" | "reservation.revenue-summary" | "reservation.outside-stay" | "reservation.too-many-nights" | "reservation.too-many-changes" | "reservation.overlapping-stays" | "group.pickup-above-blocks" | "group.outside-dates" | "group.too-many-blocks" | "field.similar" | "currency.unknown" | "time.implausible" | "status.unmapped" | "room-type.unknown" | "warnings.more" | (string & {});
  readonly message: string;
}

export interface ViolationBody {
  readonly pointer: string;
  readonly code: "json.syntax" | "json.depth" | "json.size" | "json.values" | "type" | "required" | "null" | "length" | "enum" | "format.date" | "format.timestamp" | "number.integer" | "number.range" | "number.decimal" | "number.unsafe" | "order.dates" | "name.duplicate" | "name.forbidden" | "text.surrogate" | "text.nul" | (string & {});
  readonly message: string;
}

export type BackfillId = string;

export interface BackfillResourceProgress {
  readonly resource: "inventories" | "reservations" | "groups";
  readonly from: string;
  readonly to: string;
  readonly expectedRecords: number | null;
  readonly batches: number;
  readonly counts: {
    readonly records: number;
    readonly pending: number;
    readonly applied: number;
    readonly unchanged: number;
    readonly stale: number;
    readonly duplicate: number;
    readonly quarantined: number;
    readonly discarded: number;
    readonly rejected: number;
    readonly warned: number;
  };
  readonly distinctRecords: number;
  readonly missingRecords: number | null;
  readonly datesNamed: number | null;
  readonly datesCovered: number | null;
  readonly waitingBatches: number;
  readonly oldestWaitingAt: string | null;
  readonly firstReceivedAt: string | null;
  readonly lastReceivedAt: string | null;
}

export interface BackfillSignature {
  readonly side: "partner" | "operator";
  readonly signedBy: string;
  readonly signedAt: Timestamp;
  readonly statementHash: string;
}

export interface CertificationStep {
  readonly step: "inventory" | "reservation" | "group" | "modification" | "cancellation" | "share" | "group-pickup" | "day-use" | "null-and-numbers" | "out-of-order" | "retry" | "rate-limit" | "cold-start" | "seven-days" | "token-use" | (string & {});
  readonly title: string;
  readonly instruction: string;
  readonly result: "pass" | "fail" | "not-yet";
  readonly reason: string;
  readonly requestIds: readonly RequestId[];
}

export interface PortfolioReportItem extends DailyReportItem {
  readonly clientCode?: string | undefined;
  readonly propertyCode?: string | undefined;
  readonly name?: string | null | undefined;
  readonly properties: number;
}

export interface MissingHotel {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly name: string | null;
  readonly reason: "noFigures" | "nights" | "lastYear" | (string & {});
  readonly asOf: string | null;
}

export interface UnknownFigures {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly name: string | null;
  readonly figures: readonly string[];
}
