import type { Resource } from "#contract/resource.ts";
import { dateOfDay } from "../test/workload/calendar-day.ts";
import { SeededRandom } from "../test/workload/seeded-random.ts";
import { generateWorkload } from "../test/workload/workload.ts";
import { PUSH_DATES, PUSH_ROOM_TYPES } from "./cases.ts";

/** Placeholders for the values that a round changes, of the same width as their replacements. */
export const SLOTS = {
  property: "H@@@@@@",
  correlation: "c-@@@@@@@@",
  time: "2000-01-01T00:00:00Z",
  key: { reservations: "R@@@@@@@@@", groups: "G@@@@@@@@@", inventories: "1900-01-01" },
  /** Varies the content: a confirmation number, a description, rooms not available. */
  content: { reservations: "C@@@@@@@@@", groups: "D@@@@@@@@@", inventories: '"roomsNotAvailableOther":7' },
} as const;

export const CLIENT_CODE = "ALGARVE";

const SEED = 20_260_101;
/** Yields about 29,000 reservations of two hotels. */
const FEED_RECORDS = 40_000;

let feed: ReturnType<typeof generateWorkload> | undefined;

function feedRecords(resource: Resource): string[] {
  feed ??= generateWorkload({ seed: SEED, records: FEED_RECORDS, properties: 12 });
  return feed
    .filter((message) => message.resource === resource)
    .map(({ json }) => {
      const record: Record<string, unknown> = {
        ...(JSON.parse(json) as Record<string, unknown>),
        clientCode: CLIENT_CODE,
        propertyCode: SLOTS.property,
        correlationId: SLOTS.correlation,
        lastModifiedDateTime: SLOTS.time,
      };
      if (resource === "reservations") {
        record["reservationId"] = SLOTS.key.reservations;
        record["confirmationNumber"] = SLOTS.content.reservations;
      } else {
        record["groupCode"] = SLOTS.key.groups;
        record["description"] = SLOTS.content.groups;
      }
      return JSON.stringify(record);
    });
}

function roomTypesOf(random: SeededRandom): object[] {
  return Array.from({ length: PUSH_ROOM_TYPES }, (_, type) => {
    const capacity = 30 + 4 * type;
    const sold = random.between(0, 20);
    const group = random.between(0, Math.floor(sold / 3));
    return {
      roomTypeCode: `RT${String(type + 1).padStart(2, "0")}`,
      roomTypeCapacity: capacity,
      roomsNotAvailableMaintenance: random.chance(0.05) ? 1 : 0,
      roomsNotAvailableOther: type === 0 ? 7 : 0,
      roomsSold: sold,
      transientSold: sold - group,
      groupSold: group,
    };
  });
}

function inventoryRecords(): string[] {
  const random = SeededRandom.stream(SEED, 3);
  return Array.from({ length: 4 * PUSH_DATES }, () =>
    JSON.stringify({
      clientCode: CLIENT_CODE,
      propertyCode: SLOTS.property,
      createDateTime: SLOTS.time,
      occupancyDate: SLOTS.key.inventories,
      correlationId: SLOTS.correlation,
      roomTypeInventories: roomTypesOf(random),
    }),
  );
}

const prepared = new Map<Resource, string[]>();

/** Records of a resource as JSON text with SLOTS: real bookings and their groups, or two years of inventory. */
export function recordTemplates(resource: Resource): readonly string[] {
  let templates = prepared.get(resource);
  if (templates === undefined) {
    templates = resource === "inventories" ? inventoryRecords() : feedRecords(resource);
    prepared.set(resource, templates);
  }
  return templates;
}

const FIRST_DAY = 16_617;

/** The nth key of a hotel, padded to its slot. */
export function keyText(resource: Resource, number: number): string {
  if (resource === "inventories") return dateOfDay(FIRST_DAY + number);
  return `${resource === "groups" ? "G" : "R"}${String(number).padStart(9, "0")}`;
}

/** The content for a mark, padded to its slot; consecutive marks differ. */
export function contentText(resource: Resource, mark: number): string {
  if (resource === "inventories") return `"roomsNotAvailableOther":${mark % 9}`;
  return `${resource === "groups" ? "D" : "C"}${String(mark).padStart(9, "0")}`;
}
