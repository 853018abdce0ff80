import { microsecondTimestamp } from "./calendar.ts";
import { contentHash } from "./content-hash.ts";
import { groupFacts } from "./group-facts.ts";
import { inspectElement } from "./inspect-element.ts";
import { inventoryFacts } from "./inventory-facts.ts";
import { reservationFacts } from "./reservation-facts.ts";
import type { Resource } from "./resource.ts";
import { HAS_LONG_NUMBER } from "./scan-element.ts";
import { scanRecord } from "./scan-record.ts";
import type { Group } from "./schema/group.ts";
import type { Inventory } from "./schema/inventory.ts";
import type { Reservation } from "./schema/reservation.ts";
import { warnOfGroup } from "./warn-of-group.ts";
import { warnOfInventory } from "./warn-of-inventory.ts";
import { warnOfReservation } from "./warn-of-reservation.ts";
import { type Warning, WarningList } from "./warning.ts";

/** All that apply needs of one accepted record. It depends on the record's bytes alone. */
export interface RecordReading {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode: with the two codes, the record's identity. */
  readonly key: string;
  /** ISO 8601 UTC with exactly six fractional digits and Z, so that text order is time order. */
  readonly sourceTime: string;
  /** 32 hexadecimal digits; see `contentHash`. */
  readonly contentHash: string;
  /** The label as sent; null for inventory. */
  readonly status: string | null;
  /** First and last date that the record is about, `YYYY-MM-DD`: the date; earliest arrival, latest departure; start, end. */
  readonly fromDate: string;
  readonly toDate: string;
  /** The room types that it names, each once, in order of appearance. */
  readonly roomTypeCodes: readonly string[];
  /**
   * Its facts as the text of a `bellhop.reservation_facts` and so on; made when asked for, since an unchanged record needs
   * none. Throws UnstorableFact where a view over the text would fail.
   */
  readonly facts: () => string;
  readonly warnings: readonly Warning[];
}

/** The top-level fields that are not content: a record sent again with a newer time is unchanged. */
const NOT_CONTENT = {
  inventories: ["createDateTime", "correlationId"],
  reservations: ["lastModifiedDateTime", "correlationId"],
  groups: ["lastModifiedDateTime", "correlationId"],
} as const satisfies Record<Resource, readonly string[]>;

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Bytes that are not a valid record are a programmer's
 * mistake: the result is then undefined, or it throws.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  const { runs, doubts } = scanRecord(bytes, NOT_CONTENT[resource]);
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  if ((doubts & HAS_LONG_NUMBER) !== 0) {
    inspectElement(bytes, 0, bytes.length, { index: 0, violationsMax: 0, value, namesAreSound: true });
  }
  const hash = contentHash(bytes, runs);
  switch (resource) {
    case "inventories":
      return readInventory(value as Inventory, hash);
    case "reservations":
      return readReservation(value as Reservation, hash);
    case "groups":
      return readGroup(value as Group, hash);
  }
}

function readInventory(record: Inventory, hash: string): RecordReading {
  const warnings = new WarningList();
  warnOfInventory(record, warnings);
  return {
    clientCode: record.clientCode,
    propertyCode: record.propertyCode,
    key: record.occupancyDate,
    sourceTime: microsecondTimestamp(record.createDateTime),
    contentHash: hash,
    status: null,
    fromDate: record.occupancyDate,
    toDate: record.occupancyDate,
    roomTypeCodes: inventoryRoomTypes(record),
    facts: () => inventoryFacts(record),
    warnings: warnings.toArray(),
  };
}

function readReservation(record: Reservation, hash: string): RecordReading {
  const warnings = new WarningList();
  warnOfReservation(record, warnings);
  return {
    clientCode: record.clientCode,
    propertyCode: record.propertyCode,
    key: record.reservationId,
    sourceTime: microsecondTimestamp(record.lastModifiedDateTime),
    contentHash: hash,
    status: record.status,
    fromDate: firstArrival(record),
    toDate: lastDeparture(record),
    roomTypeCodes: distinct(record.roomStays, (stay) => stay.roomTypeCode),
    facts: () => reservationFacts(record),
    warnings: warnings.toArray(),
  };
}

function readGroup(record: Group, hash: string): RecordReading {
  const warnings = new WarningList();
  warnOfGroup(record, warnings);
  return {
    clientCode: record.clientCode,
    propertyCode: record.propertyCode,
    key: record.groupCode,
    sourceTime: microsecondTimestamp(record.lastModifiedDateTime),
    contentHash: hash,
    status: record.groupStatusCode,
    fromDate: record.startDate,
    toDate: record.endDate,
    roomTypeCodes: distinct(record.groupBlocks, (block) => block.roomTypeCode),
    facts: () => groupFacts(record),
    warnings: warnings.toArray(),
  };
}

/** Dates as `YYYY-MM-DD` compare as text. */
function firstArrival({ roomStays }: Reservation): string {
  let first = roomStays[0]?.arrivalDate ?? "";
  for (const { arrivalDate } of roomStays) if (arrivalDate < first) first = arrivalDate;
  return first;
}

function lastDeparture({ roomStays }: Reservation): string {
  let last = roomStays[0]?.departureDate ?? "";
  for (const { departureDate } of roomStays) if (departureDate > last) last = departureDate;
  return last;
}

function inventoryRoomTypes({
  roomTypeInventories,
  virtualRoomTypeInventories = [],
}: Inventory): readonly string[] {
  const rooms =
    virtualRoomTypeInventories.length === 0
      ? roomTypeInventories
      : [...roomTypeInventories, ...virtualRoomTypeInventories];
  return distinct(rooms, (room) => room.roomTypeCode);
}

function distinct<Item>(items: readonly Item[], codeOf: (item: Item) => string): readonly string[] {
  if (items.length === 1) return [codeOf(items[0] as Item)];
  const codes = new Set<string>();
  for (const item of items) codes.add(codeOf(item));
  return [...codes];
}
