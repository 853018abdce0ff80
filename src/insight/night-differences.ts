import type { SettledRooms } from "./night-rooms.ts";
import type { Differences } from "./rank-causes.ts";
import type { NightSums } from "./reconciliation.ts";

/** A hotel's transient and group rooms follow the same rule as its reservations if they agree on so many of the nights that do not differ. */
const AGREEING = 0.8;
const AGREEING_NIGHTS = 3;

/** The differences of a room type on the nights around, each computed once. */
export function differencesAround(
  nights: readonly string[],
  sums: ReadonlyMap<string, NightSums>,
): (roomType: string | null) => Differences {
  const known = new Map<string | null, Differences>();
  return (roomType) => {
    const found = known.get(roomType) ?? differencesOf(nights, sums, roomType);
    known.set(roomType, found);
    return found;
  };
}

function differencesOf(
  nights: readonly string[],
  sums: ReadonlyMap<string, NightSums>,
  roomType: string | null,
): Differences {
  const all = nights.map((night) => sums.get(night)?.differenceOf(roomType) ?? Number.NaN);
  const parts = nights.map((night) => sums.get(night)?.partsOf(roomType));
  const even = parts.filter((of, night) => of !== undefined && all[night] === 0);
  const agreeing = even.filter((of) => of?.transient === 0).length;
  if (even.length < AGREEING_NIGHTS || agreeing < AGREEING * even.length) return { all, parts: null };
  return {
    all,
    parts: {
      transient: parts.map((of) => of?.transient ?? Number.NaN),
      grouped: parts.map((of) => of?.grouped ?? Number.NaN),
    },
  };
}

/** Rooms on the books of a night, group and room type. */
export function pickedUpOf(
  settled: ReadonlyMap<string, readonly SettledRooms[]>,
): (night: string, group: string, roomType: string | null) => number {
  const keyOf = (group: string, roomType: string | null) => JSON.stringify([group, roomType]);
  const nights = new Map<string, ReadonlyMap<string, number>>();
  return (night, group, roomType) => {
    let rooms = nights.get(night);
    if (rooms === undefined) {
      rooms = new Map(
        (settled.get(night) ?? []).flatMap(({ block_group: of, room_type, rooms: count }) =>
          of === null ? [] : [[keyOf(of, room_type), count]],
        ),
      );
      nights.set(night, rooms);
    }
    return rooms.get(keyOf(group, roomType)) ?? 0;
  };
}
