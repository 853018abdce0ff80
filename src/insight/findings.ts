import { addDays } from "#contract/dates.ts";
import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import type { Schema } from "../platform/http/openapi/model.ts";
import { loadRecords } from "../query/load-records.ts";
import type { Property } from "../query/property.ts";
import type { BlockNight, GroupMaster } from "./blocks.ts";
import * as field from "./fields.ts";
import type { NightReservation } from "./night-rooms.ts";
import type { PropertyStatuses } from "./query-context.ts";
import type { PointInTime } from "./question.ts";
import type { ReportedNight } from "./reconciliation.ts";

const readQuarantined = readStatement(new URL("./sql/read-quarantined-records.sql", import.meta.url));

/** Quarantined records read for one night. */
const QUARANTINED_MAX = 100;

/** A quarantined record that concerns a night. */
interface QuarantinedRecord {
  readonly resource: Resource;
  readonly key: string;
  readonly code: string;
  readonly requestId: string;
  readonly index: number;
  /** For a reservation whose status deducts: its rooms of the night by room type. */
  readonly rooms: readonly { readonly roomType: string; readonly rooms: number }[];
}

type QuarantinedRow = Omit<QuarantinedRecord, "resource" | "rooms"> & { readonly resource: ResourceLetter };

type Json = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((one): one is Json => typeof one === "object" && one !== null) : [];

/** Rooms of a night by the reservation's room stays. */
function reservedRooms(record: Json, night: string): { roomType: string; rooms: number }[] {
  const rooms = Number(record["numberOfRooms"] ?? 1);
  return listOf(record["roomStays"]).flatMap((stay) =>
    String(stay["arrivalDate"]) <= night && night < String(stay["departureDate"])
      ? [{ roomType: String(stay["roomTypeCode"]), rooms: Number.isFinite(rooms) ? rooms : 1 }]
      : [],
  );
}

function concernsNight(resource: Resource, key: string, record: Json, night: string): boolean {
  if (resource === "inventories") return key === night;
  if (resource === "reservations") return reservedRooms(record, night).length > 0;
  return listOf(record["groupBlocks"]).some((block) => block["occupancyDate"] === night);
}

/**
 * The first 100 quarantined records of a property that concern a night as of an instant: received by then, and not released or discarded by
 * then.
 */
export async function readQuarantinedRecords(
  on: Queryable,
  { bucket, propertyId }: Property,
  night: string,
  { receivedUpTo }: PointInTime,
  statuses: PropertyStatuses,
): Promise<QuarantinedRecord[]> {
  const { rows } = await on.query<QuarantinedRow>({
    ...readQuarantined,
    values: [bucket, propertyId, receivedUpTo, QUARANTINED_MAX],
  });
  const pointers = rows.map(({ requestId, index }) => ({ bucket, requestId, index }));
  const quarantined: QuarantinedRecord[] = [];
  let at = 0;
  for await (const bytes of loadRecords(on, pointers)) {
    const row = rows[at];
    at += 1;
    const record: unknown = JSON.parse(bytes.toString("utf8"));
    if (row === undefined || typeof record !== "object" || record === null) continue;
    const resource = resourceOf(row.resource);
    if (!concernsNight(resource, row.key, record as Json, night)) continue;
    const status = String((record as Json)["status"] ?? "");
    const isCounted = resource === "reservations" && statuses.deducts("reservations", status) === true;
    quarantined.push({ ...row, resource, rooms: isCounted ? reservedRooms(record as Json, night) : [] });
  }
  return quarantined;
}

/** Why a hotel's count may differ from its reservations. Findings of equal weight are listed in this order. */
export const FINDING_KINDS = [
  "share-counted-twice",
  "cancelled-but-sold",
  "unpicked-block-counted",
  "unmapped-label",
  "quarantined",
  "changed-since-count",
  "stale",
  "other-room-type-booked",
  "block-without-hold-counted",
  "missing-reservation",
  "wrong-sold-count",
] as const;
type FindingKind = (typeof FINDING_KINDS)[number];

