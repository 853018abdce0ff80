import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { RecordPointer } from "../query/load-records.ts";
import type { Property } from "../query/property.ts";
import {
  type NightReservation,
  readReservationVersions,
  readSettledNight,
  type SettledNightRow,
} from "./night-rooms.ts";
import type { PropertyStatuses } from "./query-context.ts";
import type { PointInTime } from "./question.ts";
import { entriesOfNights, sumEntries } from "./statements.ts";
import { parsedRecords, readStaysOf, roomsOf } from "./withheld-records.ts";

const readDetails = readStatement(
  new URL("./sql/read-night-details.sql", import.meta.url),
  entriesOfNights(),
);

/** Reservations read for one night: with the night, and that had it. */
const RESERVATIONS_MAX = 10_000;
/** Records whose payloads are read for one night. */
const PAYLOADS_MAX = 2_000;
const CHANGED_MAX = 500;

interface DetailRow {
  readonly reservationId: string;
  readonly hasNight: boolean;
  readonly isFree: boolean;
  readonly isChanged: boolean;
}

/** What a reservation's record says beyond the ledger. */
export interface ReservationDetails {
  /** Whether its rooms have a revenue of 0 on the night. */
  readonly isFree: boolean;
  /** Of stays with the night; [] if not read. */
  readonly roomNumbers: readonly string[];
  /** The room type of each stay with the night; [] if not read. */
  readonly roomTypes: readonly (string | null)[];
  readonly numberOfRooms: number;
}

/** One version's rooms of the night. */
interface VersionRooms {
  readonly rooms: ReadonlyMap<string | null, number>;
  readonly total: number;
  /** Null: there was no version. */
  readonly dates: { readonly arrival: string; readonly departure: string } | null;
  /** Whether the version does not have the night, so that its rooms are unknown. */
  readonly isAbsent: boolean;
}

/** A reservation or share whose rooms of the night changed after the count. */
export interface ChangedRooms {
  readonly key: string;
  readonly sharers: number;
  readonly before: VersionRooms;
  readonly after: VersionRooms;
  readonly isGroup: boolean | null;
  readonly sourceTime: string;
  readonly requestId: string;
  readonly index: number;
}

/** What a night's reservations are compared with. */
export interface NightDetails {
  readonly details: ReadonlyMap<string, ReservationDetails>;
  readonly changed: readonly ChangedRooms[];
  /** Every reservation that has or had the night. */
  readonly once: readonly string[];
}

const roomsByType = (rows: readonly SettledNightRow[]) => {
  const rooms = new Map<string | null, number>();
  for (const { roomType, counted } of rows)
    if (counted !== 0) rooms.set(roomType, (rooms.get(roomType) ?? 0) + counted);
  return rooms;
};

const sumOf = (rooms: ReadonlyMap<string | null, number>) =>
  [...rooms.values()].reduce((sum, one) => sum + one, 0);

function isEqual(
  one: ReadonlyMap<string | null, number>,
  other: ReadonlyMap<string | null, number>,
): boolean {
  return one.size === other.size && [...one].every(([roomType, rooms]) => other.get(roomType) === rooms);
}

