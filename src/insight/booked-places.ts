import type { Position } from "../platform/http/position.ts";
import type { BooksCause } from "./packed-books.ts";
import { type BooksPlace, placeOf } from "./paging.ts";

/** A row of a statement: what a place has of room nights (cause null), or of one cause of revenue without a room night. */
interface CauseRow extends BooksPlace {
  readonly cause: BooksCause | null;
}

/** The rows of one item. */
export interface BookedPlace<Row> {
  /** The item's night, group and currency. */
  readonly place: BooksPlace;
  /** Where the next page continues: after the place, or after the rows without a currency that joined it. */
  readonly end: BooksPlace;
  readonly rows: readonly Row[];
}

/** Rows that contain at least this many complete items: each place has up to four rows, and two places may become one item. */
export const rowsFor = (items: number): number => 8 * (items + 1);

const isSameGroup = (one: BooksPlace, other: BooksPlace | null): boolean =>
  one.night === other?.night && one.unit === other.unit;

/** The places of ordered rows. */
function placesOf<Row extends CauseRow>(rows: readonly Row[]) {
  const places: { readonly place: BooksPlace; readonly end: BooksPlace; readonly rows: Row[] }[] = [];
  for (const row of rows) {
    const last = places.at(-1);
    if (last !== undefined && isSameGroup(row, last.place) && row.currency === last.place.currency) {
      last.rows.push(row);
      continue;
    }
    places.push({ place: row, end: row, rows: [row] });
  }
  return places;
}

/**
 * The items of ordered rows after `start`. Rows without a currency and without an amount join the only currency of their night and group.
 */
export function bookedPlaces<Row extends CauseRow>(
  rows: readonly Row[],
  start: Position | null,
  hasAmount: (row: Row) => boolean,
): BookedPlace<Row>[] {
  const begun = start === null ? null : placeOf(start);
  const places = placesOf(rows);
  const joined: BookedPlace<Row>[] = [];
  for (const [at, one] of places.entries()) {
    const { place } = one;
    const before = places[at - 1];
    const isFirst = (index: number) =>
      !isSameGroup(place, places[index]?.place ?? null) && !isSameGroup(place, begun);
    const joins =
      place.currency === null &&
      before !== undefined &&
      isSameGroup(place, before.place) &&
      isFirst(at - 2) &&
      !one.rows.some(hasAmount);
    if (joins)
      joined[joined.length - 1] = { place: before.place, end: place, rows: [...before.rows, ...one.rows] };
    else joined.push(one);
  }
  return joined;
}
