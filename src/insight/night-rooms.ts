import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Property } from "../query/property.ts";
import { amountIn } from "./exact-amount.ts";
import * as field from "./fields.ts";
import type { PropertyStatuses } from "./query-context.ts";
import { type NightWindow, type PointInTime, ROWS_MAX, requireFewRows } from "./question.ts";
import { entriesOfNights, sumEntries } from "./statements.ts";

const readSettled = readStatement(new URL("./sql/read-settled-rooms.sql", import.meta.url), {
  ...entriesOfNights(),
  moment: "night",
});

/** Rooms of reservations on the books of a night, after settling shares. */
export interface SettledRooms {
  readonly night: string;
  readonly room_type: string | null;
  /** The rooms' group block; null if none. */
  readonly block_group: string | null;
  readonly rooms: number;
}

/** Rooms on the books by night, room type and group, in statuses that deduct, ordered by night. */
export async function readSettledRooms(
  on: Queryable,
  property: Property,
  window: NightWindow,
  at: PointInTime,
  deducting: readonly string[],
): Promise<SettledRooms[]> {
  const rows = await sumEntries<SettledRooms>(on, readSettled, [
    property.bucket,
    property.propertyId,
    window.first,
    window.last,
    at.sourceUpTo,
    at.receivedUpTo,
    deducting,
    ROWS_MAX + 1,
  ]);
  return requireFewRows(rows, window);
}

const readNight = readStatement(
  new URL("./sql/read-night-reservations.sql", import.meta.url),
  entriesOfNights(),
);
const readVersions = readStatement(new URL("./sql/read-reservation-versions.sql", import.meta.url));

/** More than any hotel has for one night, including cancelled ones. */
const RESERVATIONS_MAX = 5_000;

export const NIGHT_RESERVATION_FIELDS = {
  reservationId: field.text("The reservation's id.", "R-4821"),
  label: field.codeOrNull("Its status, as sent.", "CONFIRMED"),
  deducts: field.orNull(
    field.flag("Whether its rooms count on the books under that status; null: the status is unmapped.", true),
  ),
  roomType: field.roomType,
  bookedRoomType: field.codeOrNull("The room type that was booked.", "STD"),
  group: field.codeOrNull("Its group block.", "CONF26"),
  marketSegment: field.orNull(
    field.text("The market segment; several of one room type are separated by commas.", "LEISURE"),
  ),
  rateCode: field.orNull(field.text("The rate code; several are separated by commas.", "BAR")),
  roomRevenue: field.decimalOrNull("Net room revenue of the night. Null: not reported.", "180.00"),
  currency: field.orNull(field.text("Its currency, as sent.", "EUR")),
  shareId: field.codeOrNull("The share id; reservations with the same one share a room.", "S-77"),
  rooms: field.count("The reservation's number of rooms.", 1),
  counted: field.count("Rooms of the reservation that count on this night.", 1),
  arrival: field.day("Its first arrival.", "2026-07-13"),
  departure: field.day("Its last departure.", "2026-07-16"),
  bookedAt: field.orNull(
    field.time("When it was booked (`bookingDateTime`). Null: not reported.", "2026-03-02T09:15:00.000000Z"),
  ),
  sourceTime: field.sourceTime("Source time of the version that counts."),
  ...field.placeOf("that version"),
  late: {
    ...field.orNull(
      field.objectOf(
        "A version that arrived later with an older source time; it does not count.",
        field.placeOf("that version"),
      ),
    ),
    examples: [null],
  },
};

/** A reservation's rooms on one night, for one room type. */
export type NightReservation = field.ValuesOf<typeof NIGHT_RESERVATION_FIELDS>;

type NightRow = Pick<
  NightReservation,
  | "reservationId"
  | "shareId"
  | "label"
  | "roomType"
  | "bookedRoomType"
  | "group"
  | "rooms"
  | "marketSegment"
  | "rateCode"
  | "currency"
> & { readonly revenue: string | null };
export type VersionRow = Pick<
  NightReservation,
  "reservationId" | "arrival" | "departure" | "bookedAt" | "sourceTime" | "requestId" | "index"
> & { readonly lateRequestId: string | null; readonly lateIndex: number | null };