const RECORD_FIELDS = {
  resource: field.resource("The resource of the record.", "reservations"),
  key: field.text("Its occupancyDate, reservationId or groupCode.", "R-4821"),
  ...field.placeOf("it"),
};
type FindingRecord = field.ValuesOf<typeof RECORD_FIELDS>;

const KIND: field.Field<FindingKind> = {
  ...(field.text("The kind of finding; docs/insight.md lists them.", "cancelled-but-sold") as Schema),
  "x-extensible-enum": FINDING_KINDS,
};

export const FINDING = field.objectField("A possible explanation of a difference.", {
  kind: KIND,
  roomType: field.roomType,
  rooms: field.count("The difference it would explain, in rooms; positive if the hotel counts more.", 1),
  nights: field.count("Reported nights that it covers, at most 31 on either side of the night.", 3),
  nightsExplained: field.count("Nights of these whose difference it would explain.", 3),
  records: field.listField("The records concerned.", 10_000, field.objectField("A record.", RECORD_FIELDS)),
  message: field.text(
    "The explanation as text.",
    'The reservation "R-4821" is "CANCELLED", but may be counted as sold.',
  ),
});
export type Finding = typeof FINDING extends field.Field<infer Value> ? Value : never;

/** The data that findings of one night are derived from. */
export interface NightEvidence {
  readonly night: string;
  /** Undefined if there is no valid inventory record for the night. */
  readonly report: ReportedNight | undefined;
  readonly reservations: readonly NightReservation[];
  readonly blocks: readonly BlockNight[];
  readonly masters: ReadonlyMap<string, GroupMaster>;
  readonly quarantined: readonly QuarantinedRecord[];
  /** Reported minus rebuilt rooms of a night and room type; undefined if nothing is reported or the night is out of range. */
  differenceOf(night: string, roomType: string | null): number | undefined;
}

const NIGHTS_AROUND = 31;

interface Candidate extends Omit<Finding, "nights" | "nightsExplained"> {
  /** The nights it could explain. */
  readonly covers: readonly string[];
}

/** The nights of a stay within 31 days of a night. */
function nightsOf({ arrival, departure }: NightReservation, night: string): string[] {
  const [first, last] = [addDays(night, -NIGHTS_AROUND), addDays(night, NIGHTS_AROUND)];
  const nights: string[] = [];
  for (let one = arrival > first ? arrival : first; one < departure && one <= last; one = addDays(one, 1))
    nights.push(one);
  return nights;
}

const explains = (difference: number, rooms: number): boolean =>
  rooms > 0 ? difference >= rooms : difference <= rooms;

/** A candidate with the nights whose difference it can explain; undefined if it cannot explain this night's. */
function found(candidate: Candidate, { night, differenceOf }: NightEvidence): Finding | undefined {
  const { covers, ...finding } = candidate;
  const fits = (one: string) => explains(differenceOf(one, finding.roomType) ?? 0, finding.rooms);
  if (finding.rooms === 0 || !fits(night)) return undefined;
  const nights = covers.filter((one) => differenceOf(one, finding.roomType) !== undefined);
  return { ...finding, nights: nights.length, nightsExplained: nights.filter(fits).length };
}

const recordOf = (reservation: NightReservation): FindingRecord => ({
  resource: "reservations",
  key: reservation.reservationId,
  requestId: reservation.requestId,
  index: reservation.index,
});

const shown = (text: string | null): string => JSON.stringify((text ?? "").slice(0, 64));