/** Reservations (or shares) that had other rooms on the night when the hotel counted, of those with a newer version. */
async function readChanged(
  on: Queryable,
  property: Property,
  night: string,
  at: PointInTime,
  countedAt: string,
  statuses: PropertyStatuses,
  newer: ReadonlySet<string>,
): Promise<ChangedRooms[]> {
  if (newer.size === 0) return [];
  const then = { ...at, sourceUpTo: countedAt };
  const [before, after] = [
    await readSettledNight(on, property, night, then, statuses),
    await readSettledNight(on, property, night, at, statuses),
  ];
  // A share's rooms may be listed under another sharer.
  const unitOf = ({ reservationId, shareId }: SettledNightRow) =>
    JSON.stringify(shareId === null ? [reservationId] : ["", shareId]);
  const units = new Map<string, { before: SettledNightRow[]; after: SettledNightRow[] }>();
  for (const [rows, name] of [
    [before, "before"],
    [after, "after"],
  ] as const)
    for (const row of rows) {
      const unit = units.get(unitOf(row)) ?? { before: [], after: [] };
      unit[name].push(row);
      units.set(unitOf(row), unit);
    }
  const changes = [...units.values()]
    .map((unit) => ({
      ...unit,
      key: [...unit.after, ...unit.before].find(({ reservationId }) => newer.has(reservationId)),
    }))
    .flatMap(({ key, ...unit }) => (key === undefined ? [] : [{ ...unit, key: key.reservationId }]))
    .filter((unit) => !isEqual(roomsByType(unit.before), roomsByType(unit.after)))
    .slice(0, CHANGED_MAX);
  const keys = changes.map(({ key }) => key);
  const versions = await readReservationVersions(on, property, keys, at);
  const earlier = await readReservationVersions(on, property, keys, then);
  return changes.flatMap(({ key, ...unit }): ChangedRooms[] => {
    const version = versions.get(key);
    if (version === undefined) return [];
    const [rooms, roomsAfter] = [roomsByType(unit.before), roomsByType(unit.after)];
    const was = earlier.get(key);
    const groups = new Set([...unit.before, ...unit.after].map(({ group }) => group !== null));
    return [
      {
        key,
        sharers: new Set([...unit.before, ...unit.after].map(({ reservationId }) => reservationId)).size,
        before: { rooms, total: sumOf(rooms), dates: was ?? null, isAbsent: unit.before.length === 0 },
        after: {
          rooms: roomsAfter,
          total: sumOf(roomsAfter),
          dates: version,
          isAbsent: unit.after.length === 0,
        },
        isGroup: groups.size === 1 ? groups.has(true) : null,
        sourceTime: version.sourceTime,
        requestId: version.requestId,
        index: version.index,
      },
    ];
  });
}

/** Room numbers and stays of the night that reservations name. */
async function readPayloads(
  on: Queryable,
  bucket: number,
  night: string,
  reservations: readonly NightReservation[],
): Promise<ReadonlyMap<string, Omit<ReservationDetails, "isFree">>> {
  const wanted = new Map<string, RecordPointer>();
  for (const { reservationId, requestId, index } of reservations) {
    if (wanted.size === PAYLOADS_MAX) break;
    wanted.set(reservationId, { bucket, requestId, index });
  }
  const ids = [...wanted.keys()];
  const read = new Map<string, Omit<ReservationDetails, "isFree">>();
  let next = 0;
  for await (const record of parsedRecords(on, [...wanted.values()])) {
    const id = ids[next] as string;
    next += 1;
    if (record === undefined) continue;
    const stays = readStaysOf(record, night);
    const roomNumbers = [...new Set(stays.flatMap(({ roomNumber }) => roomNumber ?? []))];
    const roomTypes = stays.map(({ roomType }) => roomType);
    read.set(id, { roomNumbers, roomTypes, numberOfRooms: roomsOf(record) });
  }
  return read;
}

/** A night's count: its source time, and whether it differs for a room type. */
interface Counted {
  readonly countedAt: string | undefined;
  readonly differs: (roomType: string | null) => boolean;
}

/** Reads what the causes of a night's differences are derived from, beside its reservations. */
export async function readNightDetails(
  on: Queryable,
  property: Property,
  night: string,
  at: PointInTime,
  { countedAt, differs }: Counted,
  statuses: PropertyStatuses,
  reservations: readonly NightReservation[],
): Promise<NightDetails> {
  const rows = await sumEntries<DetailRow>(on, readDetails, [
    property.bucket,
    property.propertyId,
    night,
    night,
    at.sourceUpTo,
    at.receivedUpTo,
    RESERVATIONS_MAX,
    countedAt ?? "infinity",
  ]);
  const newer = new Set(rows.flatMap(({ reservationId, isChanged }) => (isChanged ? [reservationId] : [])));
  const changed =
    countedAt === undefined ? [] : await readChanged(on, property, night, at, countedAt, statuses, newer);
  const counted = reservations.filter(({ deducts }) => deducts === true);
  // Those of differing room types first: there may be more than are read.
  const first = Map.groupBy(counted, ({ roomType }) => differs(roomType));
  const payloads = await readPayloads(on, property.bucket, night, [
    ...(first.get(true) ?? []),
    ...(first.get(false) ?? []),
  ]);
  const free = new Map(rows.map(({ reservationId, isFree }) => [reservationId, isFree]));
  const details = new Map(
    counted.map(({ reservationId }) => {
      const read = payloads.get(reservationId) ?? { roomNumbers: [], roomTypes: [], numberOfRooms: 1 };
      return [reservationId, { ...read, isFree: free.get(reservationId) === true }];
    }),
  );
  return { details, changed, once: rows.map(({ reservationId }) => reservationId) };
}
