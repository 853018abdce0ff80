import { elementsOf, factsOfText } from "#contract/facts-text.ts";
import { COLUMNS } from "#contract/record-plan.ts";
import { ROOM_TYPES_MAX } from "#contract/warnings.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import type { Queryable } from "../platform/db/transaction.ts";
import { after, lowestIdFrom, readInstant } from "../platform/http/instant.ts";
import { compareCodes } from "./paging.ts";
import type { NightWindow, StayQuestion } from "./question.ts";

const { room: ROOM, roomIsVirtual: IS_VIRTUAL } = COLUMNS;
const COLUMN = {
  capacity: ROOM.roomTypeCapacity,
  maintenance: ROOM.roomsNotAvailableMaintenance,
  other: ROOM.roomsNotAvailableOther,
  sold: ROOM.roomsSold,
  transient: ROOM.transientSold,
  grouped: ROOM.groupSold,
} as const;

/** Rooms of one room type, or of all if `unit` is null. A count is null if no record reports it. */
export interface InventoryRooms<Column extends keyof typeof COLUMN> {
  readonly unit: string | null;
  readonly counts: Readonly<Record<Column, number | null>>;
}

/** The valid inventory record of a night. */
export interface InventoryNight<Column extends keyof typeof COLUMN> extends StockVersion {
  /** Ordered by room type. */
  readonly rooms: readonly InventoryRooms<Column>[];
  /** Its virtual room types. */
  readonly virtual: readonly string[];
  /** Rooms sold of the further entries of a room type that the record lists more than once. */
  readonly repeated: readonly { readonly unit: string | null; readonly sold: number }[];
}

/** Sums facts by room type or in total, without virtual room types. Undefined beyond ROOM_TYPES_MAX. */
function roomsOf<Column extends keyof typeof COLUMN>(
  facts: string,
  columns: readonly Column[],
  isByRoomType: boolean,
): Pick<InventoryNight<Column>, "rooms" | "virtual" | "repeated"> | undefined {
  const given = factsOfText(facts);
  const roomTypes = elementsOf(given[ROOM.roomTypeCode]);
  if (roomTypes.length > ROOM_TYPES_MAX) return undefined;
  const isVirtual = elementsOf(given[IS_VIRTUAL]);
  const reported = columns.map((column) => ({ column, values: elementsOf(given[COLUMN[column]]) }));
  const nothing = Object.fromEntries(columns.map((column) => [column, null])) as Record<Column, null>;
  // A record without room types is the night's too: there are no rooms.
  const byUnit = new Map<string | null, Record<Column, number | null>>(
    isByRoomType ? [] : [[null, { ...nothing }]],
  );
  const listed = new Set<string | null>();
  const virtual: string[] = [];
  const repeated: { unit: string | null; sold: number }[] = [];
  roomTypes.forEach((roomType, at) => {
    if (isVirtual[at] === "t") {
      if (roomType !== null) virtual.push(roomType);
      return;
    }
    if (listed.has(roomType))
      repeated.push({ unit: roomType, sold: Number(elementsOf(given[COLUMN.sold])[at] ?? 0) });
    listed.add(roomType);
    const unit = isByRoomType ? roomType : null;
    let counts = byUnit.get(unit);
    if (counts === undefined) {
      counts = { ...nothing };
      byUnit.set(unit, counts);
    }
    for (const { column, values } of reported) {
      const value = values[at] ?? null;
      // A negative count (it has a warning) must not subtract from what other room types report.
      if (value !== null) counts[column] = (counts[column] ?? 0) + Math.max(0, Number(value));
    }
  });
  const rooms = [...byUnit]
    .map(([unit, counts]) => ({ unit, counts }))
    .sort((left, right) => compareCodes(left.unit, right.unit));
  return { rooms, virtual, repeated };
}

const findStock = readStatement(new URL("./sql/find-stock.sql", import.meta.url));
/** The newest version of each night in $3 with a source time after $4 and up to $5, received before request $6 and not quarantined then. */
const findStockBefore = namedStatement(
  "find-stock-before",
  `select distinct on (key)
    key as night, to_char(source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as source_time, request_id,
    record_index, facts_source_time::text as facts_source_time, encode(content_hash, 'hex') as content_hash
  from bellhop_state.inventory_version as version
  where bucket = $1 and property_id = $2 and source_time > $4::timestamptz and source_time <= $5::timestamptz
    and key = any ($3::text[]) and request_id < $6::uuid and (request_id, record_index) not in (
      select request_id, record_index from bellhop.quarantine
      where bucket = $1 and property_id = $2 and resolved_by >= $6::uuid)
  order by key, version.source_time desc, version.request_id desc, record_index desc`,
);
const readStock = readStatement(new URL("./sql/read-stock.sql", import.meta.url));
/** The first source time, and whether a quarantined record was released (`resolved_by`: by its index, not all records of the bucket). */
const findFirstStock = namedStatement(
  "find-first-stock",
  `select floor(extract(epoch from min(source_time)) * 1000)::float8 as ms, exists (
    select from bellhop.quarantine where bucket = $1 and property_id = $2 and resource = 'i' and state = 'r' and resolved_by is not null) as "hasReleased"
  from bellhop_state.inventory_version where bucket = $1 and property_id = $2`,
);

