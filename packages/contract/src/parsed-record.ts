import { hash } from "node:crypto";
import { microsecondTimestamp } from "./calendar.ts";
import { integerValue } from "./decimal.ts";
import { GROUP_BLOCKS_MAX } from "./insight-bounds.ts";
import { ALL_NAMES, inspectElement } from "./inspect-element.ts";
import { parsedSpans } from "./parsed-facts.ts";
import {
  type FactsText,
  type RecordContent,
  type RecordReading,
  UnreadableRecord,
} from "./record-reading.ts";
import type { Resource } from "./resource.ts";
import { HAS_LONG_NUMBER } from "./scan-element.ts";
import { SoughtMembers, scanRecord } from "./scan-record.ts";
import type { Group, GroupBlock } from "./schema/group.ts";
import type { Inventory } from "./schema/inventory.ts";
import type { Reservation } from "./schema/reservation.ts";
import type { RecordSpans } from "./walk-spans.ts";
import { warnOfInventory } from "./warn-of-inventory.ts";
import { warnOfNegative } from "./warn-of-negative.ts";
import { warnOfReservation } from "./warn-of-reservation.ts";
import { WarningList } from "./warning.ts";
import { factsBytesMax, writeFacts } from "./write-facts.ts";

const COUNTS = [
  "blocks",
  "pickup",
  "originalBlocks",
  "singlePersonOccupancy",
  "twoPersonOccupancy",
  "threePersonOccupancy",
  "fourPersonOccupancy",
] as const;

/** Warns of what is doubtful in a group: pickup above its block, blocks outside the group's dates. */
export function warnOfGroup(record: Group, warnings: WarningList): void {
  const { length } = record.groupBlocks;
  if (length > GROUP_BLOCKS_MAX) {
    const message = `the group has ${length} blocks, and insight counts up to ${GROUP_BLOCKS_MAX}: it leaves them out`;
    warnings.add("group.too-many-blocks", ["groupBlocks"], message);
  }
  for (let at = 0; at < record.groupBlocks.length; at += 1) {
    const block = record.groupBlocks[at] as GroupBlock;
    const path = ["groupBlocks", at] as const;
    warnOfNegative(block, COUNTS, path, warnings);
    const blocked = integerValue(block.blocks) ?? 0;
    const pickup = integerValue(block.pickup);
    if (pickup !== undefined && pickup > blocked) {
      warnings.add(
        "group.pickup-above-blocks",
        [...path, "pickup"],
        `pickup is ${pickup}, blocks is ${blocked}`,
      );
    }
    if (block.occupancyDate < record.startDate || block.occupancyDate > record.endDate) {
      const message = `${block.occupancyDate} is outside ${record.startDate} to ${record.endDate}`;
      warnings.add("group.outside-dates", [...path, "occupancyDate"], message);
    }
  }
}

const HASH_DIGITS = 32;

// Records are about 2 kB; a larger one gets a buffer of its own, so that the process keeps no more than this.
const SCRATCH_BYTES = 65_536;
const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);

/**
 * The content hash of an accepted record: the first 16 bytes, as hexadecimal digits, of SHA-256 over its bytes as sent, less its top-level source
 * time and correlation id, wherever they stand. `runs` are the bytes that count (see `scanRecord`). What is hashed is `{`,
 * the runs joined by commas, and `}`: JSON again, so records that differ in anything kept never hash the same text.
 * Two spellings of one content may differ.
 */
export function contentHash(record: Buffer, runs: ArrayLike<number>): string {
  const bytes = (runs[runs.length - 1] ?? 0) - (runs[0] ?? 0) + 2;
  const room = bytes <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafe(bytes);
  let size = 0;
  room[size++] = 0x7b;
  for (let run = 0; run < runs.length; run += 2) {
    if (run > 0) room[size++] = 0x2c;
    size += record.copy(room, size, runs[run], runs[run + 1]);
  }
  room[size++] = 0x7d;
  return hash("sha256", room.subarray(0, size), "hex").slice(0, HASH_DIGITS);
}

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

/** Facts that are made when their size is asked for. */
class MadeFacts implements FactsText {
  readonly #resource: Resource;
  readonly #record: Inventory | Reservation | Group;
  #made: RecordSpans | undefined;

  constructor(resource: Resource, record: Inventory | Reservation | Group) {
    this.#resource = resource;
    this.#record = record;
  }

  bytesMax(): number {
    return factsBytesMax(this.#spans());
  }

  write(to: Buffer, at: number): number {
    return writeFacts(this.#resource, this.#spans(), to, at);
  }

  #spans(): RecordSpans {
    this.#made ??= parsedSpans(this.#resource, this.#record);
    return this.#made;
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
    facts: new MadeFacts("inventories", record),
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
    facts: new MadeFacts("reservations", record),
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
    facts: new MadeFacts("groups", record),
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
