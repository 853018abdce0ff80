import { knownStatus } from "#contract/statuses.ts";
import type { SimulatedRecord } from "#simulator/records.ts";
import { dayOf } from "../workload/calendar-day.ts";

interface Stay {
  readonly arrivalDate: string;
  readonly departureDate: string;
  readonly roomTypeCode: string;
  readonly groupBlockCode?: string;
}

interface ReservationFields {
  readonly lastModifiedDateTime: string;
  readonly status: string;
  readonly numberOfRooms: number;
  readonly shareId?: string;
  readonly roomStays: readonly [Stay];
}

interface GroupFields {
  readonly groupStatusCode: string;
  readonly groupBlocks: readonly {
    readonly occupancyDate: string;
    readonly roomTypeCode: string;
    readonly blocks: number;
    readonly pickup: number;
  }[];
}

interface InventoryFields {
  readonly occupancyDate: string;
  readonly roomTypeInventories: readonly {
    readonly roomTypeCode: string;
    readonly roomTypeCapacity: number;
    readonly roomsNotAvailableMaintenance: number;
    readonly roomsNotAvailableOther: number;
    readonly roomsSold: number;
    readonly transientSold: number;
    readonly groupSold: number;
  }[];
}

/** Rooms of a night and room type, counted from reservations. */
export interface CountedRooms {
  transient: number;
  group: number;
}

/**
 * One hotel as whoever receives its records knows it: the newest version of each reservation and group, and the newest inventory of each
 * night. Counted from what the records say and nothing else: it shares no code with the simulator.
 */
export class FoldedHotel {
  readonly reservations = new Map<string, ReservationFields>();
  readonly groups = new Map<string, GroupFields>();
  readonly inventories = new Map<string, InventoryFields>();

  take({ resource, key, json }: SimulatedRecord): void {
    const record: unknown = JSON.parse(json.toString());
    if (resource === "inventories") this.inventories.set(key, record as InventoryFields);
    else if (resource === "groups") this.groups.set(key, record as GroupFields);
    else {
      const before = this.reservations.get(key);
      const reservation = record as ReservationFields;
      if (before === undefined || before.lastModifiedDateTime < reservation.lastModifiedDateTime)
        this.reservations.set(key, reservation);
    }
  }

  /** Rooms on the books by `date type`; who shares a room is counted once. */
  counted(): Map<string, CountedRooms> {
    const rooms = new Map<string, CountedRooms>();
    const shared = new Set<string>();
    for (const { status, numberOfRooms, shareId, roomStays } of this.reservations.values()) {
      if (knownStatus("reservations", status)?.deducts !== true) continue;
      const [{ arrivalDate, departureDate, roomTypeCode, groupBlockCode }] = roomStays;
      for (let day = dayOf(arrivalDate); day < dayOf(departureDate); day += 1) {
        const night = `${day} ${shareId}`;
        if (shareId !== undefined && shared.has(night)) continue;
        if (shareId !== undefined) shared.add(night);
        const key = `${day} ${roomTypeCode}`;
        const counted = rooms.get(key) ?? { transient: 0, group: 0 };
        counted[groupBlockCode === undefined ? "transient" : "group"] += numberOfRooms;
        rooms.set(key, counted);
      }
    }
    return rooms;
  }

  /** Rooms picked up by group, as its reservations come to, by `group day type`. */
  pickedUp(): Map<string, number> {
    const rooms = new Map<string, number>();
    for (const { status, numberOfRooms, roomStays } of this.reservations.values()) {
      const [{ arrivalDate, departureDate, roomTypeCode, groupBlockCode }] = roomStays;
      if (groupBlockCode === undefined || knownStatus("reservations", status)?.deducts !== true) continue;
      for (let day = dayOf(arrivalDate); day < dayOf(departureDate); day += 1) {
        const key = `${groupBlockCode} ${day} ${roomTypeCode}`;
        rooms.set(key, (rooms.get(key) ?? 0) + numberOfRooms);
      }
    }
    return rooms;
  }
}
