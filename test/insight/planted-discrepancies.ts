import { groupRecord, inventoryRecord, type LooseRecord, reservationRecord } from "../support/records.ts";

/** Ways in which a hotel's inventory and its reservations and blocks come to differ. */
export const DISCREPANCIES = [
  "missing reservation",
  "wrong sold count",
  "share counted twice",
  "cancelled but still sold",
  "unpicked block",
] as const;
export type Discrepancy = (typeof DISCREPANCIES)[number];

/** A record that has a part in a discrepancy. */
export interface Culprit {
  readonly resource: "inventories" | "reservations" | "groups";
  readonly key: string;
}

/** What is wrong on purpose, and where. */
export interface Planted {
  /** In order. All other nights of the hotel agree, and so does its other room type. */
  readonly nights: readonly string[];
  readonly roomType: string;
  /** What inventory reports less what reservations come to, each of these nights. */
  readonly difference: number;
  readonly culprits: readonly Culprit[];
}

/** Everything that a hotel has sent by the end, and what is wrong with it; nothing where nothing was planted. */
export interface PlantedHotel {
  readonly reservations: readonly LooseRecord[];
  readonly groups: readonly LooseRecord[];
  readonly inventories: readonly LooseRecord[];
  readonly planted: Planted | undefined;
}

export const FIRST_NIGHT = "2026-09-01";
export const LAST_NIGHT = "2026-09-14";
const NIGHTS = 14;
const CAPACITY: Readonly<Record<string, number>> = { STD: 40, DLX: 20 };
/** The definite group's nights, from the seventh to the ninth; two of its rooms a night are not picked up. */
const BLOCK = { first: 6, blocks: 6, pickup: 4 };
const BLOCK_NIGHTS = 3;

/** The hotel's nights are counted from 0. */
function dateOf(night: number): string {
  return `2026-09-${String(night + 1).padStart(2, "0")}`;
}

/** One reservation as the generator knows it. */
interface Stay {
  readonly id: string;
  readonly first: number;
  readonly nights: number;
  readonly roomType: string;
  readonly rooms: number;
  readonly isCancelled: boolean;
  readonly share?: string;
  readonly group?: string;
}

/** Thirty guests of their own, two who share a room, and the group's: no draw, so that a failed test can be read. */
function staysOf(): Stay[] {
  const transient = Array.from({ length: 30 }, (_, at): Stay => {
    const first = (at * 3) % 10;
    return {
      id: `R-${String(at + 1).padStart(3, "0")}`,
      first,
      nights: 1 + (at % 4),
      roomType: at % 3 === 0 ? "DLX" : "STD",
      rooms: at % 7 === 0 ? 2 : 1,
      isCancelled: at % 6 === 5,
    };
  });
  const sharers = ["R-101", "R-102"].map(
    (id): Stay => ({ id, first: 4, nights: 3, roomType: "STD", rooms: 1, isCancelled: false, share: "SH-1" }),
  );
  const members = Array.from({ length: BLOCK.pickup }, (_, at): Stay => {
    const stay = { first: BLOCK.first, nights: BLOCK_NIGHTS, roomType: "STD", rooms: 1 };
    return { id: `R-20${at}`, ...stay, isCancelled: false, group: "GRP-1" };
  });
  return [...transient, ...sharers, ...members];
}

function reservationOf({ id, first, nights, roomType, rooms, isCancelled, share, group }: Stay): LooseRecord {
  return reservationRecord({
    reservationId: id,
    lastModifiedDateTime: "2026-08-01T10:00:00Z",
    status: isCancelled ? "CANCELLED" : "CONFIRMED",
    numberOfRooms: rooms,
    ...(share === undefined ? {} : { shareId: share }),
    roomStays: [
      {
        arrivalDate: dateOf(first),
        departureDate: dateOf(first + nights),
        roomTypeCode: roomType,
        ...(group === undefined ? {} : { groupBlockCode: group }),
      },
    ],
  });
}

/** A group's block of STD on each of its nights. */
function groupOf(groupCode: string, groupStatusCode: string): LooseRecord {
  const nights = nightsOf({ first: BLOCK.first, nights: BLOCK_NIGHTS });
  const { blocks, pickup } = BLOCK;
  return groupRecord({
    groupCode,
    groupStatusCode,
    lastModifiedDateTime: "2026-08-01T10:00:00Z",
    startDate: nights[0],
    endDate: nights.at(-1),
    cutoffDate: null,
    groupBlocks: nights.map((occupancyDate) => ({ occupancyDate, roomTypeCode: "STD", blocks, pickup })),
  });
}

