// Written by `npm run generate -- openapi` from docs/openapi.json: change it there.

/** Room inventory of one property on one occupancy date. */
export interface Inventory {
  /** Unique code identifying the client. */
  clientCode: string;
  /** When the record was created: the newest wins. */
  createDateTime: Timestamp;
  /** Unique code identifying the property. */
  propertyCode: string;
  /** Date to which the occupancy data applies. */
  occupancyDate: string;
  /** Correlation ID for tracking. */
  correlationId?: string | undefined;
  /** Inventories of room types. */
  roomTypeInventories: RoomTypeInventory[];
  /** Inventories of virtual room types; absent for hotels without virtual room types. */
  virtualRoomTypeInventories?: RoomTypeInventory[] | undefined;
}

/** A reservation. */
export interface Reservation {
  /** Client code associated with the reservation. */
  clientCode: string;
  /** Property code associated with the reservation. */
  propertyCode: string;
  /** Correlation ID. */
  correlationId?: string | undefined;
  /** Date and time of last modification: the newest wins. */
  lastModifiedDateTime: Timestamp;
  /** Id of the reservation. */
  reservationId: string;
  /** Confirmation number. */
  confirmationNumber?: string | undefined;
  /** Status of the reservation; see the default mapping. */
  status: string;
  /** Date of the booking. */
  bookingDateTime?: Timestamp | undefined;
  /** Number of rooms in the reservation. */
  numberOfRooms?: WholeNumber | undefined;
  /** Multi reservation id. */
  multiReservationId?: string | null | undefined;
  /** Share id. */
  shareId?: string | undefined;
  /** When the reservation was cancelled. */
  cancellationDateTime?: string | null | undefined;
  /** Reason for cancellation. */
  cancellationReason?: string | null | undefined;
  /** Booking channel used. */
  channel?: string | undefined;
  /** Origin country of the guest. */
  nationality?: string | undefined;
  /** Property that was booked last. */
  lastBookedPropertyCode?: string | null | undefined;
  /** Whether this is the primary sharer, or the primary sharer's id. */
  primarySharer?: boolean | string | null | undefined;
  /** Sharers of the room. */
  sharers?: (string | Record<string, unknown>)[] | null | undefined;
  /** Stays within the reservation. */
  roomStays: RoomStay[];
  /** Profiles attached. */
  profiles?: Profile[] | undefined;
  stayRevenue?: StayRevenue | undefined;
}

/** A group block master. */
export interface Group {
  /** Client code. */
  clientCode: string;
  /** Property code. */
  propertyCode: string;
  /** Correlation ID. */
  correlationId?: string | undefined;
  /** Last modified date and time: the newest wins. */
  lastModifiedDateTime: Timestamp;
  /** Group block code. */
  groupCode: string;
  /** Master group code. */
  masterGroupCode?: string | null | undefined;
  /** Name of the group block. */
  name?: string | undefined;
  /** Description. */
  description?: string | undefined;
  /** Action associated with the group block. */
  action?: string | null | undefined;
  /** Booking date. */
  bookingDate?: string | undefined;
  /** Group status code; see the default mapping. */
  groupStatusCode: string;
  /** Start date. */
  startDate: string;
  /** End date. */
  endDate: string;
  /** Cutoff days. */
  cutoffDays?: WholeNumber | undefined;
  /** Cutoff date. */
  cutoffDate?: string | null | undefined;
  /** Cancel date. */
  cancelDate?: string | null | undefined;
  /** Group type code. */
  groupTypeCode?: string | undefined;
  /** Pickup type code. */
  pickupTypeCode?: string | undefined;
  /** Market segment code. */
  marketSegmentCode?: string | undefined;
  /** Rate code. */
  rateCode?: string | undefined;
  /** Sales person. */
  salesPerson?: string | undefined;
  /** Net room revenue. */
  netRoomRevenue?: NullableDecimal | undefined;
  /** Total room revenue. */
  totalRoomRevenue?: NullableDecimal | undefined;
  /** Per-date, per-room-type blocks. */
  groupBlocks: GroupBlock[];
  /** Services attached. */
  services?: GroupService[] | undefined;
}

/** A request and the outcomes of its records. */
export interface RequestStatus extends RequestSummary {
  /** The outcomes of its records, by index. Records applied without a warning are listed only if `outcome` asks for them. */
  records: RecordOutcome[];
  /** The `cursor` of the next page; null at the end. */
  nextCursor: string | null;
}

