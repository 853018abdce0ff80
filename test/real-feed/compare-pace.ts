import type { ExpectedBooks } from "./expected-books.ts";

/** What was on the books of some nights together: rooms, and revenue in millionths of a euro. */
export interface CurvePoint {
  readonly rooms: number;
  readonly net: bigint;
  readonly gross: bigint;
}

/** A booking curve by days before the night; null where some of the nights have not come so near yet. */
export type Curve = ReadonlyMap<number, CurvePoint | null>;

const DAY_MS = 86_400_000;
/** The same weekday a year before. */
export const YEAR_DAYS = 364;

/** The nights whose curve is asked for, in days since 1970, and the instant as of which it is known. */
export interface CurveNights {
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
}

/**
 * A point of the curve as the rows tell it: so many days before each night, at the end (UTC) of that day, and not later than
 * the instant as of which it is known. Null as long as that day has not begun for the last night.
 */
function expectedPoint(
  books: ExpectedBooks,
  { from, to, atMs }: CurveNights,
  before: number,
): CurvePoint | null {
  if (Math.floor(atMs / DAY_MS) < to - before) return null;
  let [rooms, net, gross] = [0, 0n, 0n];
  for (let night = from; night <= to; night += 1) {
    const endOfDayMs = (night - before + 1) * DAY_MS - 1;
    const question = { from: night, to: night, by: "none" as const, atMs: Math.min(atMs, endOfDayMs) };
    const own = books.onTheBooks(question).get(night)?.get(null);
    rooms += own?.rooms ?? 0;
    net += own?.net ?? 0n;
    gross += own?.gross ?? 0n;
  }
  return { rooms, net, gross };
}

/** Whether anybody stays on the first night. */
const hasRooms = (books: ExpectedBooks, { from, atMs }: CurveNights) =>
  (books.onTheBooks({ from, to: from, by: "none", atMs }).get(from)?.get(null)?.rooms ?? 0) > 0;

const textOf = (point: CurvePoint | null | undefined): string =>
  point == null ? "nothing yet" : `${point.rooms} rooms, net ${point.net}, gross ${point.gross} millionths`;

/** Where a curve is not as expected. One that has nothing on the books at all need not be there. */
export function paceDifferences(books: ExpectedBooks, nights: CurveNights, answered: Curve): string[] {
  const days = answered.size === 0 ? [0] : answered.keys();
  return [...days].flatMap((before) => {
    const expected = expectedPoint(books, nights, before);
    if (answered.size === 0 && (expected === null || expected.rooms === 0)) return [];
    // Nothing before the first booking is not known to be nothing, and a night before the first arrival is not known at all.
    const isNothing = expected?.rooms === 0 || !hasRooms(books, nights);
    if (isNothing && answered.get(before) == null) return [];
    const [wanted, got] = [textOf(expected), textOf(answered.get(before))];
    return wanted === got ? [] : [`${before} days before: expected ${wanted}; answered ${got}`];
  });
}
