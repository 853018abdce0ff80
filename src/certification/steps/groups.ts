import { hasNight, isLive, listOf, numberOf, type Stay, staysOf, textOf } from "../fields.ts";
import {
  type Evidence,
  type Finding,
  historiesOf,
  judgementOf,
  type KeyHistory,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";

const SLIPS_OF_GROUP: ReadonlySet<string> = new Set([
  "group.outside-dates",
  "group.pickup-above-blocks",
  "status.unmapped",
  "count.negative",
]);
const DATES_LEAST = 2;

function findingsOfGroup(evidence: Evidence): Finding[] {
  return historiesOf(evidence, "groups").flatMap(({ latest: record }) => {
    const { key, index, requestId, fields } = record;
    const slip = record.warnings.find(({ code }) => SLIPS_OF_GROUP.has(code));
    if (slip !== undefined) return wrong(`${key} (/${index}): ${slip.message} (${slip.code}).`, requestId);
    const dates = new Set(listOf(fields, "groupBlocks").map((block) => textOf(block, "occupancyDate")));
    if (dates.size < DATES_LEAST || textOf(fields, "name") === undefined) return [];
    return right(`${key} has blocks of ${dates.size} dates.`, requestId);
  });
}

/** Specification section 2.3. */
export const group: Step = {
  name: "group",
  title: "A group block master",
  instruction: ({ clientCode, propertyCode }) =>
    `Open a group in ${clientCode}/${propertyCode} with a name and a block for each night and room type, over ${DATES_LEAST} nights or more, all within startDate and endDate.`,
  judge: (evidence) =>
    judgementOf(
      findingsOfGroup(evidence),
      `No group with a name and blocks of ${DATES_LEAST} dates has been seen.`,
    ),
};

/** Rooms by night and room type. */
type Rooms = ReadonlyMap<string, number>;

/** Blocks of a group, and stays that name it, that are looked at. */
const BLOCKS_MAX = 1_000;
const STAYS_MAX = 1_000;

interface Block {
  readonly night: string;
  readonly roomType: string;
  readonly pickup: number;
}

function blocksOf({ fields }: SeenRecord): Block[] {
  return listOf(fields, "groupBlocks")
    .slice(0, BLOCKS_MAX)
    .map((block) => ({
      night: textOf(block, "occupancyDate") ?? "",
      roomType: textOf(block, "roomTypeCode") ?? "",
      pickup: numberOf(block, "pickup") ?? 0,
    }));
}

/** A stay that takes rooms out of a group's block. */
interface Picked {
  readonly record: SeenRecord;
  readonly stay: Stay;
  readonly rooms: number;
}

const groupId = ({ clientCode, propertyCode }: SeenRecord, code: string): string =>
  JSON.stringify([clientCode, propertyCode, code]);

/** What live reservations pick up, by the group that they name. */
function pickedUp(evidence: Evidence): Map<string, Picked[]> {
  const picked = new Map<string, Picked[]>();
  for (const { latest: record } of historiesOf(evidence, "reservations")) {
    if (!isLive(record)) continue;
    for (const stay of staysOf(record)) {
      if (stay.block === undefined) continue;
      const id = groupId(record, stay.block);
      const stays = picked.get(id) ?? [];
      picked.set(id, stays);
      stays.push({ record, stay, rooms: numberOf(record.fields, "numberOfRooms") ?? 1 });
    }
  }
  return picked;
}

/** Rooms that are booked out of each block of a group that has any. */
function bookedOf(blocks: readonly Block[], picked: readonly Picked[]): Rooms {
  const rooms = new Map<string, number>();
  for (const { night, roomType } of blocks)
    for (const { stay, rooms: count } of picked.slice(0, STAYS_MAX)) {
      if (stay.roomType !== roomType || !hasNight(stay, night)) continue;
      rooms.set(`${night} ${roomType}`, (rooms.get(`${night} ${roomType}`) ?? 0) + count);
    }
  return rooms;
}

type Seen = "no booking" | "no group since" | "judged";

function findingOfGroupPickup(
  { latest: group }: KeyHistory,
  picked: readonly Picked[],
): { seen: Seen; finding?: Finding } {
  const last = picked.at(-1);
  if (last === undefined) return { seen: "no booking" };
  const requests = [...picked.map(({ record }) => record.requestId), group.requestId];
  const blocks = blocksOf(group);
  const booked = bookedOf(blocks, picked);
  const behind = blocks.find(
    ({ night, roomType, pickup }) => pickup < (booked.get(`${night} ${roomType}`) ?? 0),
  );
  if (behind === undefined && booked.size > 0) {
    const finding = right(`${group.key} tells the pickup of ${booked.size} blocks.`, ...requests);
    return { seen: "judged", finding };
  }
  const isLater = picked.every(({ record }) => group.receivedAt > record.receivedAt);
  if (!isLater) return { seen: "no group since" };
  const place = `${behind?.night} ${behind?.roomType}`;
  const reason =
    behind === undefined
      ? `The reservations of ${group.key} are in no night and room type that it has blocks of.`
      : `${group.key} was sent after its reservations and tells a pickup of ${behind.pickup} for ${place}, where ${booked.get(place)} rooms are booked. Send the group again whenever a room is picked up.`;
  return { seen: "judged", finding: wrong(reason, ...requests) };
}

const NOT_YET: Readonly<Record<Seen, string>> = {
  "no booking": "No reservation that names a group's groupBlockCode has been seen.",
  "no group since": "A reservation names the group; the group has not been sent again with its pickup.",
  judged: "",
};

/** Specification section 2.3: rooms picked up from a block, which the group tells and the reservations name. */
export const groupPickup: Step = {
  name: "group-pickup",
  title: "A group with pickup",
  instruction: () =>
    "Book a room out of a group's block (roomStays/0/groupBlockCode is the groupCode) and send the reservation; then send the group again, its pickup of those nights and that room type raised.",
  judge: (evidence) => {
    const picked = pickedUp(evidence);
    const all = historiesOf(evidence, "groups").map((history) =>
      findingOfGroupPickup(history, picked.get(groupId(history.latest, history.latest.key)) ?? []),
    );
    const seen = all.some((one) => one.seen === "no group since") ? "no group since" : "no booking";
    return judgementOf(
      all.flatMap(({ finding }) => finding ?? []),
      NOT_YET[seen],
    );
  },
};