/**
 * The counted rooms of each row, in order (rows are ordered by reservation id). In a share, the sharer with the smallest id has as many
 * rooms as the most that any sharer names.
 */
export function settleNight(
  rows: readonly Pick<NightRow, "reservationId" | "shareId" | "rooms">[],
  deducts: readonly (boolean | null)[],
): number[] {
  const sharing = rows.filter(({ shareId }, at) => shareId !== null && deducts[at] === true);
  const shares = new Map<string | null, { readonly holder: string; beyond: number }>();
  for (const [shareId, sharers] of Map.groupBy(sharing, (one) => one.shareId)) {
    const named = new Map<string, number>();
    for (const { reservationId, rooms } of sharers)
      named.set(reservationId, (named.get(reservationId) ?? 0) + rooms);
    const [[holder, own] = ["", 0]] = named;
    shares.set(shareId, { holder, beyond: Math.max(...named.values()) - own });
  }
  return rows.map(({ reservationId, shareId, rooms }, at) => {
    if (deducts[at] !== true) return 0;
    const share = shares.get(shareId);
    if (share === undefined) return rooms;
    if (share.holder !== reservationId) return 0;
    // The first row carries the rooms that another sharer names beyond this one's.
    const { beyond } = share;
    share.beyond = 0;
    return rooms + beyond;
  });
}

/** The version of each reservation that counts at an instant, and the newest stale one, by reservation id. */
export async function readReservationVersions(
  on: Queryable,
  { bucket, propertyId }: Property,
  keys: readonly string[],
  at: PointInTime,
): Promise<ReadonlyMap<string, VersionRow>> {
  if (keys.length === 0) return new Map();
  const values = [bucket, propertyId, keys, at.sourceUpTo, at.receivedUpTo];
  const { rows } = await on.query<VersionRow>({ ...readVersions, values });
  return new Map(rows.map((version) => [version.reservationId, version]));
}

/** A row of a night, settled. */
export interface SettledNightRow extends NightRow {
  readonly deducts: boolean | null;
  readonly counted: number;
}

/** The first 5,000 rows of reservations that have a night, in any status, ordered by id. */
export async function readSettledNight(
  on: Queryable,
  { bucket, propertyId }: Property,
  night: string,
  at: PointInTime,
  statuses: PropertyStatuses,
): Promise<SettledNightRow[]> {
  const values = [bucket, propertyId, night, night, at.sourceUpTo, at.receivedUpTo, RESERVATIONS_MAX];
  const rows = await sumEntries<NightRow>(on, readNight, values);
  const deducts = rows.map(({ label }) => statuses.deducts("reservations", label));
  const counted = settleNight(rows, deducts);
  return rows.map((row, place) => ({
    ...row,
    deducts: deducts[place] ?? null,
    counted: counted[place] ?? 0,
  }));
}

/** The rows of a night with the versions that count. */
export async function readNightReservations(
  on: Queryable,
  property: Property,
  night: string,
  at: PointInTime,
  statuses: PropertyStatuses,
): Promise<NightReservation[]> {
  const rows = await readSettledNight(on, property, night, at, statuses);
  const ids = [...new Set(rows.map(({ reservationId }) => reservationId))];
  const versions = await readReservationVersions(on, property, ids, at);
  return rows.flatMap(({ shareId, counted, rooms, ...row }) => {
    const version = versions.get(row.reservationId);
    if (version === undefined) return [];
    const { lateRequestId, lateIndex, arrival, departure, bookedAt, sourceTime, requestId, index } = version;
    const late =
      lateRequestId === null || lateIndex === null ? null : { requestId: lateRequestId, index: lateIndex };
    const { reservationId, label, deducts, roomType, bookedRoomType, group } = row;
    const { marketSegment, rateCode, currency, revenue } = row;
    const codes = { reservationId, label, deducts, roomType, bookedRoomType, group, shareId };
    const price = { marketSegment, rateCode, roomRevenue: amountIn(currency, revenue), currency };
    const dates = { arrival, departure, bookedAt, sourceTime };
    return [{ ...codes, ...price, rooms, counted, ...dates, late, requestId, index }];
  });
}