/** A request with the number of records per outcome. */
export interface RequestSummary {
  requestId: RequestId;
  /** `applied` once every record has an outcome, `accepted` before. */
  status: "accepted" | "applied" | (string & {});
  /** The kind of the records. */
  resource: "inventories" | "reservations" | "groups" | (string & {});
  /** When the batch was accepted. */
  receivedAt: Timestamp;
  /** When the last record was applied. */
  appliedAt: string | null;
  /** The `X-Correlation-Id` of the push. */
  correlationId: string | null;
  /** The `ReplyTo` of the push. */
  replyTo: string | null;
  /** The backfill that the batch belongs to: the `Backfill-Id` of the push. */
  backfillId: string | null;
  /** How invalid records were handled: the `Prefer` of the push. */
  handling: "strict" | "lenient" | (string & {});
  /** The number of records per outcome. All but `records` and `warned` add up to `records`. */
  counts: {
    /** Records in the batch. */
    records: number;
    /** Records without an outcome yet. */
    pending: number;
    /** The record became the current version. */
    applied: number;
    /** The content equals that of the previous version; only the source time is newer. */
    unchanged: number;
    /** A version with a newer source time is current; this one is kept in the history. */
    stale: number;
    /** The same record with the same source time was already received. */
    duplicate: number;
    /** The record is quarantined until an operator releases or discards it; `code` and `message` say why. */
    quarantined: number;
    /** The record was quarantined, and an operator discarded it. */
    discarded: number;
    /** The record was invalid in a lenient batch; `violations` say why. It is stored verbatim and never applied. */
    rejected: number;
    /** Records with warnings, regardless of outcome. */
    warned: number;
  };
}

/** The outcome of one record. */
export interface RecordOutcome {
  /** Its index in the batch. */
  index: number;
  /** Its clientCode, if it can be read. */
  clientCode: string | null;
  /** Its propertyCode, if it can be read. */
  propertyCode: string | null;
  /** Its occupancyDate, reservationId or groupCode, if it can be read. */
  key: string | null;
  /** Its outcome. */
  outcome: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected" | (string & {});
  /** The reason as a stable code, if there is one. */
  code: string | null;
  /** JSON pointer (RFC 6901) into the batch. */
  pointer: string;
  /** The reason as text. */
  message: string | null;
  /** Its warnings. */
  warnings: Warning[];
  /** For a rejected record, its first violations. */
  violations?: ViolationBody[] | undefined;
  /** For a rejected record, the total number of violations. */
  violationTotal?: number | undefined;
  /** When a quarantined record was released or discarded. */
  resolvedAt?: Timestamp | undefined;
}

/** One version of a record. */
export interface InventoryVersion {
  /** Its createDateTime or lastModifiedDateTime, by which versions are ordered. */
  sourceTime: Timestamp;
  /** When its batch was accepted. */
  receivedAt: Timestamp;
  requestId: RequestId;
  /** Its index in that batch. */
  index: number;
  /** Its outcome when it was applied. */
  outcome: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected" | (string & {});
  /** The record, verbatim. */
  record: Inventory;
}

/** One version of a record. */
export interface ReservationVersion {
  /** Its createDateTime or lastModifiedDateTime, by which versions are ordered. */
  sourceTime: Timestamp;
  /** When its batch was accepted. */
  receivedAt: Timestamp;
  requestId: RequestId;
  /** Its index in that batch. */
  index: number;
  /** Its outcome when it was applied. */
  outcome: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected" | (string & {});
  /** The record, verbatim. */
  record: Reservation;
}

/** One version of a record. */
export interface GroupVersion {
  /** Its createDateTime or lastModifiedDateTime, by which versions are ordered. */
  sourceTime: Timestamp;
  /** When its batch was accepted. */
  receivedAt: Timestamp;
  requestId: RequestId;
  /** Its index in that batch. */
  index: number;
  /** Its outcome when it was applied. */
  outcome: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected" | (string & {});
  /** The record, verbatim. */
  record: Group;
}

