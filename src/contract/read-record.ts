import { microsecondTimestamp } from "./calendar.ts";
import { contentHash } from "./content-hash.ts";
import { groupFacts } from "./group-facts.ts";
import { inspectElement } from "./inspect-element.ts";
import { inventoryFacts } from "./inventory-facts.ts";
import { reservationFacts } from "./reservation-facts.ts";
import type { Resource } from "./resource.ts";
import { HAS_LONG_NUMBER } from "./scan-element.ts";
import { SoughtMembers, scanRecord } from "./scan-record.ts";
import type { Group } from "./schema/group.ts";
import type { Inventory } from "./schema/inventory.ts";
import type { Reservation } from "./schema/reservation.ts";
import { warnOfGroup } from "./warn-of-group.ts";
import { warnOfInventory } from "./warn-of-inventory.ts";
import { warnOfReservation } from "./warn-of-reservation.ts";
import { type Warning, WarningList } from "./warning.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What lists filter by. */
export interface RecordFilters {
  /** The label as sent; null for inventory. */
  readonly status: string | null;
  /** First and last date that the record is about, `YYYY-MM-DD`: the date; earliest arrival, latest departure; start, end. */
  readonly fromDate: string;
  readonly toDate: string;
}

/** What is only known once the record is parsed, and the same for every record of one content. */
export interface RecordContent extends RecordFilters {
  /** The room types that it names, each once, in order of appearance. */
  readonly roomTypeCodes: readonly string[];
  /** Its facts as the text of a `bellhop.reservation_facts` and so on. Throws UnstorableFact where a view over the text would fail. */
  readonly facts: () => string;
  readonly warnings: readonly Warning[];
}

/**
 * All that apply needs of one accepted record. It depends on the record's bytes alone. They are parsed when the content is
 * first asked for: a record whose content is known already never is.
 */
export interface RecordReading {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** occupancyDate, reservationId or groupCode: with the two codes, the record's identity. */
  readonly key: string;
  /** ISO 8601 UTC with exactly six fractional digits and Z, so that text order is time order. */
  readonly sourceTime: string;
  /** 32 hexadecimal digits; see `contentHash`. */
  readonly contentHash: string;
  /** Throws UnreadableRecord for bytes that `checkRecord` would refuse. */
  readonly content: () => RecordContent;
}

/** The bytes are no valid record, although they were accepted: a fault of ours (a rule that changed), or damage. */
export class UnreadableRecord extends Error {}

/** Names of the identity, the source time and the correlation id. The last two are not content: sent again with newer ones, a record is unchanged. */
const SOUGHT: Readonly<Record<Resource, SoughtMembers>> = {
  inventories: new SoughtMembers(
    ["clientCode", "propertyCode", "occupancyDate"],
    ["createDateTime", "correlationId"],
  ),
  reservations: new SoughtMembers(
    ["clientCode", "propertyCode", "reservationId"],
    ["lastModifiedDateTime", "correlationId"],
  ),
  groups: new SoughtMembers(
    ["clientCode", "propertyCode", "groupCode"],
    ["lastModifiedDateTime", "correlationId"],
  ),
};

/**
 * Reads one accepted record: the bytes of a record that `checkRecord` found valid, as they were sent. The same bytes always
 * give the same reading, so a replay derives what apply derived. Throws UnreadableRecord where they name no identity or
 * source time.
 */
export function readRecord(resource: Resource, bytes: Buffer): RecordReading {
  const { runs, values, doubts } = scanRecord(bytes, SOUGHT[resource]);
  let content: RecordContent | undefined;
  return {
    clientCode: textAt(bytes, values, 0),
    propertyCode: textAt(bytes, values, 1),
    key: textAt(bytes, values, 2),
    sourceTime: microsecondTimestamp(textAt(bytes, values, 3)),
    contentHash: contentHash(bytes, runs),
    content: () => (content ??= readContent(resource, bytes, doubts)),
  };
}

/** A sought member's text. */
function textAt(bytes: Buffer, values: readonly number[], sought: number): string {
  const start = values[sought * 2] as number;
  const end = values[sought * 2 + 1] as number;
  if (end - start < 2 || bytes[start] !== QUOTE)
    throw new UnreadableRecord("A record has no identity or source time.");
  const hasEscape = bytes.subarray(start, end).includes(BACKSLASH);
  return hasEscape
    ? (JSON.parse(bytes.toString("utf8", start, end)) as string)
    : bytes.toString("utf8", start + 1, end - 1);
}

function readContent(resource: Resource, bytes: Buffer, doubts: number): RecordContent {
  try {
    const value: unknown = JSON.parse(bytes.toString("utf8"));
    if ((doubts & HAS_LONG_NUMBER) !== 0) {
      inspectElement(bytes, 0, bytes.length, { index: 0, violationsMax: 0, value, namesAreSound: true });
    }
    switch (resource) {
      case "inventories":
        return inventoryContent(value as Inventory);
      case "reservations":
        return reservationContent(value as Reservation);
      case "groups":
        return groupContent(value as Group);
    }
  } catch (cause) {
    throw new UnreadableRecord("An accepted record cannot be read again.", { cause });
  }
}

function inventoryContent(record: Inventory): RecordContent {
  const warnings = new WarningList();
  warnOfInventory(record, warnings);
  return {
    status: null,
    fromDate: record.occupancyDate,
    toDate: record.occupancyDate,
    roomTypeCodes: inventoryRoomTypes(record),
    facts: () => inventoryFacts(record),
    warnings: warnings.toArray(),
  };
}

function reservationContent(record: Reservation): RecordContent {
  const warnings = new WarningList();
  warnOfReservation(record, warnings);
  return {
    status: record.status,
    fromDate: firstArrival(record),
    toDate: lastDeparture(record),
    roomTypeCodes: distinct(record.roomStays, (stay) => stay.roomTypeCode),
    facts: () => reservationFacts(record),
    warnings: warnings.toArray(),
  };
}

function groupContent(record: Group): RecordContent {
  const warnings = new WarningList();
  warnOfGroup(record, warnings);
  return {
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