type Part = "transientSold" | "groupSold";

/** What is sold in the eyes of the hotel's inventory, by night and room type. */
class Sold {
  readonly #rooms = new Map<string, number>();

  add(
    part: Part,
    { first, nights, roomType, rooms }: Pick<Stay, "first" | "nights" | "roomType" | "rooms">,
  ): void {
    for (let night = first; night < first + nights; night += 1) {
      const key = `${night} ${roomType} ${part}`;
      this.#rooms.set(key, this.#of(key) + rooms);
    }
  }

  recordOf(night: number): LooseRecord {
    return inventoryRecord({
      createDateTime: "2026-08-20T04:00:00Z",
      occupancyDate: dateOf(night),
      roomTypeInventories: Object.entries(CAPACITY).map(([roomTypeCode, roomTypeCapacity]) => {
        const transientSold = this.#of(`${night} ${roomTypeCode} transientSold`);
        const groupSold = this.#of(`${night} ${roomTypeCode} groupSold`);
        const roomsSold = transientSold + groupSold;
        return { roomTypeCode, roomTypeCapacity, roomsSold, transientSold, groupSold };
      }),
    });
  }

  #of(key: string): number {
    return this.#rooms.get(key) ?? 0;
  }
}

function nightsOf({ first, nights }: Pick<Stay, "first" | "nights">): string[] {
  return Array.from({ length: nights }, (_, at) => dateOf(first + at));
}

const inventoriesOf = (nights: readonly string[]): Culprit[] =>
  nights.map((key) => ({ resource: "inventories", key }));

/**
 * A hotel of two weeks, two room types, a shared room and two groups, whose inventory agrees with its reservations night by
 * night, but for one discrepancy, if one is asked for. Rooms of a block that nobody picked up are not sold.
 */
export function plantedHotel(discrepancy?: Discrepancy): PlantedHotel {
  const stays = staysOf();
  const sold = new Sold();
  for (const stay of stays) {
    // Two who share a room have one.
    if (stay.isCancelled || (stay.share !== undefined && stay.id !== "R-101")) continue;
    sold.add(stay.group === undefined ? "transientSold" : "groupSold", stay);
  }
  const stayOf = (id: string) => stays.find((stay) => stay.id === id) as Stay;
  const missing = stayOf("R-010");
  let planted: Planted | undefined;
  const plant = (
    part: Part,
    more: Pick<Stay, "first" | "nights" | "roomType" | "rooms">,
    culprits: readonly Culprit[],
  ) => {
    sold.add(part, more);
    planted = { nights: nightsOf(more), roomType: more.roomType, difference: more.rooms, culprits };
  };
  switch (discrepancy) {
    case "missing reservation":
      planted = {
        nights: nightsOf(missing),
        roomType: missing.roomType,
        difference: missing.rooms,
        culprits: inventoriesOf(nightsOf(missing)),
      };
      break;
    case "wrong sold count":
      plant("transientSold", { first: 3, nights: 1, roomType: "STD", rooms: 3 }, inventoriesOf([dateOf(3)]));
      break;
    case "share counted twice":
      plant("transientSold", stayOf("R-102"), [
        { resource: "reservations", key: "R-101" },
        { resource: "reservations", key: "R-102" },
      ]);
      break;
    case "cancelled but still sold":
      plant("transientSold", stayOf("R-024"), [{ resource: "reservations", key: "R-024" }]);
      break;
    case "unpicked block":
      plant(
        "groupSold",
        { ...BLOCK, nights: BLOCK_NIGHTS, roomType: "STD", rooms: BLOCK.blocks - BLOCK.pickup },
        [{ resource: "groups", key: "GRP-1" }],
      );
      break;
    case undefined:
  }
  const isSent = ({ id }: Stay) => discrepancy !== "missing reservation" || id !== missing.id;
  return {
    reservations: stays.filter(isSent).map(reservationOf),
    groups: [groupOf("GRP-1", "DEFINITE"), groupOf("TEN-1", "TENTATIVE")],
    inventories: Array.from({ length: NIGHTS }, (_, night) => sold.recordOf(night)),
    planted,
  };
}