/** The body of every error, except those of the OAuth endpoints. */
export interface ErrorBody {
  /** When the error occurred. */
  timestamp: Timestamp;
  /** The HTTP status code. */
  status: number;
  /** The HTTP status message. */
  error: string;
  /** A stable error code: handle errors by this code, never by the message. */
  exception: "bellhop.contract.MalformedJson" | "bellhop.contract.NotAnArray" | "bellhop.contract.EmptyBatch" | "bellhop.contract.TooManyRecords" | "bellhop.contract.InvalidRecords" | "bellhop.http.BadRequest" | "bellhop.http.InvalidParameter" | "bellhop.http.NotFound" | "bellhop.http.MethodNotAllowed" | "bellhop.http.RequestTimeout" | "bellhop.http.PayloadTooLarge" | "bellhop.http.UnsupportedMediaType" | "bellhop.http.UnsupportedEncoding" | "bellhop.http.InvalidHeader" | "bellhop.http.HeadersTooLarge" | "bellhop.http.RateLimitExceeded" | "bellhop.http.Internal" | "bellhop.accept.IdempotencyKeyReused" | "bellhop.accept.TooManyNewProperties" | "bellhop.accept.Unavailable" | "bellhop.backfill.InvalidManifest" | "bellhop.backfill.NotFound" | "bellhop.backfill.NotOpen" | "bellhop.backfill.NotReady" | "bellhop.backfill.HasGaps" | "bellhop.backfill.UnknownBackfill" | "bellhop.backfill.NotInManifest" | "bellhop.backfill.Ahead" | "bellhop.backfill.TooManyOpen" | "bellhop.read.RequestNotFound" | "bellhop.insight.TooLarge" | "bellhop.insight.TimedOut" | "bellhop.feed.CursorGone" | "bellhop.webhook.InvalidWebhook" | "bellhop.webhook.NotFound" | (string & {});
  /** An explanation for developers. It may change. */
  message: string;
  /** The first 100 violations. */
  violations?: ViolationBody[] | undefined;
  /** The total number of violations. */
  violationTotal?: number | undefined;
}

/** One reason why a record was refused. */
export interface ViolationBody {
  /** JSON pointer (RFC 6901) into the batch. */
  pointer: string;
  /** A stable code. */
  code: "json.syntax" | "json.depth" | "json.size" | "json.values" | "type" | "required" | "null" | "length" | "enum" | "format.date" | "format.timestamp" | "number.integer" | "number.range" | "number.decimal" | "number.unsafe" | "order.dates" | "name.duplicate" | "name.forbidden" | "text.surrogate" | "text.nul" | (string & {});
  /** What the field accepts. It never repeats free text of the record. */
  message: string;
}

/** An access token (RFC 6749 section 5.1). */
export interface AccessToken {
  /** The token, a JWT: send it as `Authorization: Bearer …`. */
  access_token: string;
  /** Always Bearer. */
  token_type: "Bearer";
  /** Lifetime in seconds. */
  expires_in: number;
  /** The scopes of the token. */
  scope: string;
}

/** A UTC time with a trailing Z and up to nine fractional digits, returned as sent; the seconds may be omitted. Times are compared by their first six fractional digits. */
export type Timestamp = string;

/** Rooms of one room type on one date. */
export interface RoomTypeInventory {
  /** Code identifying the room type. */
  roomTypeCode: string;
  /** Accommodation capacity of the room type. */
  roomTypeCapacity: WholeNumber;
  /** Rooms unavailable due to maintenance. */
  roomsNotAvailableMaintenance?: WholeNumber | undefined;
  /** Rooms unavailable for other reasons. */
  roomsNotAvailableOther?: WholeNumber | undefined;
  /** Rooms sold. */
  roomsSold: WholeNumber;
  /** Transient rooms sold. */
  transientSold?: WholeNumber | undefined;
  /** Group rooms sold. */
  groupSold?: WholeNumber | undefined;
}

/** An unknown field. It is stored and returned verbatim. A number is within the range of a double. */
export type UnknownField = null | boolean | number | string | UnknownField[] | Record<string, unknown>;

/** An integer that fits 32 bits: a JSON number or a string of digits. */
export type WholeNumber = number | string;

/** One stay in one room type. */
export interface RoomStay {
  /** Date of arrival. */
  arrivalDate: string;
  /** Date of departure; equal to the arrival for day use. */
  departureDate: string;
  /** Room type code. */
  roomTypeCode: string;
  /** Booked room type code. */
  bookedRoomTypeCode?: string | undefined;
  /** Market segment code. */
  marketSegmentCode?: string | undefined;
  /** Group block code. */
  groupBlockCode?: string | undefined;
  /** Source booking code. */
  sourceBookingCode?: string | undefined;
  /** Room number. */
  roomNumber?: string | undefined;
  /** Number of adults. */
  numberOfAdults?: WholeNumber | undefined;
  /** Number of children. */
  numberOfChildren?: WholeNumber | undefined;
  /** Number of infants. */
  numberOfInfants?: NullableWholeNumber | undefined;
  /** Currency code, ISO 4217. */
  currencyCode?: string | undefined;
  /** Rate code. */
  rateCode?: string | undefined;
  /** Rates over date ranges. */
  rates?: Rate[] | undefined;
  /** Children grouped by age range. */
  childAgeBuckets?: ChildAgeBucket[] | undefined;
  /** Services attached. */
  services?: ReservationService[] | undefined;
}

