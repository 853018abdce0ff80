import { hash } from "node:crypto";
import type pg from "pg";
import { dateOfDay } from "../workload/calendar-day.ts";

/** What nights of a run are grouped by. */
export interface ModelCodes {
  readonly status: string;
  readonly roomType: string;
  readonly bookedRoomType: string | null;
  readonly marketSegment: string | null;
  readonly group: string | null;
  readonly rateCode: string | null;
  readonly channel: string | null;
  readonly currency: string | null;
}

/** Nights that follow each other, each with the same. Money is whole cents. */
export interface ModelRun extends ModelCodes {
  /** Days since 1970. */
  readonly first: number;
  readonly nights: number;
  readonly rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly net: number | null;
  readonly gross: number | null;
}

/** A night of one room, to vary. */
export const ONE_NIGHT: ModelRun = {
  status: "CONFIRMED",
  first: 0,
  nights: 1,
  rooms: 1,
  adults: 1,
  children: 0,
  net: 10_000,
  gross: null,
  roomType: "STD",
  bookedRoomType: null,
  marketSegment: null,
  group: null,
  rateCode: null,
  channel: null,
  currency: "EUR",
};

/** A version of a reservation. Times are ISO 8601 UTC with six digits after the point. */
export interface ModelVersion {
  readonly key: string;
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly shareId: string | null;
  readonly runs: readonly ModelRun[];
}

export interface ModelBlockRun extends ModelCodes {
  readonly first: number;
  readonly nights: number;
  readonly blocks: number;
  readonly pickedUp: number | null;
}

export interface ModelBlock {
  readonly key: string;
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly runs: readonly ModelBlockRun[];
}

interface Place {
  readonly bucket: number;
  readonly propertyId: number;
}

const codesOf = (run: ModelCodes) => [
  run.status,
  run.roomType,
  run.bookedRoomType,
  run.marketSegment,
  run.group,
  run.rateCode,
  run.channel,
  run.currency,
];

function dimensionOf(run: ModelCodes): string {
  return String(hash("sha256", JSON.stringify(codesOf(run)), "buffer").readBigInt64BE(0));
}

async function writeDimensions(pool: pg.Pool, place: Place, runs: readonly ModelCodes[]): Promise<void> {
  const rows = runs.map((run) => {
    const [status, room, booked, segment, group, rate, channel, currency] = codesOf(run);
    return { dimension: dimensionOf(run), status, room, booked, segment, group, rate, channel, currency };
  });
  await pool.query(
    `insert into bellhop_state.night_dimension (bucket, property_id, dimension, status, room_type_code,
       booked_room_type_code, market_segment_code, group_block_code, rate_code, channel, currency_code)
     select $1, $2, dimension, status, room, booked, segment, "group", rate, channel, currency
     from json_to_recordset($3) as sent (dimension bigint, status text, room text, booked text, segment text,
       "group" text, rate text, channel text, currency text)
     on conflict do nothing`,
    [place.bucket, place.propertyId, JSON.stringify(rows)],
  );
}

interface Timed {
  readonly sourceTime: string;
  readonly receivedAt: string;
}

/** The newest by source time, then receipt, of the versions of one key: its place in them; undefined where none is known. */
function newestOf(versions: readonly Timed[], isKnown: (version: Timed) => boolean): number | undefined {
  let newest: number | undefined;
  for (const [at, version] of versions.entries()) {
    const best = newest === undefined ? undefined : versions[newest];
    const isNewer =
      best === undefined ||
      version.sourceTime > best.sourceTime ||
      (version.sourceTime === best.sourceTime && version.receivedAt > best.receivedAt);
    if (isKnown(version) && isNewer) newest = at;
  }
  return newest;
}

/**
 * What each version of one key takes off and adds, by both clocks: the mixed second differences of what counts, straight from
 * the definition and without the ledger's own way to them.
 */
