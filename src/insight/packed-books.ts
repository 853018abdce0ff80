import type pg from "pg";
import { copyValuesOut } from "../platform/db/copy-values-out.ts";
import { namedStatement, readStatement } from "../platform/db/statement.ts";
import { type BooksPlace, compareCodes } from "./books-position.ts";
import { tenThousandthsOf, textOfTenThousandths } from "./exact-amount.ts";
import * as segments from "./ledger-segments.ts";
import type { NightWindow } from "./night-windows.ts";
import type { QueryContext } from "./query-context.ts";
import { boundOf, type StayQuestion } from "./question.ts";
import { readGroupings, readVariants } from "./statement-variants.ts";
import { addDays, daysBetween } from "./stay-date.ts";
import { sumEntries } from "./sum-entries.ts";

/** A row of the books, as a statement answers it: numbers as text, since sums have no bound. */
export interface BooksRow extends BooksPlace {
  readonly rooms: string;
  readonly unmapped_rooms: string;
  readonly adults: string;
  readonly children: string;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
  readonly blocks: string;
}

const readSegmentProgress = readStatement(new URL("./sql/read-segment-progress.sql", import.meta.url));
/** The segments of the property $2 with entries that may have a night from $3 to $4: an index scan of the primary key. */
const READ_SEGMENTS = namedStatement(
  "read-segments",
  `select packed
  from bellhop_state.ledger_segment
  where bucket = $1 and property_id = $2
    and quarter between date_trunc('quarter', $3::date - interval '30 days')::date and $4::date`,
).text;
const readCellsOf = readGroupings(new URL("./sql/read-cells.sql", import.meta.url));
const readChangesBesideOf = readVariants(new URL("./sql/read-changes-beside-segments.sql", import.meta.url));

/** Of fewer nights the rows are as quick as the segments of two quarters. */
const NIGHTS_MIN = 45;
/** Of cells and nights: 36 MB of sums. What has more is summed by the database. */
const SUMS_MAX = 500_000;

interface CellRow {
  readonly cell: number;
  readonly unit: string | null;
  readonly currency: string | null;
  readonly deducting: string;
  readonly unmapped: string;
}

interface ChangeRow {
  readonly cell: number;
  readonly night: string;
  readonly rooms: number;
  readonly unmapped_rooms: number;
  readonly adults: number;
  readonly children: number;
  readonly room_revenue: string | null;
  readonly gross_room_revenue: string | null;
  readonly priced_rooms: number;
  readonly gross_priced_rooms: number;
  readonly blocks: number;
}

/**
 * The rows of the books of a window, as `read-on-the-books.sql` answers them, from the property's segments and what is not packed.
 * Undefined where that is not possible or not worth it: nothing is packed, the window is short, or a sum might not be exact.
 */