/** A profile attached to the reservation. */
export interface Profile {
  /** Id of the profile. */
  id?: string | undefined;
  /** Name of the profile. */
  name?: string | undefined;
  /** Type of the profile. */
  profileType?: string | undefined;
  /** Context of the profile. */
  context?: string | null | undefined;
}

/** Revenue of the stays. */
export interface StayRevenue {
  /** Revenue by occupancy date. */
  daily?: DailyRevenue[] | undefined;
  summary?: SummaryRevenue | undefined;
}

/** A decimal of at most 38 digits, as a JSON number or a numeric string, stored exactly, or null. */
export type NullableDecimal = number | string | null;

/** Rooms blocked on one date in one room type. */
export interface GroupBlock {
  /** Occupancy date. */
  occupancyDate: string;
  /** Room type code. */
  roomTypeCode: string;
  /** Number of blocks. */
  blocks: WholeNumber;
  /** Rooms picked up from the block. */
  pickup?: WholeNumber | undefined;
  /** Original/initial rooms blocked. */
  originalBlocks?: WholeNumber | undefined;
  /** Single person rate. */
  singlePersonRate?: Decimal | undefined;
  /** Two person rate. */
  twoPersonRate?: Decimal | undefined;
  /** Three person rate. */
  threePersonRate?: NullableDecimal | undefined;
  /** Four person rate. */
  fourPersonRate?: NullableDecimal | undefined;
  /** Single person total rate. */
  singlePersonTotalRate?: Decimal | undefined;
  /** Two person total rate. */
  twoPersonTotalRate?: Decimal | undefined;
  /** Three person total rate. */
  threePersonTotalRate?: NullableDecimal | undefined;
  /** Four person total rate. */
  fourPersonTotalRate?: NullableDecimal | undefined;
  /** Single person occupancy. */
  singlePersonOccupancy?: WholeNumber | undefined;
  /** Two person occupancy. */
  twoPersonOccupancy?: WholeNumber | undefined;
  /** Three person occupancy. */
  threePersonOccupancy?: NullableWholeNumber | undefined;
  /** Four person occupancy. */
  fourPersonOccupancy?: NullableWholeNumber | undefined;
  /** Extra adult rate. */
  extraAdultRate?: NullableDecimal | undefined;
  /** Extra child rate. */
  extraChildRate?: NullableDecimal | undefined;
  /** Currency code, ISO 4217. */
  currencyCode?: string | undefined;
}

/** A service attached to the group. */
export interface GroupService {
  /** Name of the service. */
  serviceName?: string | undefined;
  /** Value of the service; may be negative. */
  serviceValue?: Decimal | undefined;
  /** Whether the rate includes the service. */
  inclusive?: boolean | undefined;
  /** First date of the service. */
  startDate?: string | undefined;
  /** Last date of the service. */
  endDate?: string | undefined;
}

/** The UUID (version 7) of an accepted batch. */
export type RequestId = string;

/** A warning about an accepted record. */
export interface Warning {
  /** JSON pointer (RFC 6901) into the batch. */
  pointer: string;
  /** A stable code. */
  code: "inventory.oversold" | "inventory.sold-split" | "inventory.room-type-repeated" | "inventory.too-many-room-types" | "count.negative" | "reservation.revenue-total" | "reservation.revenue-summary" | "reservation.outside-stay" | "reservation.too-many-nights" | "reservation.too-many-changes" | "reservation.overlapping-stays" | "group.pickup-above-blocks" | "group.outside-dates" | "group.too-many-blocks" | "field.similar" | "currency.unknown" | "time.implausible" | "status.unmapped" | "room-type.unknown" | "warnings.more" | (string & {});
  /** The warning as text. */
  message: string;
}

/** An integer that fits 32 bits, as a JSON number or a string of digits, or null. */
export type NullableWholeNumber = number | string | null;

/** The rate over a range of dates. */
export interface Rate {
  /** First date of the rate. */
  startDate?: string | undefined;
  /** Last date of the rate. */
  endDate?: string | undefined;
  /** Rate, sent as a string. */
  rateValue?: Decimal | undefined;
  /** Gross rate, sent as a string. */
  grossRateValue?: Decimal | undefined;
}

/** Children of one age range. */
export interface ChildAgeBucket {
  /** Youngest age of the range. */
  minimumAge?: Decimal | undefined;
  /** Oldest age of the range. */
  maximumAge?: Decimal | undefined;
  /** Children in the range. */
  numberOfChildren?: WholeNumber | undefined;
}