function changesOf(versions: readonly Timed[]) {
  const sourceTimes = [...new Set(versions.map(({ sourceTime }) => sourceTime))].sort();
  const receipts = [...new Set(versions.map(({ receivedAt }) => receivedAt))].sort();
  const countsAt = (source: number, receipt: number) =>
    newestOf(
      versions,
      ({ sourceTime, receivedAt }) =>
        sourceTime <= (sourceTimes[source] ?? "") && receivedAt <= (receipts[receipt] ?? ""),
    );
  return sourceTimes.flatMap((sourceTime, source) =>
    receipts.flatMap((receivedAt, receipt) =>
      [
        { at: countsAt(source, receipt), sign: 1 },
        { at: countsAt(source - 1, receipt), sign: -1 },
        { at: countsAt(source, receipt - 1), sign: -1 },
        { at: countsAt(source - 1, receipt - 1), sign: 1 },
      ].flatMap(({ at, sign }) => (at === undefined ? [] : [{ sourceTime, receivedAt, at, sign }])),
    ),
  );
}

function byKey<Version extends { readonly key: string }>(versions: readonly Version[]): Version[][] {
  return [...Map.groupBy(versions, ({ key }) => key).values()];
}

const cents = (amount: number | null, sign: number) =>
  amount === null ? null : `${sign * amount < 0 ? "-" : ""}${(Math.abs(amount) / 100).toFixed(2)}`;

/** What a change takes off or adds of a version, once. */
interface ModelChange {
  readonly version: ModelVersion;
  readonly sourceTime: string;
  readonly receivedAt: string;
  readonly sign: number;
}

function entriesOf({ version, sourceTime, receivedAt, sign }: ModelChange) {
  const { key, shareId, runs } = version;
  return runs.map((run) => ({
    source_time: sourceTime,
    received_at: receivedAt,
    dimension: dimensionOf(run),
    key,
    share_id: shareId,
    first_night: dateOfDay(run.first),
    nights: run.nights,
    rooms: sign * run.rooms,
    adults: sign * run.adults,
    children: sign * run.children,
    room_revenue: cents(run.net, sign),
    gross_room_revenue: cents(run.gross, sign),
  }));
}

/** An amount of an exchange that nobody reported. */
const ABSENT = -(2n ** 63n);
const tenThousandths = (amount: number | null, sign: number) =>
  amount === null ? ABSENT : BigInt(sign * amount) * 100n;

/** Changes of a reservation at one time of each clock as one row: four numbers a run, by arithmetic where apply writes bits. */
function exchangeOf(changes: readonly ModelChange[]) {
  const reported = changes.flatMap(({ version, sign }) => version.runs.map((run) => ({ run, sign })));
  const first = Math.min(...reported.map(({ run }) => run.first));
  const end = Math.max(...reported.map(({ run }) => run.first + run.nights));
  const { version, sourceTime, receivedAt } = changes[0] as ModelChange;
  const runs = reported.flatMap(({ run, sign }) => {
    const guests = (sign * run.adults + 1_024) * 2_048 + sign * run.children + 1_024;
    const counts = BigInt((sign * run.rooms + 512) * 2 ** 22 + guests);
    return [
      dimensionOf(run),
      BigInt(run.first * 64 + run.nights) * 2n ** 32n + counts,
      tenThousandths(run.net, sign),
      tenThousandths(run.gross, sign),
    ];
  });
  return {
    source_time: sourceTime,
    received_at: receivedAt,
    key: version.key,
    first_night: dateOfDay(first),
    nights: end - first,
    runs: `{${runs.join(",")}}`,
  };
}

/** About half of those that can be an exchange are one: the same ones each time. */
function isExchange(changes: readonly ModelChange[]): boolean {
  const isPlain = ({ version: { shareId, runs } }: ModelChange) =>
    shareId === null && runs.length > 0 && runs.every(({ nights }) => nights < 64);
  const [{ version, sourceTime, receivedAt }] = changes as [ModelChange];
  const coin = hash("sha256", `${version.key} ${sourceTime} ${receivedAt}`, "buffer")[0] as number;
  return changes.every(isPlain) && coin % 2 === 0;
}