/** A night's inventory record: the version that holds its content. */
interface StockVersion {
  readonly night: string;
  readonly source_time: string;
  readonly request_id: string;
  readonly record_index: number;
  readonly facts_source_time: string;
  readonly content_hash: string;
}

const ID_LAST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;
/** Only released records have a source time further ahead of their receipt. */
const AHEAD_MS_MAX = 3_600_000;
/** The first step back in time; covers feeds that push all nights daily. */
const FIRST_STEP_DAYS = 2;
/** Nights that one statement looks up; it stops after the one with which its facts reach 1 MB of text. */
const NIGHTS_AT_ONCE = 400;
/** About a hundred room types. */
const LONG_FACTS = 5_000;

export type InventoryQuestion = Pick<StayQuestion, "property" | "clock" | "asOf">;

/**
 * The bounds of an instant: maximum source time, and the request before which versions were received. Few versions have a source time long
 * after their receipt, so with the receipt clock the search starts at the instant too.
 */
function boundsOf({ clock, asOf }: InventoryQuestion): {
  sourceTime: string;
  requestId: string;
  newest: number;
} {
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

/** Versions of nights whose current record is not valid at an instant, searched stepwise back in time. */
async function versionsBefore(
  client: Queryable,
  question: InventoryQuestion,
  nights: readonly string[],
): Promise<StockVersion[]> {
  const { propertyId, bucket } = question.property;
  const bounds = boundsOf(question);
  const first = await client.query<{ ms: number | null; hasReleased: boolean }>({
    ...findFirstStock,
    values: [bucket, propertyId],
  });
  const { ms, hasReleased = false } = first.rows[0] ?? {};
  const firstMs = ms ?? Number.POSITIVE_INFINITY;
  const found: StockVersion[] = [];
  const left = new Set(nights);
  let newest = bounds.newest;
  const isBounded = question.clock === "receipt" && !hasReleased;
  let until = isBounded ? new Date(newest).toISOString() : bounds.sourceTime;
  for (let days = FIRST_STEP_DAYS; left.size > 0 && until !== "-infinity"; days *= 2) {
    newest -= days * DAY_MS;
    // The last step has no lower bound.
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

/** The inventory of a window's nights at a query's instant, in order. Reads a few nights at a time while the caller iterates. */
export async function* readInventory<Column extends keyof typeof COLUMN>(
  client: Queryable,
  question: InventoryQuestion,
  { first, last }: NightWindow,
  columns: readonly Column[],
  isByRoomType: boolean,
): AsyncGenerator<InventoryNight<Column>, void, undefined> {
  const { propertyId, bucket } = question.property;
  const { sourceTime, requestId } = boundsOf(question);
  const { rows: current } = await client.query<StockVersion & { readonly counts: boolean }>({
    ...findStock,
    values: [bucket, propertyId, first, last, sourceTime, requestId],
  });
  const versions: StockVersion[] = current.filter(({ counts }) => counts);
  const others = current.filter(({ counts }) => !counts).map(({ night }) => night);
  if (others.length > 0) versions.push(...(await versionsBefore(client, question, others)));
  versions.sort((one, other) => compareCodes(one.night, other.night));
  for (let at = 0; at < versions.length; ) {
    const wanted = versions.slice(at, at + NIGHTS_AT_ONCE);
    const { rows } = await client.query<{ night: string; facts: string }>({
      ...readStock,
      values: [
        bucket,
        propertyId,
        wanted.map(({ night }) => night),
        wanted.map(({ facts_source_time }) => facts_source_time),
        wanted.map(({ content_hash }) => content_hash),
      ],
    });
    const lastRead = rows.at(-1)?.night;
    const some = wanted.slice(0, wanted.findIndex(({ night }) => night === lastRead) + 1 || wanted.length);
    at += some.length;
    const factsOf = new Map(rows.map(({ night, facts }) => [night, facts]));
    for (const version of some) {
      const facts = factsOf.get(version.night);
      if (facts === undefined) continue;
      // Summing a thousand room types takes a millisecond: yield to other requests of the thread.
      if (facts.length > LONG_FACTS) await new Promise((resume) => setImmediate(resume));
      const read = roomsOf(facts, columns, isByRoomType);
      if (read !== undefined) yield { ...version, ...read };
    }
  }
}
