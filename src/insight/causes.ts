import { addDays, daysBetween } from "#contract/dates.ts";
import { STAY_NIGHTS_MAX } from "#contract/warnings.ts";
import type { BlockNight, GroupMaster } from "./blocks.ts";
import type { FindingKind, FindingRecord } from "./finding.ts";
import type { ChangedRooms, ReservationDetails } from "./night-details.ts";
import type { NightReservation } from "./night-rooms.ts";
import type { Differences, Effect, RankedCause } from "./rank-causes.ts";
import type { ReportedNight } from "./reconciliation.ts";
import type { ReadStay, WithheldRecord } from "./withheld-records.ts";

/** A possible cause of a night's differences. Texts are written only for those that are listed. */
export interface Cause extends RankedCause {
  readonly kind: FindingKind;
  readonly records: () => FindingRecord[];
  readonly message: () => string;
  readonly action: string;
}

/** Nights around the asked one whose differences are compared with a cause. */
export class NightsAround {
  readonly #first: string;
  readonly #places = new Map<string, number>();
  readonly at: number;
  readonly nights: readonly string[];

  constructor(night: string, around: number) {
    this.#first = addDays(night, -around);
    this.at = daysBetween(this.#first, night);
    const count = daysBetween(this.#first, addDays(night, around)) + 1;
    this.nights = Array.from({ length: count }, (_, place) => addDays(this.#first, place));
  }

  /** A date's place in the window, which may be beyond its ends. A hotel's stays have few dates, and parsing one takes longest. */
  #placeOf(date: string): number {
    let place = this.#places.get(date);
    if (place === undefined) {
      place = daysBetween(this.#first, date);
      this.#places.set(date, place);
    }
    return place;
  }

  nothing(): number[] {
    return new Array<number>(this.nights.length).fill(0);
  }

  /** Only the asked night. */
  alone(rooms: number): number[] {
    const only = this.nothing();
    only[this.at] = boundedRooms(rooms);
    return only;
  }

  stay({ arrival, departure }: { readonly arrival: string; readonly departure: string }, rooms: number) {
    const nights = this.nothing();
    const end = Math.min(nights.length, this.#placeOf(departure));
    const bounded = boundedRooms(rooms);
    for (let night = Math.max(0, this.#placeOf(arrival)); night < end; night += 1) nights[night] = bounded;
    return nights;
  }
}

/** More rooms than any hotel has; keeps sums within 32 bits. */
const ROOMS_MAX = 1_000_000;
const boundedRooms = (rooms: number) => Math.max(-ROOMS_MAX, Math.min(ROOMS_MAX, rooms));

function plus(sum: number[], more: number[], sign = 1): number[] {
  for (let night = 0; night < sum.length; night += 1)
    sum[night] = boundedRooms((sum[night] as number) + sign * (more[night] as number));
  return sum;
}

/** The data that causes of one night are derived from. */
export interface NightEvidence {
  readonly around: NightsAround;
  /** Undefined if there is no valid inventory record for the night. */
  readonly report: ReportedNight | undefined;
  readonly reservations: readonly NightReservation[];
  /** By reservation id. */
  readonly details: ReadonlyMap<string, ReservationDetails>;
  readonly changed: readonly ChangedRooms[];
  readonly withheld: readonly WithheldRecord[];
  /** By night. */
  readonly blocks: ReadonlyMap<string, readonly BlockNight[]>;
  readonly masters: ReadonlyMap<string, GroupMaster>;
  /** Rooms on the books of a group and room type. */
  pickedUp(night: string, group: string, roomType: string | null): number;
  differencesOf(roomType: string | null): Differences;
  /** Source time of a night's count. */
  countedAt(night: string): string | undefined;
  /** Whether inventory names the room type on a night around. */
  isListed(roomType: string): boolean;
}

export type OfCause = Effect<Cause>;

/** Effects in parts, between which other work may be done. */
type Effects = Generator<readonly OfCause[], void>;

const shown = (text: string | null): string => JSON.stringify((text ?? "").slice(0, 64));

const recordOf = ({ reservationId, requestId, index }: NightReservation): FindingRecord => ({
  resource: "reservations",
  key: reservationId,
  requestId,
  index,
});

/** Records that one finding lists. */
const RECORDS_MAX = 100;
const recordsOf = (reservations: readonly NightReservation[]) => () =>
  reservations.slice(0, RECORDS_MAX).map(recordOf);

function namesOf(reservations: readonly Pick<NightReservation, "reservationId">[]): string {
  const names = reservations.slice(0, 3).map(({ reservationId }) => shown(reservationId));
  const more = reservations.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
}

const newestOf = (reservations: readonly NightReservation[]) =>
  reservations.reduce((newest, { sourceTime }) => (sourceTime > newest ? sourceTime : newest), "");

const isGrouped = ({ group }: { readonly group: string | null }) => group !== null;

/** Reservations whose status does not count on the books. */
function* ofStatus({ around, report, reservations }: NightEvidence): Effects {
  const countedAt = report?.source_time;
  for (const one of reservations) {
    const { deducts, rooms, roomType, label, reservationId, sourceTime } = one;
    if (deducts === true || rooms <= 0) continue;
    const isLater = countedAt !== undefined && sourceTime > countedAt;
    const cause: Cause =
      deducts === null
        ? {
            kind: "unmapped-label",
            isProof: false,
            prior: 1,
            changedAt: sourceTime,
            records: recordsOf([one]),
            message: () =>
              `The status ${shown(label)} of the reservation ${shown(reservationId)} is not mapped, so its rooms are not on the books.`,
            action: "Map the status.",
          }
        : {
            kind: "cancelled-but-sold",
            alike: `cancelled-but-sold ${label}`,
            isProof: false,
            prior: isLater ? 2 : 3,
            changedAt: sourceTime,
            records: recordsOf([one]),
            message: () =>
              `The reservation ${shown(reservationId)} is ${shown(label)}${isLater ? ", since the count was made" : ""}, but may be counted as sold.`,
            action: isLater
              ? "Wait for the next count."
              : "Compare it in the hotel's system; send the inventory or the reservation again, or map its status as on the books.",
          };
    yield [{ cause, roomType, rooms: around.stay(one, rooms), isGroup: isGrouped(one) }];
  }
}

type OfNight = Pick<NightEvidence, "around" | "reservations">;

/** All reservations of a status that is not mapped. */
function* ofLabels({ around, reservations }: OfNight): Effects {
  const unmapped = reservations.filter(({ deducts, rooms }) => deducts === null && rooms > 0);
  for (const [label, alike] of Map.groupBy(unmapped, (one) => one.label)) {
    if (alike.length < 2) continue;
    const cause: Cause = {
      kind: "unmapped-label",
      isProof: false,
      prior: 1.5,
      changedAt: newestOf(alike),
      records: recordsOf(alike),
      message: () =>
        `The status ${shown(label)} of ${alike.length} reservations (${namesOf(alike)}) is not mapped, so their rooms are not on the books.`,
      action: "Map the status.",
    };
    yield* byRoomType(around, cause, alike, ({ rooms }) => rooms);
  }
}

/** All reservations of a group that are not on the books. */
function* ofCancelledGroups({ around, reservations }: OfNight): Effects {
  const off = reservations.filter(
    ({ deducts, rooms, group }) => deducts === false && rooms > 0 && group !== null,
  );
  for (const [group, alike] of Map.groupBy(off, (one) => one.group)) {
    if (alike.length < 2) continue;
    const cause: Cause = {
      kind: "cancelled-but-sold",
      alike: "cancelled group",
      isProof: false,
      prior: 3.5,
      changedAt: newestOf(alike),
      records: recordsOf(alike),
      message: () =>
        `${alike.length} reservations of the group ${shown(group)} (${namesOf(alike)}) are not on the books by their status, but may be counted as sold.`,
      action: "Compare the group in the hotel's system; send the inventory or its reservations again.",
    };
    yield* byRoomType(around, cause, alike, ({ rooms }) => rooms);
  }
}

/** One effect for each room type of several reservations, only on the nights that are 1 if any are given. */
function* byRoomType(
  around: NightsAround,
  cause: Cause,
  reservations: readonly NightReservation[],
  roomsOf: (one: NightReservation) => number,
  nights?: readonly number[],
): Effects {
  for (const [roomType, some] of Map.groupBy(reservations, (one) => one.roomType)) {
    const rooms = around.nothing();
    for (const one of some) plus(rooms, around.stay(one, roomsOf(one)));
    const groups = new Set(some.map(isGrouped));
    const isGroup = groups.size === 1 ? groups.has(true) : null;
    yield [{ cause, roomType, rooms: nights === undefined ? rooms : within(rooms, nights), isGroup }];
  }
}

/** Nights of the window on which at least two of the stays are present. */
function togetherOf(around: NightsAround, stays: readonly NightReservation[]): number[] {
  const present = around.nothing();
  for (const one of stays) plus(present, around.stay(one, 1));
  return present.map((count) => (count > 1 ? 1 : 0));
}

const within = (rooms: readonly number[], nights: readonly number[]) =>
  rooms.map((count, night) => (nights[night] === 1 ? count : 0));

/** Shares for which a hotel may count a room per sharer. */
function* ofShares({ around, reservations }: NightEvidence): Effects {
  const sharing = reservations.filter(({ shareId, deducts }) => shareId !== null && deducts === true);
  for (const [shareId, sharers] of Map.groupBy(sharing, (one) => one.shareId)) {
    // A sharer may be sent with 0 rooms.
    const beyond = (one: NightReservation) => Math.max(1, one.rooms) - one.counted;
    const others = sharers.filter((one) => beyond(one) > 0);
    if (others.length === 0) continue;
    const together = togetherOf(around, sharers);
    const causeOf = (some: readonly NightReservation[], prior: number): Cause => {
      const chosen = new Set(some);
      const rest = sharers.filter((one) => !chosen.has(one)).slice(0, RECORDS_MAX);
      return {
        kind: "share-counted-twice",
        isProof: false,
        prior,
        changedAt: newestOf(some),
        records: recordsOf([...some.slice(0, RECORDS_MAX), ...rest]),
        message: () =>
          `${some.length === 1 ? "The reservation" : "The reservations"} ${namesOf(some)} and ${namesOf(rest)} share a room (share ${shown(shareId)}): one room, which may be counted for each.`,
        action: "Have the hotel count a shared room once, or send guests with a room each without shareId.",
      };
    };
    yield* byRoomType(around, causeOf(others, 2), others, beyond, together);
    for (const one of others.length > 1 && others.length <= PARTS_MAX ? others : [])
      yield* byRoomType(around, causeOf([one], 3.5), [one], beyond, together);
  }
}

/** Sharers of one room that are tried alone. */
const PARTS_MAX = 10;

/** Reservations in one room that name no common share. */
function* ofRoomNumbers({ around, reservations, details }: NightEvidence): Effects {
  const byRoom = new Map<string, NightReservation[]>();
  for (const one of reservations)
    if (one.counted > 0)
      for (const roomNumber of details.get(one.reservationId)?.roomNumbers ?? []) {
        const there = byRoom.get(roomNumber);
        if (there === undefined) byRoom.set(roomNumber, [one]);
        else if (
          there.length <= PARTS_MAX &&
          !there.some(({ reservationId }) => reservationId === one.reservationId)
        )
          there.push(one);
      }
  for (const [roomNumber, inRoom] of byRoom) {
    if (inRoom.length < 2 || inRoom.length > PARTS_MAX) continue;
    const [first, ...others] = inRoom as [NightReservation, ...NightReservation[]];
    const together = togetherOf(around, inRoom);
    const cause: Cause = {
      kind: "room-without-share",
      isProof: false,
      prior: 1,
      changedAt: newestOf(inRoom),
      records: recordsOf([...others, first]),
      message: () =>
        `The reservations ${namesOf(inRoom)} are in room ${shown(roomNumber)} without a common share: the hotel may count one room.`,
      action: "Set the same shareId on both, or correct the room number.",
    };
    yield* byRoomType(around, cause, others, ({ counted }) => -counted, together);
  }
}

/** Stays of one reservation that cover the night more than once: the hotel may count a room for each, or only rooms of the reservation. */
function* ofOverlaps({ around, reservations, details }: NightEvidence): Effects {
  for (const [id, rows] of Map.groupBy(reservations, ({ reservationId }) => reservationId)) {
    const { roomTypes = [], numberOfRooms = 1 } = details.get(id) ?? {};
    if (roomTypes.length < 2 || rows[0]?.deducts !== true) continue;
    const effects: OfCause[] = [];
    const counted = new Map<string | null, number>();
    for (const { roomType, counted: rooms } of rows)
      counted.set(roomType, (counted.get(roomType) ?? 0) + rooms);
    const total = [...counted.values()].reduce((sum, rooms) => sum + rooms, 0);
    const causeOf = (many: string): Cause => ({
      kind: "overlapping-stays",
      isProof: false,
      prior: 2,
      changedAt: newestOf(rows),
      records: recordsOf(rows.slice(0, 1)),
      message: () =>
        `${roomTypes.length} stays of the reservation ${shown(id)} cover the night, and its numberOfRooms is ${numberOfRooms}: ${total} count, and the hotel may count ${many}.`,
      action: "Send each room as a reservation of its own, or stays that do not overlap.",
    });
    const rooms = Math.max(1, numberOfRooms);
    const isGroup = rows.some(isGrouped);
    const each = causeOf("rooms for each stay");
    const named = Map.groupBy(roomTypes, (roomType) => roomType);
    for (const [roomType, stays] of named) {
      const more = stays.length * rooms - (counted.get(roomType) ?? 0);
      if (more > 0) effects.push({ cause: each, roomType, rooms: around.alone(more), isGroup });
    }
    const once = causeOf(`${rooms}`);
    let beyond = total - rooms;
    for (const [roomType, own] of counted) {
      const less = Math.min(beyond, own);
      beyond -= less;
      if (less > 0) effects.push({ cause: once, roomType, rooms: around.alone(-less), isGroup });
    }
    // One room, which the hotel may have in another of the room types.
    const [[from] = [null]] = [...counted].filter(([, own]) => own > 0);
    for (const roomType of total === 1 ? named.keys() : []) {
      if (roomType === from) continue;
      const other = causeOf(`it as ${shown(roomType)}`);
      effects.push({ cause: other, roomType, rooms: around.alone(1), isGroup });
      effects.push({ cause: other, roomType: from ?? null, rooms: around.alone(-1), isGroup });
    }
    yield effects;
  }
}

/** Reservations that a hotel may leave out of its count, or count otherwise, for what they are. */
function* ofKindsOfStay({ around, reservations, details }: NightEvidence): Effects {
  for (const one of reservations) {
    const effects: OfCause[] = [];
    const { reservationId, roomType, counted, arrival, departure, bookedRoomType, sourceTime } = one;
    if (counted <= 0) continue;
    const isGroup = isGrouped(one);
    const about = { isProof: false, changedAt: sourceTime, records: recordsOf([one]) } as const;
    const id = shown(reservationId);
    if (details.get(reservationId)?.isFree === true) {
      const cause: Cause = {
        ...about,
        kind: "complimentary-left-out",
        prior: 2,
        message: () =>
          `The reservation ${id} has a rate of 0: the hotel may not count house use or complimentary rooms.`,
        action: "Agree whether such rooms are sold; if not, map their status as not on the books.",
      };
      effects.push({ cause, roomType, rooms: around.stay(one, -counted), isGroup });
    }
    if (daysBetween(arrival, departure) > LONG_STAY) {
      const cause: Cause = {
        ...about,
        kind: "implausible-dates",
        prior: 2,
        message: () => `The reservation ${id} stays from ${arrival} to ${departure}: a date may be wrong.`,
        action: "Correct the dates and send the reservation again.",
      };
      effects.push({ cause, roomType, rooms: around.stay(one, -counted), isGroup });
    }
    if (bookedRoomType !== null && bookedRoomType !== roomType) {
      const cause: Cause = {
        ...about,
        kind: "other-room-type-booked",
        prior: 3,
        message: () =>
          `The reservation ${id} was booked as ${shown(bookedRoomType)} and is in ${shown(roomType)}.`,
        action: "Agree by which of the two room types the hotel counts.",
      };
      effects.push(
        { cause, roomType: bookedRoomType, rooms: around.stay(one, counted), isGroup },
        { cause, roomType, rooms: around.stay(one, -counted), isGroup },
      );
    }
    yield effects;
  }
}

/** Longer stays are rarely meant, in days. */
const LONG_STAY = 365;

/** Room types that inventory lists otherwise, as virtual, or not at all. */
function* ofRoomTypes(evidence: NightEvidence): Effects {
  const { around, report, reservations } = evidence;
  if (report === undefined) return;
  const counted = reservations.filter((one) => one.counted > 0);
  const spelling = new Map<string, string | null>();
  for (const [place, { unit }] of report.rooms.entries()) {
    if (place % SPELLED_AT_ONCE === 0) yield [];
    spelling.set(spelled(unit), unit);
  }
  const listed = new Set(report.rooms.map(({ unit }) => unit));
  const virtual = new Set(report.virtual);
  /** Room types under which the hotel may count what it does not list. */
  const instead = report.rooms
    .values()
    .filter(({ unit }) => (evidence.differencesOf(unit).all[around.at] ?? 0) > 0)
    .take(INSTEAD_MAX)
    .toArray();
  for (const [roomType, alike] of Map.groupBy(counted, (one) => one.roomType)) {
    const isVirtual = virtual.has(roomType ?? "");
    if (listed.has(roomType) && !isVirtual) continue;
    const meant = spelling.get(spelled(roomType));
    const about = { isProof: false, prior: 0.5, changedAt: newestOf(alike), records: recordsOf(alike) };
    const cause: Cause = isVirtual
      ? {
          ...about,
          kind: "virtual-room-type",
          message: () =>
            `${shown(roomType)} of ${namesOf(alike)} is a virtual room type, whose rooms inventory counts elsewhere or not at all.`,
          action: "Send the reservations with the room type that they occupy.",
        }
      : meant !== undefined
        ? {
            ...about,
            kind: "room-type-spelling",
            message: () =>
              `${namesOf(alike)} ${alike.length === 1 ? "is" : "are"} in ${shown(roomType)}, which inventory writes ${shown(meant)}.`,
            action: `Send the room type as ${shown(meant)} in both.`,
          }
        : {
            ...about,
            kind: "room-type-not-listed",
            message: () =>
              roomType === null
                ? `${namesOf(alike)} ${alike.length === 1 ? "names" : "name"} no room type.`
                : `${namesOf(alike)} ${alike.length === 1 ? "is" : "are"} in ${shown(roomType)}, which inventory lists on ${evidence.isListed(roomType) ? "other nights only" : "no night around"}: ${evidence.isListed(roomType) ? "the record is incomplete" : "it may be a pseudo room"}.`,
            action:
              roomType !== null && evidence.isListed(roomType)
                ? "Send the inventory of the night again with every room type."
                : "Leave pseudo rooms out of the feed, or list the room type in inventory.",
          };
    yield* byRoomType(around, cause, alike, (one) => -one.counted);
    const rooms = around.nothing();
    for (const one of alike) plus(rooms, around.stay(one, one.counted));
    const others = meant === undefined ? instead.map(({ unit }) => unit) : [meant];
    yield others.map((unit) => ({ cause, roomType: unit, rooms, isGroup: null }));
  }
}

const INSTEAD_MAX = 8;

/** A code of letters that stand for whole phrases takes a quarter of a millisecond. */
const SPELLED_AT_ONCE = 20;

/** A room type as people compare it. */
function spelled(roomType: string | null): string {
  return (roomType ?? "")
    .normalize("NFKC")
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]+/gu, "");
}

/** Blocks of the night that may explain a difference; more than any hotel has groups and room types. */
const BLOCKS_MAX = 2_000;
/** Blocks between two parts. */
const BLOCKS_AT_ONCE = 1_000;

interface BlockVector {
  readonly block: BlockNight;
  /** Rooms not picked up, and rooms picked up that no reservation has, by night. */
  readonly left: number[];
  readonly lacking: number[];
}

/** Rooms of a block that are not picked up, and that are picked up without their reservations. */
function unsettledOf({ pickedUp }: NightEvidence, block: BlockNight) {
  const rebuilt = pickedUp(block.night, block.group, block.roomType);
  return {
    left: boundedRooms(Math.max(0, block.blocks - (block.pickedUp ?? rebuilt))),
    lacking: boundedRooms(Math.max(0, (block.pickedUp ?? 0) - rebuilt)),
  };
}

/** Blocks that a hotel may count as sold before they are picked up, and pickups without their reservations. */
function* ofBlocks(evidence: NightEvidence, differing: ReadonlySet<string | null>): Effects {
  const { around, blocks } = evidence;
  const vectors = new Map<string, Map<string | null, BlockVector>>();
  const found: BlockVector[] = [];
  let looked = 0;
  for (const block of blocks.get(around.nights[around.at] as string) ?? []) {
    looked += 1;
    if (looked % BLOCKS_AT_ONCE === 0) yield [];
    const { group, roomType } = block;
    if (found.length === BLOCKS_MAX || !differing.has(roomType)) continue;
    const difference = evidence.differencesOf(roomType).all[around.at] as number;
    const { left, lacking } = unsettledOf(evidence, block);
    if (![left, lacking].some((rooms) => rooms > 0 && rooms <= difference)) continue;
    const vector = { block, left: around.nothing(), lacking: around.nothing() };
    found.push(vector);
    const ofGroup = vectors.get(group) ?? new Map<string | null, BlockVector>();
    vectors.set(group, ofGroup.set(roomType, vector));
  }
  if (found.length === 0) return;
  for (const [place, night] of around.nights.entries())
    for (const block of blocks.get(night) ?? []) {
      looked += 1;
      if (looked % BLOCKS_AT_ONCE === 0) yield [];
      const vector = vectors.get(block.group)?.get(block.roomType);
      if (vector === undefined) continue;
      const { left, lacking } = unsettledOf(evidence, block);
      vector.left[place] = left;
      vector.lacking[place] = lacking;
    }
  for (const vector of found) yield ofBlock(evidence, vector);
}

function ofBlock(evidence: NightEvidence, { block, left, lacking }: BlockVector): OfCause[] {
  const { group, roomType, status } = block;
  const master = evidence.masters.get(group);
  if (master === undefined) return [];
  const { requestId, index } = master;
  const holds = block.holds === true;
  const about = {
    isProof: false,
    changedAt: "",
    records: (): FindingRecord[] => [{ resource: "groups", key: group, requestId, index }],
  };
  const differences = evidence.differencesOf(roomType).all;
  const state = holds ? "held" : `asked for under the status ${shown(status)}`;
  const unpicked = onFittingNights(left, differences);
  const unreceived = onFittingNights(lacking, differences);
  const counted: Cause = {
    ...about,
    kind: holds ? "unpicked-block-counted" : "block-without-hold-counted",
    prior: (holds ? 2 : 3) + unpicked.bits,
    message: () =>
      `Rooms of the group ${shown(group)} are ${state} and not picked up, and may be counted as sold.`,
    action: holds
      ? "Agree that rooms not picked up are not sold, or send the reservations of the group."
      : "Map the group's status, or have the hotel leave its rooms out of the count.",
  };
  const notReceived: Cause = {
    ...about,
    kind: "pickup-not-received",
    prior: 2 + unreceived.bits,
    message: () =>
      `The group ${shown(group)} reports more rooms picked up than its reservations come to: some may never have come.`,
    action: "Send the reservations of the group, with groupBlockCode.",
  };
  return [
    { cause: counted, roomType, rooms: unpicked.rooms, isGroup: null },
    ...(holds ? [{ cause: notReceived, roomType, rooms: unreceived.rooms, isGroup: null }] : []),
  ];
}

/** Bits for a block that fits few of its nights: what is counted of it may change from night to night. */
const FITS_FEW = 1.5;

function onFittingNights(rooms: number[], differences: readonly number[]) {
  let [fitting, others] = [0, 0];
  const fits = rooms.map((count, night) => {
    if (count === 0 || Number.isNaN(differences[night])) return 0;
    const isFitting = (differences[night] as number) >= count;
    if (isFitting) fitting += 1;
    else others += 1;
    return isFitting ? count : 0;
  });
  return { rooms: fits, bits: others > fitting ? FITS_FEW : 0 };
}

/** Reservations that were other when the hotel counted. */
function* ofChanges({ around, changed, countedAt }: NightEvidence): Effects {
  for (const one of changed) {
    const { key, sharers, before, after, sourceTime, requestId, index } = one;
    const cause: Cause = {
      kind: "changed-since-count",
      isProof: false,
      prior: 0.5,
      changedAt: sourceTime,
      records: () => [{ resource: "reservations", key, requestId, index }],
      message: () =>
        `The reservation ${shown(key)}${sharers > 1 ? " and its sharers" : ""} had ${before.total} rooms on the night when the count was made, and since ${sourceTime} ${after.total}.`,
      action: "Wait for the next count, or send the inventory of the night again.",
    };
    const countedLater = around.nights.map((night) => (countedAt(night) ?? "") >= sourceTime);
    for (const roomType of new Set([...before.rooms.keys(), ...after.rooms.keys()])) {
      const [then, now] = [before.rooms.get(roomType) ?? 0, after.rooms.get(roomType) ?? 0];
      // On nights that only one of the versions has, the other's rooms are those of that version.
      const rooms = plus(
        before.dates === null ? around.nothing() : around.stay(before.dates, before.isAbsent ? now : then),
        after.dates === null ? around.nothing() : around.stay(after.dates, after.isAbsent ? then : now),
        -1,
      );
      for (const [place, isLater] of countedLater.entries()) if (isLater) rooms[place] = 0;
      rooms[around.at] = boundedRooms(then - now);
      yield [{ cause, roomType, rooms, isGroup: one.isGroup }];
    }
  }
}

const WITHHELD = {
  quarantined: {
    kind: "quarantined",
    prior: 1,
    action: "Release or discard the quarantined record.",
    message: ({ key, why }: WithheldRecord) => `A record of ${shown(key)} is quarantined: ${why}.`,
  },
  rejected: {
    kind: "rejected",
    prior: 1,
    action: "Correct the record and send it again.",
    message: ({ key, why }: WithheldRecord) => `A record of ${shown(key)} was rejected: ${why}`,
  },
  stale: {
    kind: "stale",
    prior: 1,
    action: "Check the lastModifiedDateTime of both versions; send the right one with a newer one.",
    message: ({ key }: WithheldRecord) =>
      `A later batch had an older version of the reservation ${shown(key)}: it is kept and does not count.`,
  },
  endless: {
    kind: "implausible-dates",
    prior: 1,
    action: "Correct the dates and send the reservation again.",
    message: ({ key, stays: [stay] }: WithheldRecord) =>
      `The reservation ${shown(key)} stays from ${stay?.arrival} to ${stay?.departure}, more than ${STAY_NIGHTS_MAX} nights, so it does not count.`,
  },
  "day-use": {
    kind: "day-use-counted",
    prior: 3,
    action: "Agree that day use is not sold for the night, or have the hotel leave it out of the count.",
    message: ({ key }: WithheldRecord) =>
      `The reservation ${shown(key)} arrives and departs on this date: day use, which may be counted as sold.`,
  },
} as const satisfies Record<
  WithheldRecord["reason"],
  { kind: FindingKind; prior: number; action: string; message: (record: WithheldRecord) => string }
>;

/** Stays of one such record, and rows of its reservation, that are compared: a hostile one may have thousands. */
const STAYS_MAX = 20;

/** Bits for a record whose dates or room type cannot be read. */
const UNREADABLE = 1;

/** Records that do not count, as if they did. */
function* ofWithheld(evidence: NightEvidence): Effects {
  const { around, withheld, reservations } = evidence;
  const byId = Map.groupBy(reservations, ({ reservationId }) => reservationId);
  for (const record of withheld) {
    const { reason, resource, key, requestId, index, deducts, current } = record;
    const stays = record.stays.slice(0, STAYS_MAX);
    const { kind, prior, action, message } = WITHHELD[reason];
    const own = { resource, key: key ?? "", requestId, index };
    const records: FindingRecord[] = current === null ? [own] : [own, { ...own, ...current.place }];
    const cause: Cause = {
      kind,
      isProof: false,
      prior: prior + (stays.some(({ isGuess }) => isGuess) ? UNREADABLE : 0),
      changedAt: requestId,
      records: () => records,
      message: () => message(record),
      action,
    };
    if (record.sold !== null) {
      yield ofOtherCount(evidence, cause, record.sold);
      continue;
    }
    const rows = (byId.get(key ?? "") ?? []).slice(0, STAYS_MAX);
    const rooms = new Map<string | null, number[]>();
    const of = (roomType: string | null) => {
      const known = rooms.get(roomType) ?? around.nothing();
      rooms.set(roomType, known);
      return known;
    };
    if (deducts !== false)
      for (const stay of stays) plus(of(stay.roomType), nightsOf(around, stay, reason === "day-use"));
    for (const row of rows) plus(of(row.roomType), around.stay(row, row.counted), -1);
    if (rows.length === 0 && current !== null && deducts !== false) {
      // The current version has other nights; its rooms are taken for as many.
      const [stay] = stays;
      if (stay !== undefined) plus(of(stay.roomType), around.stay(current.dates, stay.rooms), -1);
    }
    const isGroup = stays[0] === undefined ? null : isGrouped(stays[0]);
    yield [...rooms].map(([roomType, vector]) => {
      const { all } = evidence.differencesOf(roomType);
      return {
        cause,
        roomType,
        rooms: reason === "endless" ? untilContradicted(vector, all) : vector,
        isGroup,
      };
    });
  }
}

/** The hotel knows a real departure: the nights from the first that a stay does not fit are beyond it. */
function untilContradicted(rooms: readonly number[], differences: readonly number[]): readonly number[] {
  const end = rooms.findIndex((count, night) => count !== 0 && (differences[night] as number) < count);
  return end < 0 ? rooms : rooms.map((count, night) => (night < end ? count : 0));
}

function nightsOf(around: NightsAround, stay: ReadStay, isDayUse: boolean): number[] {
  return isDayUse || stay.isGuess ? around.alone(stay.rooms) : around.stay(stay, stay.rooms);
}

/** Another count of the night, which does not count: the difference is that of the two. */
function ofOtherCount(
  { around, report }: NightEvidence,
  cause: Cause,
  sold: ReadonlyMap<string, number>,
): OfCause[] {
  return (report?.rooms ?? []).flatMap(({ unit, counts }): OfCause[] => {
    const other = sold.get(unit ?? "");
    if (other === undefined) return [];
    return [{ cause, roomType: unit, rooms: around.alone((counts.sold ?? 0) - other), isGroup: null }];
  });
}

/** What an inventory record says against itself. */
function* ofCount(evidence: NightEvidence): Effects {
  const { around, report } = evidence;
  if (report === undefined) return;
  const place = { requestId: report.request_id, index: report.record_index };
  const night = around.nights[around.at] as string;
  const about = {
    kind: "wrong-sold-count",
    changedAt: "",
    records: (): FindingRecord[] => [{ resource: "inventories", key: night, ...place }],
    action: "Correct the inventory of the night and send it again.",
  } as const;
  const repeated = new Map(report.repeated.map(({ unit, sold }) => [unit, sold]));
  for (const { unit: roomType, counts } of report.rooms) {
    const { sold, transient, grouped, capacity = null } = counts;
    const found: OfCause[] = [];
    const add = (rooms: number, isProof: boolean, prior: number, message: () => string) =>
      found.push({
        cause: { ...about, isProof, prior, message },
        roomType,
        rooms: around.alone(rooms),
        isGroup: null,
      });
    const beyond = transient === null || grouped === null ? 0 : (sold ?? 0) - transient - grouped;
    const difference = evidence.differencesOf(roomType).all[around.at] as number;
    if (beyond !== 0) {
      // Parts that go the other way prove that the record is wrong, not by how much.
      const isOpposed = beyond > 0 !== difference > 0 || Math.abs(beyond) > Math.abs(difference);
      add(
        isOpposed ? difference : beyond,
        true,
        0,
        () =>
          `The count of ${shown(roomType)} is inconsistent: ${sold} sold, ${transient} transient and ${grouped} of groups.`,
      );
    }
    const twice = repeated.get(roomType) ?? 0;
    if (twice !== 0)
      add(
        twice,
        true,
        0,
        () =>
          `The record lists ${shown(roomType)} more than once: ${twice} of ${sold} sold are of the further entries.`,
      );
    if (
      beyond === 0 &&
      capacity !== null &&
      sold !== null &&
      sold > capacity &&
      difference > 0 &&
      sold - difference <= capacity
    )
      add(
        difference,
        false,
        4,
        () => `More of ${shown(roomType)} are sold (${sold}) than there are (${capacity}).`,
      );
    yield found;
  }
}

/** Effects of one derivation; a hostile night has more, a hotel's far fewer. */
const EFFECTS_MAX = 10_000;

/**
 * The possible causes of the night's differences, in parts between which other work may be done. Of blocks, only those of room types that
 * differ.
 */
export function* causesOf(evidence: NightEvidence, differing: ReadonlySet<string | null>): Effects {
  const { at } = evidence.around;
  for (const derive of [
    ofCount,
    ofShares,
    ofLabels,
    ofCancelledGroups,
    ofRoomNumbers,
    ofOverlaps,
    ofRoomTypes,
    ofBlocks,
    ofChanges,
    ofWithheld,
    ofStatus,
    ofKindsOfStay,
  ]) {
    let left = EFFECTS_MAX;
    for (const effects of derive(evidence, differing)) {
      yield effects.filter(({ rooms }) => rooms[at] !== 0).slice(0, left);
      left -= effects.length;
      if (left <= 0) break;
    }
  }
}