/** Writes the entries that versions of reservations amount to, some as rows of their own and some as exchanges. */
export async function writeNights(
  pool: pg.Pool,
  place: Place,
  versions: readonly ModelVersion[],
): Promise<void> {
  await writeDimensions(
    pool,
    place,
    versions.flatMap(({ runs }) => runs),
  );
  const changes = byKey(versions).flatMap((ofKey) =>
    changesOf(ofKey).map(({ at, ...change }) => ({ ...change, version: ofKey[at] as ModelVersion })),
  );
  const together = Map.groupBy(changes, ({ version, sourceTime, receivedAt }) =>
    [version.key, sourceTime, receivedAt].join(" "),
  );
  const { exchanges = [], entries = [] } = Object.groupBy(together.values(), (ofTime) =>
    isExchange(ofTime) ? "exchanges" : "entries",
  );
  await pool.query(
    `insert into bellhop_state.night_entry (bucket, property_id, source_time, received_at, dimension, first_night, nights,
       rooms, adults, children, room_revenue, gross_room_revenue, key, share_id)
     select $1, $2, source_time, received_at, dimension, first_night, nights, rooms, adults, children, room_revenue,
       gross_room_revenue, key, share_id
     from json_populate_recordset(null::bellhop_state.night_entry, $3)`,
    [place.bucket, place.propertyId, JSON.stringify(entries.flat().flatMap(entriesOf))],
  );
  await pool.query(
    `insert into bellhop_state.ledger_delta (bucket, property_id, source_time, received_at, first_night, nights, runs, key)
     select $1, $2, source_time, received_at, first_night, nights, runs::bigint[], key
     from json_to_recordset($3) as sent (source_time timestamptz, received_at timestamptz, first_night date, nights integer,
       runs text, key text)`,
    [place.bucket, place.propertyId, JSON.stringify(exchanges.map(exchangeOf))],
  );
  const known = versions
    .filter(({ runs }) => runs.length > 0)
    .map(({ sourceTime, receivedAt, runs }) => ({
      ...{ source_time: sourceTime, received_at: receivedAt },
      departure: dateOfDay(Math.max(...runs.map(({ first, nights }) => first + nights))),
    }));
  await pool.query(
    `insert into bellhop_state.known_books as known (bucket, property_id, departure, source_time, received_at)
     select $1, $2, min(departure), min(source_time), min(received_at)
     from json_to_recordset($3) as sent (departure date, source_time timestamptz, received_at timestamptz)
     having count(*) > 0
     on conflict (bucket, property_id) do update set departure = least(known.departure, excluded.departure),
       source_time = least(known.source_time, excluded.source_time), received_at = least(known.received_at, excluded.received_at)`,
    [place.bucket, place.propertyId, JSON.stringify(known)],
  );
}

/** Writes the entries that versions of group block masters amount to. */
export async function writeBlocks(
  pool: pg.Pool,
  place: Place,
  versions: readonly ModelBlock[],
): Promise<void> {
  await writeDimensions(
    pool,
    place,
    versions.flatMap(({ runs }) => runs),
  );
  const entries = byKey(versions).flatMap((ofKey) =>
    changesOf(ofKey).flatMap(({ sourceTime, receivedAt, at, sign }) => {
      const { key, runs } = ofKey[at] as ModelBlock;
      return runs.map((run) => ({
        source_time: sourceTime,
        received_at: receivedAt,
        dimension: dimensionOf(run),
        key,
        first_night: dateOfDay(run.first),
        nights: run.nights,
        blocks: sign * run.blocks,
        picked_up: run.pickedUp === null ? null : sign * run.pickedUp,
      }));
    }),
  );
  await pool.query(
    `insert into bellhop_state.block_entry (bucket, property_id, source_time, received_at, dimension, first_night, nights,
       blocks, picked_up, key)
     select $1, $2, source_time, received_at, dimension, first_night, nights, blocks, picked_up, key
     from json_populate_recordset(null::bellhop_state.block_entry, $3)`,
    [place.bucket, place.propertyId, JSON.stringify(entries)],
  );
}

/** The version of each key that counts, of those that are known. */
export function countingOf<Version extends Timed & { readonly key: string }>(
  versions: readonly Version[],
  isKnown: (version: Version) => boolean,
): Version[] {
  return byKey(versions).flatMap((ofKey) => {
    const known = ofKey.filter(isKnown);
    const newest = newestOf(known, () => true);
    return newest === undefined ? [] : known.slice(newest, newest + 1);
  });
}

/** What is on the books of one night, group and currency. Money in cents; null: nobody reports it. */
export interface ModelCell {
  rooms: number;
  unmapped: number;
  adults: number;
  children: number;
  net: number | null;
  gross: number | null;
  blocks: number;
}

export interface ModelStatuses {
  readonly deducting: ReadonlySet<string>;
  readonly off: ReadonlySet<string>;
  readonly holding: ReadonlySet<string>;
}

