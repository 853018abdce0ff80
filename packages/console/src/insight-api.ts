/** Generated from docs/openapi.json by `npm run openapi:write`: the answers of the insights. Do not edit. */

export interface OnTheBooksPage {
  items: OnTheBooksItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export type InsightCsv = string;

export interface PickupPage {
  items: PickupItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface PacePage {
  items: PaceItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface BlocksPage {
  items: BlocksItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface ReconciliationPage {
  items: ReconciliationItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface NightReconciliationPage {
  night: {
    stayDate: string;
    reported: number | null;
    reportedTransient: number | null;
    reportedGroup: number | null;
    rebuilt: number;
    rebuiltTransient: number;
    rebuiltGroup: number;
    difference: number | null;
    unpickedBlocks: number;
    reportedAt: string | null;
    requestId: string | null;
    index: number | null;
  };
  roomTypes: ReconciliationItem[];
  findings: {
    kind: "share-counted-twice" | "cancelled-but-sold" | "unpicked-block-counted" | "unmapped-label" | "quarantined" | "changed-since-count" | "stale" | "other-room-type-booked" | "block-without-hold-counted" | "missing-reservation" | "wrong-sold-count" | (string & {});
    roomType: string | null;
    rooms: number;
    nights: number;
    nightsExplained: number;
    records: {
      resource: "inventories" | "reservations" | "groups";
      key: string;
      requestId: string;
      index: number;
    }[];
    message: string;
  }[];
  findingCount: number;
  reservations: NightReservationItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface FeedHealthPage {
  businessDay: string;
  readAt: string;
  items: FeedHealthItem[];
  nextCursor: string | null;
  clock: "source" | "receipt";
  asOf: string | null;
  watermark: string | null;
  settingsVersion: number;
  knownFrom?: string | undefined;
}

export interface OnTheBooksItem {
  stayDate: string;
  roomType?: string | null | undefined;
  bookedRoomType?: string | null | undefined;
  marketSegment?: string | null | undefined;
  rateCode?: string | null | undefined;
  channel?: string | null | undefined;
  group?: string | null | undefined;
  rooms: number;
  roomRevenue: string | null;
  grossRoomRevenue: string | null;
  adults: number;
  children: number;
  capacity: number | null;
  outOfOrder: number | null;
  occupancy: string | null;
  adr: string | null;
  revpar: string | null;
  currency: string | null;
  blocksRemaining: number;
  unmappedRooms: number;
  soldReported: number | null;
}

export interface PickupItem {
  stayDate: string;
  roomType?: string | null | undefined;
  bookedRoomType?: string | null | undefined;
  marketSegment?: string | null | undefined;
  rateCode?: string | null | undefined;
  channel?: string | null | undefined;
  group?: string | null | undefined;
  rooms: number;
  booked: number;
  cancelled: number;
  roomRevenue: string | null;
  grossRoomRevenue: string | null;
  adults: number;
  children: number;
  currency: string | null;
}

export interface PaceItem {
  daysBefore: number;
  roomType?: string | null | undefined;
  bookedRoomType?: string | null | undefined;
  marketSegment?: string | null | undefined;
  rateCode?: string | null | undefined;
  channel?: string | null | undefined;
  group?: string | null | undefined;
  rooms: number | null;
  roomRevenue: string | null;
  grossRoomRevenue: string | null;
  adr: string | null;
  lastYearRooms: number | null;
  lastYearRoomRevenue: string | null;
  lastYearGrossRoomRevenue: string | null;
  lastYearAdr: string | null;
  currency: string | null;
}

export interface BlocksItem {
  stayDate: string;
  group: string;
  roomType?: string | null | undefined;
  name: string | null;
  label: string | null;
  holds: boolean | null;
  cutoffDate: string | null;
  blocks: number;
  originalBlocks: number | null;
  pickedUp: number | null;
  pickedUpRebuilt: number;
  remaining: number;
  wash: number | null;
  washAfterCutoff: number;
}

export interface ReconciliationItem {
  stayDate: string;
  roomType?: string | null | undefined;
  reported: number | null;
  reportedTransient: number | null;
  reportedGroup: number | null;
  rebuilt: number;
  rebuiltTransient: number;
  rebuiltGroup: number;
  difference: number | null;
  unpickedBlocks: number;
  reportedAt: string | null;
  requestId: string | null;
  index: number | null;
}

export interface NightReservationItem {
  reservationId: string;
  label: string | null;
  deducts: boolean | null;
  roomType: string | null;
  bookedRoomType: string | null;
  group: string | null;
  shareId: string | null;
  rooms: number;
  counted: number;
  arrival: string;
  departure: string;
  sourceTime: string;
  requestId: string;
  index: number;
  late: {
    requestId: string;
    index: number;
  } | null;
}

export interface FeedHealthItem {
  propertyCode: string;
  resource: "inventories" | "reservations" | "groups";
  lastReceivedAt: string | null;
  cadenceHours: number | null;
  expectedCadenceHours: number | null;
  silent: boolean;
  silentHours: number | null;
  waiting: number;
  oldestWaitingAt: string | null;
  batches: number;
  records: number;
  stale: number;
  duplicate: number;
  rejected: number;
  warned: number;
  rejectionRate: string | null;
  warningRate: string | null;
  quarantined: number;
  unmappedLabelCount: number;
  unmappedLabels: {
    label: string;
    records: number;
  }[];
  nightsTo: string | null;
  lastPushAt: string | null;
  missingNightCount: number;
  missingNights: string[];
  staleNightCount: number;
  staleNights: string[];
}
