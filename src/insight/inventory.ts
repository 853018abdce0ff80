import type pg from "pg";
import { ROOM_TYPES_MAX } from "#contract/insight-bounds.ts";
import { elementsOf, fieldsOfRow } from "../apply/ledger/reservation-nights.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { after, lowestIdFrom, readInstant } from "../platform/http/instant.ts";
import { type BooksPlace, compareCodes, type NightWindow } from "./paging.ts";
import type { StayQuestion } from "./question.ts";

/** What inventory tells of one night: of one room type, or of all together (`unit` is null). Numbers are of rooms. */
export interface Stock {
  readonly night: string;
  readonly unit: string | null;
  readonly capacity: number;
  /** Rooms that cannot be sold: maintenance and other reasons. */
  readonly off: number;
  readonly sold: number;
}

/** Where each column stands in a `bellhop.inventory_facts` (migration 0005). */
const COLUMN = { roomType: 1, isVirtual: 2, capacity: 3, maintenance: 4, other: 5, sold: 6 } as const;

/**
 * What the facts of a night's inventory record tell, in the order of room types, or of all together. Virtual room types are not rooms
 * of their own; a room type that is named twice has the sum. Nothing where there are more than insight counts.
 */
function stockOfFacts(night: string, facts: string, isByRoomType: boolean): Stock[] {
  const fields = fieldsOfRow(facts);
  const column = (name: keyof typeof COLUMN) => elementsOf(fields[COLUMN[name]]);
  const roomTypes = column("roomType");
  if (roomTypes.length > ROOM_TYPES_MAX) return [];
  const [isVirtual, capacity, sold] = [column("isVirtual"), column("capacity"), column("sold")];
  const [maintenance, other] = [column("maintenance"), column("other")];
  const byUnit = new Map<string | null, Stock>();
  for (const [at, roomType] of roomTypes.entries()) {
    if (isVirtual[at] === "t") continue;
    const unit = isByRoomType ? roomType : null;
    const before = byUnit.get(unit);
    byUnit.set(unit, {
      night,
      unit,
      capacity: (before?.capacity ?? 0) + Number(capacity[at] ?? 0),
      off: (before?.off ?? 0) + Number(maintenance[at] ?? 0) + Number(other[at] ?? 0),
      sold: (before?.sold ?? 0) + Number(sold[at] ?? 0),
    });
  }
  return [...byUnit.values()].sort((left, right) => compareCodes(left.unit, right.unit));
}

const findStock = readStatement(new URL("./sql/find-stock.sql", import.meta.url));
/**
 * Of each of the nights $3 the newest inventory version of those whose source time is after $4 and at or before $5 and that
 * were received before the request $6, and not held then. The primary key is in the order of source times, so a step back in time costs the versions
 * of that time (docs/decisions/0008); an index only scan of it but for the nights that are asked for.
 */
const findStockBefore = namedStatement(
  "find-stock-before",
  `select distinct on (key)
    key as night, facts_source_time::text as facts_source_time, encode(content_hash, 'hex') as content_hash
  from bellhop_state.inventory_version
  where bucket = $1 and property_id = $2 and source_time > $4::timestamptz and source_time <= $5::timestamptz
    and key = any ($3::text[]) and request_id < $6::uuid and (request_id, record_index) not in (
      select held.request_id, held.record_index
      from bellhop.quarantine as held
      where held.bucket = $1 and held.property_id = $2 and held.resolved_by >= $6::uuid
    )
  order by key, source_time desc, request_id desc, record_index desc`,
);
const readStockStatement = readStatement(new URL("./sql/read-stock.sql", import.meta.url));

/** A night's inventory record, as the version that holds its content. */
interface StockVersion {
  readonly night: string;
  readonly facts_source_time: string;
  readonly content_hash: string;
}

const ID_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;
/** A record whose source time is further ahead of its receipt is held; once released it is current, and found as that. */
const AHEAD_MS_MAX = 3_600_000;
/** The first step back in time: a feed that pushes all nights every day is found within it. */
const FIRST_STEP_DAYS = 2;