/** Candidates that consist of one reservation each. */
function ofReservations({ night, report, reservations }: NightEvidence): Candidate[] {
  const countedAt = report?.source_time;
  return reservations.flatMap((one): Candidate[] => {
    const { roomType, bookedRoomType, rooms, counted, label, deducts, sourceTime } = one;
    const about = { roomType, records: [recordOf(one)], covers: nightsOf(one, night) };
    const id = shown(one.reservationId);
    const candidates: Candidate[] = [];
    const isLater = countedAt !== undefined && sourceTime > countedAt;
    if (deducts === false) {
      const when = isLater ? ", since the count was made" : "";
      const message = `The reservation ${id} is ${shown(label)}${when}, but may be counted as sold.`;
      candidates.push({ ...about, kind: "cancelled-but-sold", rooms, message });
    }
    if (deducts === null) {
      const message = `The status ${shown(label)} of the reservation ${id} is not mapped, so its rooms are not on the books.`;
      candidates.push({ ...about, kind: "unmapped-label", rooms, message });
    }
    if (isLater && counted > 0) {
      const message = `The reservation ${id} was changed at ${sourceTime}, after the count was made.`;
      candidates.push({ ...about, kind: "changed-since-count", rooms: -counted, message });
    }
    if (one.late !== null) {
      const message = `A later batch had an older version of the reservation ${id}: it is kept and does not count.`;
      const records = [{ ...recordOf(one), ...one.late }, recordOf(one)];
      candidates.push({ ...about, kind: "stale", rooms: counted > 0 ? -counted : rooms, message, records });
    }
    if (counted > 0 && bookedRoomType !== null && bookedRoomType !== roomType) {
      const message = `The reservation ${id} was booked as ${shown(bookedRoomType)} and is in ${shown(roomType)}.`;
      const kind = "other-room-type-booked";
      candidates.push({ ...about, kind, rooms: counted, roomType: bookedRoomType, message });
      candidates.push({ ...about, kind, rooms: -counted, message });
    }
    return candidates;
  });
}

/** Shares for which a hotel may count a room per sharer. */
function ofShares({ night, reservations }: NightEvidence): Candidate[] {
  const sharing = reservations.filter(({ shareId, deducts }) => shareId !== null && deducts === true);
  const candidates: Candidate[] = [];
  for (const [shareId, sharers] of Map.groupBy(sharing, (one) => one.shareId)) {
    for (const one of sharers) {
      if (one.counted >= one.rooms) continue;
      const others = sharers.filter(({ reservationId }) => reservationId !== one.reservationId);
      const names = others.slice(0, 3).map(({ reservationId }) => shown(reservationId));
      candidates.push({
        kind: "share-counted-twice",
        roomType: one.roomType,
        rooms: one.rooms - one.counted,
        covers: nightsOf(one, night),
        records: [one, ...others].map(recordOf),
        message: `The reservation ${shown(one.reservationId)} shares its room with ${names.join(", ")} (share ${shown(shareId)}): one room, which may be counted for each.`,
      });
    }
  }
  return candidates;
}

/** Blocks that a hotel may count as sold before they are picked up. One night each, because blocks change per night. */
function ofBlocks({ night, blocks, masters }: NightEvidence): Candidate[] {
  return blocks.flatMap((block): Candidate[] => {
    const rooms = block.holds === true ? block.unpicked : block.blocks - (block.pickedUp ?? 0);
    const master = masters.get(block.group);
    if (rooms <= 0 || master === undefined) return [];
    const { requestId, index } = master;
    const state = block.holds === true ? "held" : `asked for under the status ${shown(block.status)}`;
    return [
      {
        kind: block.holds === true ? "unpicked-block-counted" : "block-without-hold-counted",
        roomType: block.roomType,
        rooms,
        covers: [night],
        records: [{ resource: "groups", key: block.group, requestId, index }],
        message: `Rooms of the group ${shown(block.group)} are ${state} and not picked up, and may be counted as sold.`,
      },
    ];
  });
}

/** Quarantined records that would change the night. */
function ofQuarantined({ night, quarantined, reservations }: NightEvidence): Candidate[] {
  return quarantined.flatMap(({ resource, key, code, requestId, index, rooms }): Candidate[] => {
    const records = [{ resource, key, requestId, index }];
    const message = `A record of ${shown(key)} (${resource}) is quarantined: ${code}.`;
    if (resource !== "reservations") return [];
    const types = new Map<string | null, number>();
    for (const { roomType, rooms: named } of rooms) types.set(roomType, (types.get(roomType) ?? 0) + named);
    for (const { reservationId, roomType, counted } of reservations)
      if (reservationId === key) types.set(roomType, (types.get(roomType) ?? 0) - counted);
    return [...types].map(([roomType, named]) => ({
      kind: "quarantined" as const,
      roomType,
      rooms: named,
      records,
      message,
      covers: [night],
    }));
  });
}

