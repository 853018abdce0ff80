import { reservationsOf } from "../test/real-feed/booking-life.ts";
import { chooseBookings } from "../test/real-feed/feed.ts";
import { type FeedRecord, reservationRecords } from "../test/real-feed/reservation-records.ts";
import { timestampOf } from "../test/workload/calendar-day.ts";
import { PUSH_DATES, PUSH_ROOM_TYPES } from "./cases.ts";
import type { Batch } from "./drained-applier.ts";
import { batchesOf, type Drain, type Load, sideOf } from "./ledger-loads.ts";
import { contentText, keyText, recordTemplates, SLOTS } from "./record-templates.ts";

const BOOKINGS = 25_000;
/** The whole lives of these warm the applier up, in hotels of their own. */
const WARM_UP_BOOKINGS = 1_000;
/** A hotel a day (docs/scale.md). */
const RESERVATIONS_A_DAY = 300;
const CHANGED_ONE_IN = 10;
/** Of the night from which nights are counted: marks are not negative. */
const FIRST_MARK = 90;
const HOUR_MS = 3_600_000;
/** Those that bookings name, in the place of those of the templates: hotels name their own room types in their inventory. */
const ROOM_TYPES = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "K", "L", "P"];

type Sent = Readonly<Record<string, unknown>>;

/** All that happened to so many of the real bookings, in the order of time. */
function livesOf(bookings: number): FeedRecord[] {
  return chooseBookings(bookings)
    .flatMap(reservationsOf)
    .flatMap(reservationRecords)
    .sort((left, right) => left.atMs - right.atMs || (left.key < right.key ? -1 : 1));
}

/** So many bookings, spread over all, that they have about so many records in their lives. */
function livesWith(records: number): FeedRecord[] {
  const all = livesOf(BOOKINGS);
  return records >= all.length ? all : livesOf(Math.round((BOOKINGS * records) / all.length));
}

/** The same records of hotels by other names, each hotel's in batches of their own. */
function renamed(records: readonly FeedRecord[], codeOf: (record: FeedRecord) => string): Batch[] {
  const byHotel = Map.groupBy(records, codeOf);
  return [...byHotel].flatMap(([propertyCode, ofHotel]) =>
    batchesOf(
      "r",
      ofHotel.map(({ json }): Sent => ({ ...(JSON.parse(json) as Sent), propertyCode })),
    ),
  );
}

/** One pair's share of a feed, in time. */
function sliceOf(records: readonly FeedRecord[], pair: number, pairs: number): readonly FeedRecord[] {
  const at = (share: number) => Math.floor((records.length * share) / pairs);
  return records.slice(at(pair), at(pair + 1));
}

/** The side of a hotel; those whose whole lives warm the applier up are others each time. */
function nameOf({ pair, isOn }: Drain): string {
  return pair < 0 ? `${sideOf(isOn)}${pair}` : sideOf(isOn);
}

/**
 * The lives of real bookings (test/real-feed) as they unfold: one pair after another has the next of them, twice, for the hotels
 * of each side. So what is booked, changed, cancelled, arrives and departs comes in its own proportion.
 */
export function realBookings(recordsAPair: number, pairs: number): Load {
  const lives = livesWith(recordsAPair * pairs);
  const warmUp = livesOf(WARM_UP_BOOKINGS);
  return {
    name: `${lives.length} records of real bookings`,
    batchesOf: (drain) =>
      renamed(
        drain.pair < 0 ? warmUp : sliceOf(lives, drain.pair, pairs),
        ({ propertyCode }) => `${propertyCode}-${nameOf(drain)}`,
      ),
  };
}

/** A night's push of two years of a hotel, of which one date in ten has other content than the night before. */
function push(clientCode: string, propertyCode: string, night: number, atMs: number): Batch[] {
  const templates = recordTemplates("inventories");
  const records = Array.from({ length: PUSH_DATES }, (_, at) => {
    const changedOn = night - ((at + night) % CHANGED_ONE_IN);
    const text = (templates[at] ?? "")
      .replace(SLOTS.content.inventories, contentText("inventories", FIRST_MARK + changedOn))
      .replace(/"RT(\d\d)"/g, (_all, number: string) => `"${ROOM_TYPES[Number(number) - 1]}"`);
    return {
      ...(JSON.parse(text) as Sent),
      clientCode,
      propertyCode,
      correlationId: `n-${night}`,
      createDateTime: timestampOf(atMs),
      occupancyDate: keyText("inventories", at),
    };
  });
  return batchesOf("i", records, PUSH_DATES);
}

/** The four hotels that the bookings of two are dealt out to: both reservations of a shared room are of one. */
function dealtOut({ propertyCode, key }: FeedRecord): string {
  return `${propertyCode}${Number(key.slice(1, 6)) % 2}`;
}

const DEALT_OUT = [
  ...[0, 1].map((number) => ["ALGARVE", `RESORT${number}`] as const),
  ...[0, 1].map((number) => ["LISBOA", `CITY${number}`] as const),
];

/**
 * A day of four hotels in each drain: the nightly push of two years of twelve room types, and then so many records of real
 * bookings as four hotels have in a day, which unfold from day to day.
 */
export function hotelDays(pairs: number): Load {
  if (ROOM_TYPES.length !== PUSH_ROOM_TYPES) throw new Error("A room type of the push has no name.");
  const lives = livesWith(DEALT_OUT.length * RESERVATIONS_A_DAY * pairs);
  const warmUp = livesOf(WARM_UP_BOOKINGS);
  const firstMs = lives[0]?.atMs ?? 0;
  return {
    name: `${pairs} days of ${DEALT_OUT.length} hotels`,
    batchesOf(drain) {
      const { pair, isOn } = drain;
      const slice = pair < 0 ? warmUp : sliceOf(lives, pair, pairs);
      // The hotels of both sides have pushed already, each while the applier is warmed up, when the first day counts.
      const atMs = pair < 0 ? firstMs + pair * HOUR_MS : (slice[0]?.atMs ?? 0);
      return [
        ...DEALT_OUT.flatMap(([clientCode, code]) => push(clientCode, `${code}-${sideOf(isOn)}`, pair, atMs)),
        ...renamed(slice, (record) => `${dealtOut(record)}-${nameOf(drain)}`),
      ];
    },
  };
}
