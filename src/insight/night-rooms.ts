import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import {
  codeOrNull,
  count,
  day,
  flag,
  objectField,
  orNull,
  placeOf,
  roomType,
  sourceTime,
  text,
  type ValuesOf,
} from "./fields.ts";
import type { LabelMeanings } from "./query-context.ts";
import { type InsightProperty, type PointInTime, ROWS_MAX, requireFewRows } from "./question.ts";
import { composeStatement, sumEntries } from "./statements.ts";

const readSettled = composeStatement(new URL("./sql/read-settled-rooms.sql", import.meta.url), {
  moment: "night",
  "of-short-ones": "",
});

/** Rooms of reservations on the books of a night, shares settled. */
export interface SettledRooms {
  readonly night: string;
  readonly room_type: string | null;
  /** The group block that they are of; null: of none. */
  readonly block_group: string | null;
  readonly rooms: number;
}

/** Rooms on the books by night, room type and group, under the labels that deduct; `to` included. In the order of nights. */
export async function readSettledRooms(
  on: Queryable,
  property: InsightProperty,
  range: { readonly from: string; readonly to: string },
  at: PointInTime,
  deducting: readonly string[],
): Promise<SettledRooms[]> {
  const rows = await sumEntries<SettledRooms>(on, readSettled, [
    property.bucket,
    property.propertyId,
    range.from,
    range.to,
    at.sourceUpTo,
    at.receivedUpTo,
    deducting,
    ROWS_MAX + 1,
  ]);
  return requireFewRows(rows, range);
}

const readNight = composeStatement(new URL("./sql/read-night-reservations.sql", import.meta.url), {
  "of-short-ones": "",
});
const readVersions = readStatement(new URL("./sql/read-reservation-versions.sql", import.meta.url));

/** More than any hotel has of one night, cancelled ones with them. */
const RESERVATIONS_MAX = 5_000;

export const NIGHT_RESERVATION_FIELDS = {
  reservationId: text("The reservation's id.", "R-4821"),
  label: codeOrNull("The label of its status, as sent.", "CONFIRMED"),
  deducts: orNull(
    flag("Whether its rooms are on the books by that label; null: nobody has mapped it.", true),
  ),
  roomType,
  bookedRoomType: codeOrNull("The room type that was booked.", "STD"),
  group: codeOrNull("The group block that it is of.", "CONF26"),
  shareId: codeOrNull("What it shares its room by.", "S-77"),
  rooms: count("Rooms that it names.", 1),
  counted: count("Rooms of it that count on this night.", 1),
  arrival: day("Its first arrival.", "2026-07-13"),
  departure: day("Its last departure.", "2026-07-16"),
  sourceTime: sourceTime("Source time of the version that counts."),
  ...placeOf("that version"),
  late: {
    ...orNull(
      objectField("A version that came later and was older: kept, and not counted.", placeOf("that version")),
    ),
    examples: [null],
  },
};

/** What a reservation says of one night, of one room type. */
export type NightReservation = ValuesOf<typeof NIGHT_RESERVATION_FIELDS>;

interface NightRow {
  readonly key: string;
  readonly share_id: string | null;
  readonly label: string | null;
  readonly room_type: string | null;
  readonly booked_room_type: string | null;
  readonly block_group: string | null;
  readonly rooms: number;
}

interface VersionRow {
  readonly key: string;
  readonly source_time: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly from_date: string;
  readonly to_date: string;
  readonly late_request_id: string | null;
  readonly late_record_index: number | null;
}

/**
 * The rooms that count of each row, in their order (reservations in the order of their ids). Of the sharers of one share the
 * one with the smallest id has the room: as many as the most that any of them names.
 */
export function settleNight(
  rows: readonly { readonly key: string; readonly share_id: string | null; readonly rooms: number }[],
  deducts: readonly (boolean | null)[],
): number[] {
  const shares = new Map<string, { readonly holder: string; readonly named: Map<string, number> }>();
  rows.forEach(({ key, share_id, rooms }, at) => {
    if (share_id === null || deducts[at] !== true) return;
    let share = shares.get(share_id);
    if (share === undefined) {
      share = { holder: key, named: new Map() };
      shares.set(share_id, share);
    }
    share.named.set(key, (share.named.get(key) ?? 0) + rooms);
  });
  const settled = new Set<string>();
  return rows.map(({ key, share_id, rooms }, at) => {
    if (deducts[at] !== true) return 0;
    if (share_id === null) return rooms;
    const share = shares.get(share_id);
    if (share === undefined || share.holder !== key) return 0;
    // The first of its rows has what another sharer names more.
    if (settled.has(share_id)) return rooms;
    settled.add(share_id);
    return rooms + Math.max(...share.named.values()) - (share.named.get(key) ?? 0);
  });
}

/** Every reservation that has a night, whatever its label, in the order of ids. The first 5,000 rows. */
export async function readNightReservations(
  on: Queryable,
  property: InsightProperty,
  night: string,
  at: PointInTime,
  labels: LabelMeanings,
): Promise<NightReservation[]> {
  const which = [property.bucket, property.propertyId];
  const until = [at.sourceUpTo, at.receivedUpTo];
  const rows = await sumEntries<NightRow>(on, readNight, [...which, night, night, ...until, RESERVATIONS_MAX]);
  const [deducting, off] = [new Set(labels.deducting), new Set(labels.off)];
  const deducts = rows.map(({ label }) =>
    deducting.has(label ?? "") ? true : off.has(label ?? "") ? false : null,
  );
  const counted = settleNight(rows, deducts);
  const versions = await on.query<VersionRow>({
    ...readVersions,
    values: [...which, [...new Set(rows.map(({ key }) => key))], ...until],
  });
  const byKey = new Map(versions.rows.map((version) => [version.key, version]));
  return rows.flatMap((row, place) => {
    const version = byKey.get(row.key);
    if (version === undefined) return [];
    const { late_request_id, late_record_index } = version;
    const late =
      late_request_id === null || late_record_index === null
        ? null
        : { requestId: late_request_id, index: late_record_index };
    return [
      {
        reservationId: row.key,
        label: row.label,
        deducts: deducts[place] ?? null,
        roomType: row.room_type,
        bookedRoomType: row.booked_room_type,
        group: row.block_group,
        shareId: row.share_id,
        rooms: row.rooms,
        counted: counted[place] ?? 0,
        arrival: version.from_date,
        departure: version.to_date,
        sourceTime: version.source_time,
        late,
        requestId: version.request_id,
        index: version.record_index,
      },
    ];
  });
}
