import { microsecondTimestamp } from "./calendar.ts";
import { contentHash } from "./content-hash.ts";
import { groupFacts } from "./group-facts.ts";
import { ALL_NAMES, inspectElement } from "./inspect-element.ts";
import { inventoryFacts } from "./inventory-facts.ts";
import {
  type FactsText,
  type RecordContent,
  type RecordReading,
  UnreadableRecord,
} from "./record-reading.ts";
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
import { WarningList } from "./warning.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

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

/** All that apply needs of one accepted record, by scanning it for its identity and parsing it for its content. */
export function parsedReading(resource: Resource, bytes: Buffer): RecordReading {
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

/** A text that is made when its size is asked for. */
class MadeFacts implements FactsText {
  readonly #make: () => string;
  #text: string | undefined;

  constructor(make: () => string) {
    this.#make = make;
  }

  bytesMax(): number {
    this.#text ??= this.#make();
    // A UTF-16 unit takes at most three bytes as UTF-8.
    return this.#text.length * 3;
  }

  write(to: Buffer, at: number): number {
    return at + to.write(this.#text ?? this.#make(), at, "utf8");
  }
}

function readContent(resource: Resource, bytes: Buffer, doubts: number): RecordContent {
  try {
    const value = parsedValue(bytes, doubts);
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

function parsedValue(bytes: Buffer, doubts: number): unknown {
  if ((doubts & HAS_LONG_NUMBER) === 0) return JSON.parse(bytes.toString("utf8"));
  const order = { index: 0, violationsMax: 0, keeps: ALL_NAMES, namesAreSound: true };
  const { fault, value } = inspectElement(bytes, 0, bytes.length, order);
  if (fault !== undefined) throw new Error(`Expected ${fault.expected} at byte ${fault.offset}.`);
  return value;
}

function inventoryContent(record: Inventory): RecordContent {
  const warnings = new WarningList();
  warnOfInventory(record, warnings);
  return {
    status: null,
    fromDate: record.occupancyDate,
    toDate: record.occupancyDate,
    roomTypeCodes: inventoryRoomTypes(record),
    facts: new MadeFacts(() => inventoryFacts(record)),
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
    facts: new MadeFacts(() => reservationFacts(record)),
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
    facts: new MadeFacts(() => groupFacts(record)),
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
