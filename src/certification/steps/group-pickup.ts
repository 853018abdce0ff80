import { isLive, listOf, numberOf, type Stay, staysOf, textOf } from "../fields.ts";
import {
  type Evidence,
  type Finding,
  hotelOf,
  latestOf,
  pending,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";

/** Limits of the blocks of a group, and of the stays that name it, that are read. */
const BLOCKS_MAX = 1_000;
const STAYS_MAX = 1_000;

/** A stay that picks up rooms of a group's block. */
interface Picked {
  readonly record: SeenRecord;
  readonly stay: Stay;
  readonly rooms: number;
}

const groupId = (record: SeenRecord, code: string): string => JSON.stringify([hotelOf(record), code]);

/** Stays of live reservations by the group that they name. */
function pickedUp(evidence: Evidence): Map<string, Picked[]> {
  const live = latestOf(evidence, "reservations").filter(isLive);
  const stays = live.flatMap((record) => {
    const rooms = numberOf(record.fields, "numberOfRooms") ?? 1;
    return staysOf(record).map((stay) => ({ record, stay, rooms }));
  });
  const named = stays.filter(({ stay }) => stay.block !== undefined);
  return Map.groupBy(named, ({ record, stay }) => groupId(record, stay.block ?? ""));
}

/** The rooms of the stays in a room type on a night, for any number of nights: each stay is read once. */
function bookedIn(picked: readonly Picked[]): (roomType: string, night: string) => number {
  const stays = picked.filter(({ stay }) => stay.arrival < stay.departure);
  const changes = stays.flatMap(({ stay: { roomType, arrival, departure }, rooms }) => [
    { roomType, from: arrival, rooms },
    { roomType, from: departure, rooms: -rooms },
  ]);
  const totals = new Map<string, { readonly from: string; readonly rooms: number }[]>();
  for (const { roomType, from, rooms } of changes.sort(
    (one, other) => Number(one.from > other.from) - Number(one.from < other.from),
  )) {
    const ofType = totals.get(roomType) ?? [];
    totals.set(roomType, ofType);
    ofType.push({ from, rooms: rooms + (ofType.at(-1)?.rooms ?? 0) });
  }
  return (roomType, night) => {
    const ofType = totals.get(roomType) ?? [];
    let [low, high] = [0, ofType.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((ofType[middle]?.from ?? "") <= night) low = middle + 1;
      else high = middle;
    }
    return ofType[low - 1]?.rooms ?? 0;
  };
}

function findingOfGroupPickup(record: SeenRecord, picked: readonly Picked[]): Finding[] {
  if (picked.length === 0) return [];
  const { key, fields, receivedAt } = record;
  const requests = [...new Set(picked.map((one) => one.record.requestId)), record.requestId];
  const blocks = listOf(fields, "groupBlocks").slice(0, BLOCKS_MAX);
  const bookedOn = bookedIn(picked.slice(0, STAYS_MAX));
  const counted = blocks.map((block) => {
    const [night, roomType] = [textOf(block, "occupancyDate") ?? "", textOf(block, "roomTypeCode") ?? ""];
    const booked = bookedOn(roomType, night);
    return { place: `${night} ${roomType}`, pickup: numberOf(block, "pickup") ?? 0, booked };
  });
  const behind = counted.find(({ pickup, booked }) => pickup < booked);
  const places = new Set(counted.flatMap(({ place, booked }) => (booked > 0 ? place : [])));
  if (behind === undefined && places.size > 0)
    return [right(`${key} reports the pickup of ${places.size} blocks.`, ...requests)];
  if (!picked.every((one) => receivedAt > one.record.receivedAt))
    return [pending("A reservation names the group; the group has not been sent again with its pickup.")];
  const reason =
    behind === undefined
      ? `The reservations of ${key} are not in any night and room type with a block.`
      : `${key} was sent after its reservations with a pickup of ${behind.pickup} for ${behind.place}, but ${behind.booked} rooms are booked. Send the group again whenever a room is picked up.`;
  return [wrong(reason, ...requests)];
}

/** Specification section 2.3: rooms picked up from a block, which the group counts and the reservations name. */
export const groupPickup: Step = {
  name: "group-pickup",
  title: "A group with pickup",
  docs: "guides/groups#block-pickup-and-wash",
  instruction: () =>
    "Book a room from a group's block (roomStays/0/groupBlockCode is the groupCode) and send the reservation. Then send the group again with a higher pickup of those nights and that room type.",
  notYet: "No reservation with a group's groupBlockCode has been received.",
  find(evidence) {
    const picked = pickedUp(evidence);
    return latestOf(evidence, "groups").flatMap((record) =>
      findingOfGroupPickup(record, picked.get(groupId(record, record.key)) ?? []),
    );
  },
};