export async function readPackedBooks(
  client: pg.ClientBase,
  question: StayQuestion,
  queryContext: QueryContext,
  window: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<BooksRow[] | undefined> {
  const nights = daysBetween(window.first, window.last) + 1;
  if (nights < NIGHTS_MIN) return undefined;
  const { property, by, clock } = question;
  const place = [property.bucket, property.propertyId];
  const progress = await client.query<{ received_up_to: string }>({ ...readSegmentProgress, values: place });
  const packedUpTo = progress.rows[0]?.received_up_to;
  if (packedUpTo === undefined) return undefined;
  const { deducting, off } = queryContext.labels.reservations;
  const { rows: cells } = await client.query<CellRow>({
    ...readCellsOf(by),
    values: [...place, deducting, off, queryContext.labels.groups.deducting, queryContext.settings.currency],
  });
  if (cells.length * nights > SUMS_MAX) return undefined;
  const changes = new segments.NightChanges(cells.length, segments.packedDay(window.first), nights);
  await addSegments(client, question, window, cells, changes);
  const statement = await readChangesBesideOf(client, by, clock);
  const beside = await sumEntries<ChangeRow>(client, statement, [
    ...place,
    window.first,
    window.last,
    boundOf(question.asOf),
    deducting,
    off,
    queryContext.labels.groups.deducting,
    queryContext.settings.currency,
    packedUpTo,
  ]);
  for (const change of beside) if (!addChange(changes, change)) return undefined;
  if (!changes.areExact) return undefined;
  return rowsOf(cells, changes, window, after, limit);
}

async function addSegments(
  client: pg.ClientBase,
  { property, clock, asOf }: StayQuestion,
  window: NightWindow,
  cells: readonly CellRow[],
  changes: segments.NightChanges,
): Promise<void> {
  const upTo = asOf === null ? Number.POSITIVE_INFINITY : segments.packedInstant(asOf);
  const cellsOf = new segments.DimensionCells(cells);
  // COPY takes no parameters: these are whole numbers and dates.
  const values = [property.bucket, property.propertyId, `'${window.first}'`, `'${window.last}'`];
  const select = READ_SEGMENTS.replace(/\$(\d)/g, (_, place: string) => String(values[Number(place) - 1]));
  await copyValuesOut(client, `copy (${select}) to stdout (format binary)`, (pack) =>
    changes.addPack(pack, segments.TIME_AT[clock], upTo, cellsOf),
  );
}

/** Adds what is not packed; answers whether it can be, exactly. */
function addChange(changes: segments.NightChanges, change: ChangeRow): boolean {
  const [revenue, gross] = [
    tenThousandthsOf(change.room_revenue),
    tenThousandthsOf(change.gross_room_revenue),
  ];
  if (revenue === undefined || gross === undefined) return false;
  const [cell, day] = [change.cell - 1, segments.packedDay(change.night)];
  const counts: readonly (readonly [number, number])[] = [
    [segments.ROOMS, change.rooms] as const,
    [segments.UNMAPPED, change.unmapped_rooms] as const,
    [segments.ADULTS, change.adults] as const,
    [segments.CHILDREN, change.children] as const,
    [segments.REVENUE, revenue] as const,
    [segments.GROSS, gross] as const,
    [segments.PRICED, change.priced_rooms] as const,
    [segments.GROSS_PRICED, change.gross_priced_rooms] as const,
    [segments.BLOCKS, change.blocks] as const,
  ];
  for (const [count, by] of counts) if (by !== 0) changes.add(cell, day, count, by);
  return true;
}

function rowsOf(
  cells: readonly CellRow[],
  changes: segments.NightChanges,
  { first, last }: NightWindow,
  after: BooksPlace,
  limit: number,
): BooksRow[] {
  const nights = daysBetween(first, last) + 1;
  const byNight: BooksRow[][] = Array.from({ length: nights }, () => []);
  const dates = Array.from({ length: nights }, (_, night) => addDays(first, night));
  cells.forEach(({ unit, currency }, cell) => {
    let night = 0;
    for (const sums of changes.running(cell)) {
      const date = dates[night] as string;
      if (isAfter(date, unit, currency, after)) {
        const row = rowOf(date, unit, currency, sums);
        if (row !== undefined) byNight[night]?.push(row);
      }
      night += 1;
    }
  });
  return byNight.flat().slice(0, limit);
}

function isAfter(night: string, unit: string | null, currency: string | null, after: BooksPlace): boolean {
  // Before all nights stands a place that is none.
  if (after.night === "-infinity" || night > after.night) return true;
  if (night < after.night) return false;
  const order = compareCodes(unit, after.unit);
  return order === 0 ? compareCodes(currency, after.currency) > 0 : order > 0;
}

function rowOf(
  night: string,
  unit: string | null,
  currency: string | null,
  sums: Float64Array,
): BooksRow | undefined {
  const count = (place: number) => sums[place] as number;
  const [revenue, gross] = [count(segments.REVENUE), count(segments.GROSS)];
  const hasAny =
    count(segments.ROOMS) !== 0 ||
    count(segments.UNMAPPED) !== 0 ||
    count(segments.ADULTS) !== 0 ||
    count(segments.CHILDREN) !== 0 ||
    count(segments.BLOCKS) !== 0 ||
    revenue !== 0 ||
    gross !== 0;
  if (!hasAny) return undefined;
  return {
    night,
    unit,
    currency,
    rooms: String(count(segments.ROOMS)),
    unmapped_rooms: String(count(segments.UNMAPPED)),
    adults: String(count(segments.ADULTS)),
    children: String(count(segments.CHILDREN)),
    room_revenue: count(segments.PRICED) !== 0 || revenue !== 0 ? textOfTenThousandths(revenue) : null,
    gross_room_revenue:
      count(segments.GROSS_PRICED) !== 0 || gross !== 0 ? textOfTenThousandths(gross) : null,
    blocks: String(count(segments.BLOCKS)),
  };
}
