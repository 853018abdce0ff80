import { type Resource, type ResourceLetter, resourceOf } from "../contract/resource.ts";
import { readStatement } from "../db/statement.ts";
import type { Queryable } from "../db/transaction.ts";
import { loadRecords } from "../read/load-records.ts";
import type { InsightProperty, PointInTime } from "./point-in-time.ts";

const readHeldRecords = readStatement(new URL("./sql/read-held-records.sql", import.meta.url));

/** Held records that are read for one night: an operator has long looked at them where there are more. */
const HELD_MAX = 100;

/** A record that is held in quarantine and speaks of a night. */
export interface HeldRecord {
  readonly resource: Resource;
  readonly key: string;
  readonly code: string;
  readonly requestId: string;
  readonly index: number;
  /** Its rooms of the night by room type, of a reservation whose label deducts. */
  readonly rooms: readonly { readonly roomType: string; readonly rooms: number }[];
}

interface HeldRow {
  readonly resource: ResourceLetter;
  readonly key: string;
  readonly code: string;
  readonly request_id: string;
  readonly record_index: number;
}

type Json = Readonly<Record<string, unknown>>;

const listOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((one): one is Json => typeof one === "object" && one !== null) : [];

/** The rooms of a night that a reservation names, by its room stays. */
function reservedRooms(record: Json, night: string): { roomType: string; rooms: number }[] {
  const rooms = Number(record["numberOfRooms"] ?? 1);
  return listOf(record["roomStays"]).flatMap((stay) =>
    String(stay["arrivalDate"]) <= night && night < String(stay["departureDate"])
      ? [{ roomType: String(stay["roomTypeCode"]), rooms: Number.isFinite(rooms) ? rooms : 1 }]
      : [],
  );
}

function speaksOf(resource: Resource, key: string, record: Json, night: string): boolean {
  if (resource === "inventories") return key === night;
  if (resource === "reservations") return reservedRooms(record, night).length > 0;
  return listOf(record["groupBlocks"]).some((block) => block["occupancyDate"] === night);
}

/**
 * The records of a property that were held at the receipt of an instant (received by then, and not released or discarded by
 * then) and speak of a night; the first 100 that are held are looked at.
 */
export async function readHeldOf(
  on: Queryable,
  { bucket, propertyId }: InsightProperty,
  night: string,
  { receivedUpTo }: PointInTime,
  deducts: (label: string) => boolean | undefined,
): Promise<HeldRecord[]> {
  const { rows } = await on.query<HeldRow>({
    ...readHeldRecords,
    values: [bucket, propertyId, receivedUpTo, HELD_MAX],
  });
  const pointers = rows.map(({ request_id, record_index }) => ({
    ...{ bucket, requestId: request_id, index: record_index },
  }));
  const held: HeldRecord[] = [];
  let at = 0;
  for await (const bytes of loadRecords(on, pointers)) {
    const row = rows[at];
    at += 1;
    const record: unknown = JSON.parse(bytes.toString("utf8"));
    if (row === undefined || typeof record !== "object" || record === null) continue;
    const resource = resourceOf(row.resource);
    if (!speaksOf(resource, row.key, record as Json, night)) continue;
    const label = String((record as Json)["status"] ?? "");
    const isCounted = resource === "reservations" && deducts(label) === true;
    held.push({
      ...{ resource, key: row.key, code: row.code, requestId: row.request_id, index: row.record_index },
      rooms: isCounted ? reservedRooms(record as Json, night) : [],
    });
  }
  return held;
}
