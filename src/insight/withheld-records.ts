import { type Resource, type ResourceLetter, resourceOf } from "#contract/resource.ts";
import { STAY_NIGHTS_MAX } from "#contract/warnings.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { loadRecords, type RecordPointer } from "../query/load-records.ts";
import { keyNameOf } from "../query/openapi/read-parameters.ts";
import type { Property } from "../query/property.ts";
import { readReservationVersions, type VersionRow } from "./night-rooms.ts";
import type { PropertyStatuses } from "./query-context.ts";
import type { PointInTime, StayQuestion } from "./question.ts";

const statement = (name: string) => readStatement(new URL(`./sql/${name}.sql`, import.meta.url));
const readQuarantined = statement("read-quarantined-records");
const readRejecting = statement("read-rejecting-arrivals");
const readRejected = statement("read-rejected-records");
/** Clients that may send records of a property. */
const readSenders = namedStatement(
  "read-senders",
  `select distinct client_id as "clientId" from bellhop.client_grant
  where client_code = $1 and property_code in ($2, '*') order by client_id`,
);
const readUncounted = statement("read-uncounted-reservations");

/** Quarantined records read for one night. */
const QUARANTINED_MAX = 100;
/** Rejected records read for one night: the newest, and the feed's newest transactions with some. */
const REJECTED_MAX = 500;
const ARRIVALS_MAX = 50;
const UNCOUNTED_MAX = 200;
/** Bytes of records that are parsed for one night, of one record, and without a pause. */
const PARSED_MAX = 8 * 1_048_576;
const RECORD_MAX = 65_536;
const PAUSE_AFTER = 131_072;
/** Stays with the night of one record: a hostile one may list a thousand. */
const STAYS_MAX = 20;

type Json = Readonly<Record<string, unknown>>;

/** A stay of a record that does not count, as far as it can be read. */
export interface ReadStay {
  readonly roomType: string | null;
  readonly group: string | null;
  readonly roomNumber: string | null;
  readonly arrival: string;
  readonly departure: string;
  readonly rooms: number;
  /** Whether its nights or its room type are guessed. */
  readonly isGuess: boolean;
}

/** A record that would concern a night if it counted. */
export interface WithheldRecord {
  readonly reason: "quarantined" | "rejected" | "stale" | "endless" | "day-use";
  readonly resource: Resource;
  /** Null if it cannot be read. */
  readonly key: string | null;
  readonly requestId: string;
  readonly index: number;
  /** Code or message of the reason. */
  readonly why: string;
  /** Whether its status counts on the books; null: unmapped. */
  readonly deducts: boolean | null;
  /** Stays with the night. */
  readonly stays: readonly ReadStay[];
  /** For inventory of the night: rooms sold by room type. */
  readonly sold: ReadonlyMap<string, number> | null;
  /** The version of the reservation that counts. */
  readonly current: {
    readonly place: { readonly requestId: string; readonly index: number };
    readonly dates: { readonly arrival: string; readonly departure: string };
  } | null;
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null;
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isObject) : []);
const textOf = (value: unknown): string | null =>
  typeof value === "string" && value.trim() !== "" && value.length <= 256 ? value : null;

/** A date, also at the beginning of a longer text; undefined if there is none. */
function dateOf(value: unknown): string | undefined {
  const date = typeof value === "string" ? value.trim().slice(0, 10) : "";
  return /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date)) ? date : undefined;
}

/** Rooms of a reservation, 1 if the number cannot be read. */
export function roomsOf(record: Json): number {
  const given = record["numberOfRooms"];
  const rooms = given === undefined || given === null || given === "" ? 1 : Number(given);
  return Number.isInteger(rooms) && rooms >= 0 ? rooms : 1;
}

/** The stays of a reservation with the night, also those whose nights cannot be read for sure. */
export function readStaysOf(record: Json, night: string): ReadStay[] {
  const rooms = roomsOf(record);
  return someStays(record, (stay) => {
    const [arrival, departure] = [dateOf(stay["arrivalDate"]), dateOf(stay["departureDate"])];
    const codes = {
      roomType: textOf(stay["roomTypeCode"]),
      group: textOf(stay["groupBlockCode"]),
      roomNumber: textOf(stay["roomNumber"]),
      rooms,
    };
    if (arrival !== undefined && departure !== undefined && arrival < departure)
      return arrival <= night && night < departure
        ? { ...codes, arrival, departure, isGuess: false }
        : undefined;
    if (arrival === undefined && departure === undefined) return undefined;
    // Reversed dates, or only one of them.
    const [first, last] = [arrival ?? (departure as string), departure ?? (arrival as string)].sort() as [
      string,
      string,
    ];
    return first <= night && night <= last
      ? { ...codes, arrival: first, departure: last, isGuess: true }
      : undefined;
  });
}

/** The first stays that are read as something. */
function someStays(record: Json, read: (stay: Json) => ReadStay | undefined): ReadStay[] {
  const stays: ReadStay[] = [];
  for (const stay of listOf(record["roomStays"])) {
    const found = read(stay);
    if (found !== undefined) stays.push(found);
    if (stays.length === STAYS_MAX) break;
  }
  return stays;
}