export type ModelBy = "none" | Exclude<keyof ModelCodes, "status" | "currency">;

/** By night, group and currency as a JSON array. */
export type ModelBooks = Map<string, ModelCell>;

function cellOf(books: ModelBooks, night: number, run: ModelCodes, by: ModelBy): ModelCell {
  const unit =
    by === "none" ? null : by === "bookedRoomType" ? (run.bookedRoomType ?? run.roomType) : run[by];
  const name = JSON.stringify([dateOfDay(night), unit, run.currency ?? "EUR"]);
  const cell = books.get(name) ?? {
    rooms: 0,
    unmapped: 0,
    adults: 0,
    children: 0,
    net: null,
    gross: null,
    blocks: 0,
  };
  books.set(name, cell);
  return cell;
}

interface Sharer {
  readonly key: string;
  readonly run: ModelRun;
}

const byCodes = (left: Sharer, right: Sharer) => {
  const order = (run: ModelCodes) => [
    run.roomType,
    run.bookedRoomType,
    run.marketSegment,
    run.group,
    run.rateCode,
    run.channel,
    run.currency,
  ];
  const [one, other] = [order(left.run), order(right.run)];
  for (const [at, code] of one.entries()) {
    const another = other[at] ?? null;
    if (code !== another) return code === null ? 1 : another === null ? -1 : code < another ? -1 : 1;
  }
  return 0;
};

/** One room of those who share it: the most rooms that any of them has, with the sharer of the smallest key. */
function settle(
  books: ModelBooks,
  night: number,
  sharers: readonly Sharer[],
  by: ModelBy,
  into: "rooms" | "unmapped",
): void {
  const rooms = Map.groupBy(sharers, ({ key }) => key);
  const namedBy = (key: string) => (rooms.get(key) ?? []).reduce((sum, { run }) => sum + run.rooms, 0);
  const holders = [...rooms.keys()].filter((key) => namedBy(key) !== 0).sort();
  const [holder] = holders;
  if (holder === undefined) return;
  const most = Math.max(...holders.map(namedBy));
  const runs = (rooms.get(holder) ?? []).filter(({ run }) => run.rooms !== 0).sort(byCodes);
  for (const [at, { run }] of runs.entries())
    cellOf(books, night, run, by)[into] += run.rooms + (at === 0 ? most - namedBy(holder) : 0);
}

const plus = (sum: number | null, more: number | null) => (more === null ? sum : (sum ?? 0) + more);

/** What versions amount to, night by night, from their definition. */
export function booksOf(
  versions: readonly ModelVersion[],
  blocks: readonly ModelBlock[],
  { from, to, by }: { readonly from: number; readonly to: number; readonly by: ModelBy },
  statuses: ModelStatuses,
): ModelBooks {
  const books: ModelBooks = new Map();
  for (let night = from; night <= to; night += 1) {
    const shares = { rooms: new Map<string, Sharer[]>(), unmapped: new Map<string, Sharer[]>() };
    const add = (into: keyof typeof shares, shareId: string, sharer: Sharer) =>
      shares[into].set(shareId, [...(shares[into].get(shareId) ?? []), sharer]);
    const covers = ({ first, nights }: { first: number; nights: number }) =>
      first <= night && night < first + nights;
    for (const { key, shareId, runs } of versions) {
      for (const run of runs.filter(covers)) {
        if (statuses.deducting.has(run.status)) {
          const cell = cellOf(books, night, run, by);
          if (shareId === null) cell.rooms += run.rooms;
          else add("rooms", shareId, { key, run });
          cell.adults += run.adults;
          cell.children += run.children;
          cell.net = plus(cell.net, run.net);
          cell.gross = plus(cell.gross, run.gross);
        } else if (!statuses.off.has(run.status)) {
          if (shareId === null) cellOf(books, night, run, by).unmapped += run.rooms;
          else add("unmapped", shareId, { key, run });
        }
      }
    }
    for (const into of ["rooms", "unmapped"] as const)
      for (const sharers of shares[into].values()) settle(books, night, sharers, by, into);
    for (const { runs } of blocks)
      for (const run of runs.filter(covers))
        if (statuses.holding.has(run.status))
          cellOf(books, night, run, by).blocks += Math.max(run.blocks - (run.pickedUp ?? 0), 0);
  }
  return books;
}