/** Consecutive nights around this one on which a room type differs by at least as much. */
function rowOf(
  { night, differenceOf }: NightEvidence,
  roomType: string | null,
  rooms: number,
  around: readonly string[],
): string[] {
  const fits = (one: string | undefined) =>
    one !== undefined && explains(differenceOf(one, roomType) ?? 0, rooms);
  let first = around.indexOf(night);
  let last = first;
  while (fits(around[first - 1])) first -= 1;
  while (fits(around[last + 1])) last += 1;
  return around.slice(first, last + 1);
}

/** The finding for an otherwise unexplained difference: a wrong count, or a reservation that was never received. */
function ofCount(
  evidence: NightEvidence,
  roomType: string | null,
  explained: boolean,
  around: readonly string[],
): Candidate[] {
  const { night, report } = evidence;
  const rooms = evidence.differenceOf(night, roomType) ?? 0;
  if (report === undefined || rooms === 0) return [];
  const counts = report.rooms.find(({ unit }) => unit === roomType)?.counts;
  const { sold = null, transient = null, grouped = null } = counts ?? {};
  const place = { requestId: report.request_id, index: report.record_index };
  const records = [{ resource: "inventories" as const, key: night, ...place }];
  const covers = rowOf(evidence, roomType, rooms, around);
  const isTorn = transient !== null && grouped !== null && transient + grouped !== sold;
  const about = { roomType, rooms, records, covers };
  const candidates: Candidate[] = [];
  if (rooms > 0 && !explained) {
    const nights = covers.length === 1 ? "this night alone" : `${covers.length} nights in a row`;
    const message = `${rooms} more of ${shown(roomType)} sold than any record says, ${nights}: a reservation may never have come.`;
    candidates.push({ ...about, kind: "missing-reservation", message });
  }
  if (isTorn) {
    const message = `The count of ${shown(roomType)} is inconsistent: ${sold} sold, ${transient} transient and ${grouped} of groups.`;
    candidates.push({ ...about, kind: "wrong-sold-count", message });
  } else if (!explained) {
    const message = `The count of ${shown(roomType)} says ${sold ?? 0}, and no record explains the difference: it may be wrong.`;
    candidates.push({ ...about, kind: "wrong-sold-count", message });
  }
  return candidates;
}

const fitOf = ({ nights, nightsExplained }: Finding): number => (nights === 0 ? 0 : nightsExplained / nights);

/**
 * Possible explanations of a night's difference between inventory and reservations, by room type, the likeliest first: candidates that
 * match the exact difference on all their nights come first.
 */
export function findingsOf(evidence: NightEvidence, roomTypes: readonly (string | null)[]): Finding[] {
  const candidates = [
    ...[ofShares(evidence), ofReservations(evidence), ofBlocks(evidence), ofQuarantined(evidence)].flat(),
  ];
  const findings = candidates.flatMap((candidate) => found(candidate, evidence) ?? []);
  const days = Array.from({ length: 2 * NIGHTS_AROUND + 1 }, (_, at) => at - NIGHTS_AROUND);
  const around = [...new Set(days.map((day) => addDays(evidence.night, day)))];
  for (const roomType of roomTypes) {
    const difference = evidence.differenceOf(evidence.night, roomType) ?? 0;
    const explained = findings.some(
      (one) => one.roomType === roomType && one.rooms === difference && fitOf(one) === 1,
    );
    const ofThis = ofCount(evidence, roomType, explained, around);
    findings.push(...ofThis.flatMap((candidate) => found(candidate, evidence) ?? []));
  }
  const isExact = ({ roomType, rooms }: Finding) =>
    evidence.differenceOf(evidence.night, roomType) === rooms ? 1 : 0;
  const placeOf = ({ kind }: Finding) => FINDING_KINDS.indexOf(kind);
  return findings.sort(
    (one, other) =>
      fitOf(other) - fitOf(one) || isExact(other) - isExact(one) || placeOf(one) - placeOf(other),
  );
}