/** The record's stays that arrive and depart on the date. */
function dayUseOf(record: Json, night: string): ReadStay[] {
  const rooms = roomsOf(record);
  return someStays(record, (stay) =>
    dateOf(stay["arrivalDate"]) === night && dateOf(stay["departureDate"]) === night
      ? {
          roomType: textOf(stay["roomTypeCode"]),
          group: textOf(stay["groupBlockCode"]),
          roomNumber: null,
          arrival: night,
          departure: night,
          rooms,
          isGuess: false,
        }
      : undefined,
  );
}

/** Rooms sold of an inventory record by room type. */
function soldOf(record: Json): Map<string, number> {
  const sold = new Map<string, number>();
  for (const room of listOf(record["roomTypeInventories"])) {
    const [roomType, rooms] = [textOf(room["roomTypeCode"]), Number(room["roomsSold"] ?? 0)];
    if (roomType !== null && Number.isInteger(rooms)) sold.set(roomType, (sold.get(roomType) ?? 0) + rooms);
  }
  return sold;
}

/** Parses records one after another, up to a sum of bytes; undefined for a record that is too large, no object or no longer kept. */
export async function* parsedRecords(
  on: Queryable,
  pointers: readonly RecordPointer[],
): AsyncGenerator<Json | undefined, void> {
  let [bytes, since] = [0, 0];
  for await (const record of loadRecords(on, pointers)) {
    bytes += record.length;
    since += record.length;
    if (bytes > PARSED_MAX) return;
    if (since > PAUSE_AFTER) {
      since = 0;
      await new Promise((resume) => setImmediate(resume));
    }
    const parsed: unknown = record.length > RECORD_MAX ? null : JSON.parse(record.toString("utf8"));
    yield isObject(parsed) ? parsed : undefined;
  }
}

/** A record to be read for a night. */
interface Sought extends RecordPointer {
  readonly reason: WithheldRecord["reason"];
  readonly resource: Resource;
  readonly key: string | null;
  readonly why: string;
}

interface QuarantinedRow {
  readonly resource: ResourceLetter;
  readonly key: string;
  readonly code: string;
  readonly requestId: string;
  readonly index: number;
}

/** Records that were quarantined at the instant: received by then, and not released or discarded by then. */
async function seekQuarantined(
  on: Queryable,
  { bucket, propertyId }: Property,
  { receivedUpTo }: PointInTime,
): Promise<Sought[]> {
  const { rows } = await on.query<QuarantinedRow>({
    ...readQuarantined,
    values: [bucket, propertyId, receivedUpTo, QUARANTINED_MAX],
  });
  return rows.map(({ resource, key, code, requestId, index }) => ({
    reason: "quarantined",
    resource: resourceOf(resource),
    key,
    why: code,
    bucket,
    requestId,
    index,
  }));
}

interface RejectedRow {
  readonly bucket: number;
  readonly resource: ResourceLetter;
  readonly requestId: string;
  readonly index: number;
  readonly message: string | null;
}

/**
 * The newest rejected records of lenient batches that may be the property's: of the transactions of its feeds, from clients that may send its
 * records. Which of them name the property is read from the records.
 */
async function seekRejected(
  on: Queryable,
  { property, clientCode, propertyCode }: Pick<StayQuestion, "property" | "clientCode" | "propertyCode">,
  { receivedUpTo }: PointInTime,
): Promise<Sought[]> {
  const arrivals = await on.query<{ first: string; last: string }>({
    ...readRejecting,
    values: [property.bucket, property.propertyId, receivedUpTo, ARRIVALS_MAX],
  });
  if (arrivals.rows.length === 0) return [];
  const senders = await on.query<{ clientId: string }>({
    ...readSenders,
    values: [clientCode, propertyCode],
  });
  const { rows } = await on.query<RejectedRow>({
    ...readRejected,
    values: [
      senders.rows.map(({ clientId }) => clientId),
      arrivals.rows.map(({ first }) => first),
      arrivals.rows.map(({ last }) => last),
      ARRIVALS_MAX,
      REJECTED_MAX,
    ],
  });
  return rows.map(({ resource, message, ...place }) => ({
    ...place,
    reason: "rejected",
    resource: resourceOf(resource),
    key: null,
    why: message ?? "it is invalid.",
  }));
}

interface UncountedRow {
  readonly key: string;
  readonly requestId: string;
  readonly index: number;
  readonly isEndless: boolean;
}

async function seekUncounted(
  on: Queryable,
  { bucket, propertyId }: Property,
  night: string,
): Promise<Sought[]> {
  const { rows } = await on.query<UncountedRow>({
    ...readUncounted,
    values: [bucket, propertyId, night, STAY_NIGHTS_MAX, UNCOUNTED_MAX],
  });
  return rows.map(({ isEndless, ...place }) => ({
    ...place,
    bucket,
    resource: "reservations",
    reason: isEndless ? "endless" : "day-use",
    why: "",
  }));
}