/**
 * Where an instant ends: versions of a source time up to it, received before a request. No version that was received by
 * an instant has a source time long after it, so by the clock of receipt the search begins there too.
 */
function boundsOf({ clock, asOf }: StayQuestion): { sourceTime: string; requestId: string; newest: number } {
  const instant = asOf === null ? undefined : readInstant(asOf);
  if (asOf === null || instant === undefined)
    return { sourceTime: "infinity", requestId: ID_LAST, newest: 0 };
  if (clock === "source") return { sourceTime: asOf, requestId: ID_LAST, newest: instant.ms + 1 };
  return {
    sourceTime: "infinity",
    requestId: lowestIdFrom(after(instant)),
    newest: instant.ms + AHEAD_MS_MAX,
  };
}

/** The versions of nights whose current record does not count at an instant, found step by step back in time. */
async function versionsBefore(
  client: pg.ClientBase,
  question: StayQuestion,
  nights: readonly string[],
): Promise<StockVersion[]> {
  const { propertyId, bucket } = question.property;
  const bounds = boundsOf(question);
  const first = await client.query<{ ms: number | null }>({
    name: "find-first-stock",
    text: `select floor(extract(epoch from min(source_time)) * 1000)::float8 as ms
      from bellhop_state.inventory_version where bucket = $1 and property_id = $2`,
    values: [bucket, propertyId],
  });
  const firstMs = first.rows[0]?.ms ?? Number.POSITIVE_INFINITY;
  const found: StockVersion[] = [];
  const left = new Set(nights);
  let newest = bounds.newest;
  let until = question.clock === "source" ? bounds.sourceTime : new Date(newest).toISOString();
  for (let days = FIRST_STEP_DAYS; left.size > 0 && newest >= firstMs; days *= 2) {
    newest -= days * DAY_MS;
    // Before the first version there is nothing to be found, and no need for a date that none can be.
    const since = newest < firstMs ? "-infinity" : new Date(newest).toISOString();
    const { rows } = await client.query<StockVersion>({
      ...findStockBefore,
      values: [bucket, propertyId, [...left], since, until, bounds.requestId],
    });
    for (const row of rows) left.delete(row.night);
    found.push(...rows);
    until = since;
  }
  return found;
}

/**
 * What inventory tells of the nights of a window at the instant of a question, by its clock: in the order of nights and room
 * types, those after a place (that place's own room type included); at most `limit`.
 */
export async function readStock(
  client: pg.ClientBase,
  question: StayQuestion,
  { first, last }: NightWindow,
  from: BooksPlace,
  limit: number,
): Promise<Stock[]> {
  const { propertyId, bucket } = question.property;
  const { sourceTime, requestId } = boundsOf(question);
  const { rows: current } = await client.query<StockVersion & { readonly counts: boolean }>({
    ...findStock,
    values: [bucket, propertyId, first, last, sourceTime, requestId],
  });
  const versions: StockVersion[] = current.filter(({ counts }) => counts);
  const others = current.filter(({ counts }) => !counts);
  if (others.length > 0)
    versions.push(
      ...(await versionsBefore(
        client,
        question,
        others.map(({ night }) => night),
      )),
    );
  if (versions.length === 0) return [];
  const { rows } = await client.query<{ night: string; facts: string }>({
    ...readStockStatement,
    values: [
      bucket,
      propertyId,
      versions.map(({ night }) => night),
      versions.map(({ facts_source_time }) => facts_source_time),
      versions.map(({ content_hash }) => content_hash),
    ],
  });
  const stock: Stock[] = [];
  for (const { night, facts } of rows) {
    if (stock.length >= limit) break;
    if (night < from.night) continue;
    for (const one of stockOfFacts(night, facts, question.by === "roomType"))
      if (night > from.night || one.unit === null || compareCodes(one.unit, from.unit ?? "") >= 0)
        stock.push(one);
  }
  return stock.slice(0, limit);
}