/** A service attached to the stay. */
export interface ReservationService {
  /** First date of the service. */
  startDate?: string | undefined;
  /** Last date of the service. */
  endDate?: string | undefined;
  /** Name of the service. */
  serviceName?: string | undefined;
  /** Value of the service. */
  serviceValue?: Decimal | undefined;
  /** Whether the rate includes the service. */
  inclusive?: boolean | undefined;
  /** Whether the service is a package of the reservation. */
  reservationPackage?: boolean | undefined;
  /** Whether the service is a package of room revenue. */
  roomRevenuePackage?: boolean | undefined;
}

/** Revenue of one occupancy date. */
export interface DailyRevenue {
  /** Date of the revenue. */
  occupancyDate: string;
  /** Net room revenue. */
  netRoomRevenue?: Decimal | undefined;
  /** Net food revenue. */
  netFoodRevenue?: Decimal | undefined;
  /** Net beverage revenue. */
  netBeverageRevenue?: Decimal | undefined;
  /** Net other revenue. */
  netOtherRevenue?: Decimal | undefined;
  /** Net ticket price. */
  netTicketPrice?: Decimal | undefined;
  /** Ticket price. */
  ticketPrice?: Decimal | undefined;
  /** Net total revenue. */
  netTotalRevenue?: Decimal | undefined;
  /** Gross total revenue. */
  grossTotalRevenue?: Decimal | undefined;
}

/** Revenue of the whole reservation. */
export interface SummaryRevenue {
  /** Net total ticket revenue. */
  netTotalTicketRevenue?: Decimal | undefined;
  /** Total ticket revenue. */
  totalTicketRevenue?: Decimal | undefined;
}

/** A decimal of at most 38 digits: a JSON number or a numeric string. Stored exactly, never converted to binary floating point. */
export type Decimal = number | string;

/** What `listInventories` can be asked. */
export interface ListInventoriesQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** Only this record. */
  occupancyDate?: string | undefined;
  /** Occupancy date on or after this. */
  from?: string | undefined;
  /** Occupancy date on or before this. */
  to?: string | undefined;
  /** Source time at or after this. */
  modifiedSince?: Timestamp | undefined;
  /** The records as they were known at this instant: everything received up to then, inclusive. */
  asOf?: Timestamp | undefined;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listReservations` can be asked. */
export interface ListReservationsQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** Only this record. */
  reservationId?: string | undefined;
  /** First arrival on or after this. */
  from?: string | undefined;
  /** First arrival on or before this. */
  to?: string | undefined;
  /** Only records with exactly this status. */
  status?: string | undefined;
  /** Source time at or after this. */
  modifiedSince?: Timestamp | undefined;
  /** The records as they were known at this instant: everything received up to then, inclusive. */
  asOf?: Timestamp | undefined;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listGroups` can be asked. */
export interface ListGroupsQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** Only this record. */
  groupCode?: string | undefined;
  /** Start date on or after this. */
  from?: string | undefined;
  /** Start date on or before this. */
  to?: string | undefined;
  /** Only records with exactly this status. */
  status?: string | undefined;
  /** Source time at or after this. */
  modifiedSince?: Timestamp | undefined;
  /** The records as they were known at this instant: everything received up to then, inclusive. */
  asOf?: Timestamp | undefined;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listRequests` can be asked. */
export interface ListRequestsQuery {
  /** Only batches of this kind. */
  resource?: "inventories" | "reservations" | "groups" | undefined;
  /** Only batches with a record of this property. Send both codes or neither. */
  clientCode?: string | undefined;
  /** Only batches with a record of this property. Send both codes or neither. */
  propertyCode?: string | undefined;
  /** Only batches with a record of this outcome. */
  outcome?: "applied" | "unchanged" | "stale" | "duplicate" | "quarantined" | "discarded" | "rejected" | undefined;
  /** Received at or after this time. */
  from?: Timestamp | undefined;
  /** Received at or before this time. */
  to?: Timestamp | undefined;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listInventoriesHistory` can be asked. */
export interface ListInventoriesHistoryQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** The record whose history to read. */
  occupancyDate: string;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listReservationsHistory` can be asked. */
export interface ListReservationsHistoryQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** The record whose history to read. */
  reservationId: string;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** What `listGroupsHistory` can be asked. */
export interface ListGroupsHistoryQuery {
  /** The client code of the property. */
  clientCode: string;
  /** The property code. */
  propertyCode: string;
  /** The record whose history to read. */
  groupCode: string;
  /** The maximum number of items per page. A page may have fewer, even none: continue while `nextCursor` is not null. */
  limit?: number | undefined;
}

/** Every code of an error object. */
export type ErrorCode = ErrorBody["exception"];
/** Every code of a violation. */
export type ViolationCode = ViolationBody["code"];