/** Stale versions of reservations that had the night at any time. */
function seekStale(versions: ReadonlyMap<string, VersionRow>, bucket: number): Sought[] {
  return [...versions.values()].flatMap(({ reservationId, lateRequestId, lateIndex }): Sought[] =>
    lateRequestId === null || lateIndex === null
      ? []
      : [
          {
            reason: "stale",
            resource: "reservations",
            key: reservationId,
            why: "",
            bucket,
            requestId: lateRequestId,
            index: lateIndex,
          },
        ],
  );
}

/**
 * Records of a property that would concern a night if they counted, as of an instant: quarantined, rejected and stale ones, reservations
 * with more nights than insight counts, and day use. `once`: reservations that had the night at any time. Reads a bounded number.
 */
export async function readWithheldRecords(
  on: Queryable,
  asked: Pick<StayQuestion, "property" | "clientCode" | "propertyCode">,
  night: string,
  at: PointInTime,
  statuses: PropertyStatuses,
  once: readonly string[],
): Promise<WithheldRecord[]> {
  const { property, clientCode, propertyCode } = asked;
  const versions = new Map(await readReservationVersions(on, property, once, at));
  const sought = [
    ...seekStale(versions, property.bucket).slice(0, UNCOUNTED_MAX),
    ...(await seekQuarantined(on, property, at)),
    ...(await seekUncounted(on, property, night)),
    ...(await seekRejected(on, asked, at)),
  ];
  const read: ReadRecord[] = [];
  let next = 0;
  for await (const record of parsedRecords(on, sought)) {
    const of = sought[next] as Sought;
    next += 1;
    if (record === undefined) continue;
    if (
      of.reason === "rejected" &&
      !(record["clientCode"] === clientCode && record["propertyCode"] === propertyCode)
    )
      continue;
    read.push(readRecord(of, record, night));
  }
  const unread = new Set(
    read.flatMap(({ of, key }) =>
      of.resource === "reservations" && key !== null && !versions.has(key) ? [key] : [],
    ),
  );
  for (const [key, version] of await readReservationVersions(on, property, [...unread], at))
    versions.set(key, version);
  const seen = new Set<string>();
  const found: WithheldRecord[] = [];
  for (const one of read) {
    const { of, key } = one;
    const version = of.resource === "reservations" && key !== null ? versions.get(key) : undefined;
    const withheld = withheldOf(one, night, statuses, version);
    // A feed may send the same invalid record every night.
    const name = JSON.stringify([of.reason, of.resource, key ?? of.requestId]);
    if (withheld === undefined || seen.has(name)) continue;
    seen.add(name);
    found.push(withheld);
  }
  return found;
}

/** What of a record is used. The records themselves, in memory all at once, would take many times their 8 MB. */
interface ReadRecord extends Pick<WithheldRecord, "key" | "stays" | "sold"> {
  readonly of: Sought;
  readonly status: string | null;
}

function readRecord(of: Sought, record: Json, night: string): ReadRecord {
  const key = of.key ?? textOf(record[keyNameOf(of.resource)]);
  const isReservation = of.resource === "reservations";
  const staysOf = of.reason === "day-use" ? dayUseOf : readStaysOf;
  return {
    of,
    key,
    status: textOf(record["status"]),
    stays: isReservation ? staysOf(record, night) : [],
    sold: of.resource === "inventories" && key === night ? soldOf(record) : null,
  };
}

/** Undefined if the record does not concern the night, or another version has replaced it. */
function withheldOf(
  { of: { reason, resource, requestId, index, why }, key, status, stays, sold }: ReadRecord,
  night: string,
  statuses: PropertyStatuses,
  version: VersionRow | undefined,
): WithheldRecord | undefined {
  const about = { reason, resource, key, requestId, index, why };
  if (resource === "groups") return undefined;
  if (resource === "inventories")
    return sold === null ? undefined : { ...about, deducts: null, stays, sold, current: null };
  const isCurrent = version !== undefined && version.requestId === requestId && version.index === index;
  if (reason === "endless" || reason === "day-use") {
    // Of the instant.
    if (!isCurrent) return undefined;
  } else if (reason !== "stale" && version !== undefined && version.requestId > requestId) return undefined;
  const deducts = statuses.deducts("reservations", status);
  if (
    (reason === "endless" || reason === "day-use" || reason === "quarantined") &&
    deducts !== true &&
    version === undefined
  )
    return undefined;
  if ((reason === "endless" || reason === "day-use") && deducts !== true) return undefined;
  const hasNight = version !== undefined && version.arrival <= night && night < version.departure;
  if (stays.length === 0 && !hasNight) return undefined;
  const current =
    version === undefined || isCurrent
      ? null
      : {
          place: { requestId: version.requestId, index: version.index },
          dates: { arrival: version.arrival, departure: version.departure },
        };
  return {
    ...about,
    deducts: reason === "rejected" && deducts === null ? true : deducts,
    stays,
    sold: null,
    current,
  };
}
