import { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { SettledRooms } from "./night-rooms.ts";
import type { Differences } from "./rank-causes.ts";
import type { NightSums, ReportedNight } from "./reconciliation.ts";

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
export async function pickedUpOf(
  settled: ReadonlyMap<string, readonly SettledRooms[]>,
): Promise<(night: string, group: string, roomType: string | null) => number> {
  const pauses = new WorkPauses();
  const nights = new Map<string, Map<string, Map<string | null, number>>>();
  for (const [night, rows] of settled) {
    const groups = new Map<string, Map<string | null, number>>();
    nights.set(night, groups);
    for await (const some of pauses.inParts(rows))
      for (const { block_group: group, room_type, rooms } of some) {
        if (group === null) continue;
        const roomTypes = groups.get(group) ?? new Map<string | null, number>();
        groups.set(group, roomTypes.set(room_type, rooms));
      }
  }
  return (night, group, roomType) => nights.get(night)?.get(group)?.get(roomType) ?? 0;
}

/** Whether inventory names a room type on any of the nights. */
export function listedAround(
  reports: Iterable<Pick<ReportedNight, "rooms"> | undefined>,
): (roomType: string) => boolean {
  const listed = new Set<string | null>();
  for (const report of reports) for (const { unit } of report?.rooms ?? []) listed.add(unit);
  return (roomType) => listed.has(roomType);
}
