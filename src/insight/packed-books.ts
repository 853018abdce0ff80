import type pg from "pg";
import { copyValuesOut } from "../db/copy-values-out.ts";
import { readStatement } from "../db/statement.ts";
import { type BooksPlace, compareCodes } from "./books-position.ts";
import type { BooksRow } from "./books-row.ts";
import { tenThousandthsOf, textOfTenThousandths } from "./exact-amount.ts";
import * as packs from "./night-packs.ts";
import type { NightWindow } from "./night-windows.ts";
import { boundOf, type StayQuestion } from "./question.ts";
import type { Scene } from "./scene.ts";
import { readGroupings, readVariants } from "./statement-variants.ts";
import { addDays, daysBetween } from "./stay-date.ts";
import { sumEntries } from "./sum-entries.ts";

const readPackProgress = readStatement(new URL("./sql/read-pack-progress.sql", import.meta.url));
const READ_PACKS = readStatement(new URL("./sql/read-packs.sql", import.meta.url)).text;
const readCellsOf = readGroupings(new URL("./sql/read-cells.sql", import.meta.url));
const readChangesBesideOf = readVariants(new URL("./sql/read-changes-beside-packs.sql", import.meta.url));

/** Of fewer nights the rows are as quick as the packs of two quarters. */
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
 * The rows of the books of a window, as `read-on-the-books.sql` answers them, from the property's packs and what is not packed.
 * Undefined where that is not possible or not worth it: nothing is packed, the window is short, or a sum might not be exact.
 */
export async function readPackedBooks(
  client: pg.ClientBase,
  question: StayQuestion,
  scene: Scene,
  window: NightWindow,
  after: BooksPlace,
  limit: number,
): Promise<BooksRow[] | undefined> {
  const nights = daysBetween(window.first, window.last) + 1;
  if (nights < NIGHTS_MIN) return undefined;
  const { property, by, clock } = question;
  const place = [property.bucket, property.propertyId];
  const progress = await client.query<{ received_up_to: string }>({ ...readPackProgress, values: place });
  const packedUpTo = progress.rows[0]?.received_up_to;
  if (packedUpTo === undefined) return undefined;
  const { deducting, off } = scene.labels.reservations;
  const { rows: cells } = await client.query<CellRow>({
    ...readCellsOf(by),
    values: [...place, deducting, off, scene.labels.groups.deducting, scene.settings.currency],
  });
  if (cells.length * nights > SUMS_MAX) return undefined;
  const changes = new packs.NightChanges(cells.length, packs.packedDay(window.first), nights);
  await addPacks(client, question, window, cells, changes);
  const statement = await readChangesBesideOf(client, by, clock);
  const beside = await sumEntries<ChangeRow>(client, statement, [
    ...[...place, window.first, window.last, boundOf(question.asOf)],
    ...[deducting, off, scene.labels.groups.deducting, scene.settings.currency, packedUpTo],
  ]);
  for (const change of beside) if (!addChange(changes, change)) return undefined;
  if (!changes.areExact) return undefined;
  return rowsOf(cells, changes, window, after, limit);
}

async function addPacks(
  client: pg.ClientBase,
  { property, clock, asOf }: StayQuestion,
  window: NightWindow,
  cells: readonly CellRow[],
  changes: packs.NightChanges,
): Promise<void> {
  const upTo = asOf === null ? Number.POSITIVE_INFINITY : packs.packedInstant(asOf);
  const cellsOf = new packs.DimensionCells(cells);
  // COPY takes no parameters: these are whole numbers and dates.
  const values = [property.bucket, property.propertyId, `'${window.first}'`, `'${window.last}'`];
  const select = READ_PACKS.replace(/\$(\d)/g, (_, place: string) => String(values[Number(place) - 1]));
  await copyValuesOut(client, `copy (${select}) to stdout (format binary)`, (pack) =>
    changes.addPack(pack, packs.TIME_AT[clock], upTo, cellsOf),
  );
}

/** Adds what is not packed; answers whether it can be, exactly. */
function addChange(changes: packs.NightChanges, change: ChangeRow): boolean {
  const [revenue, gross] = [
    tenThousandthsOf(change.room_revenue),
    tenThousandthsOf(change.gross_room_revenue),
  ];
  if (revenue === undefined || gross === undefined) return false;
  const [cell, day] = [change.cell - 1, packs.packedDay(change.night)];
  const counts: readonly (readonly [number, number])[] = [
    ...[
      [packs.ROOMS, change.rooms] as const,
      [packs.UNMAPPED, change.unmapped_rooms] as const,
      [packs.ADULTS, change.adults] as const,
      [packs.CHILDREN, change.children] as const,
      [packs.REVENUE, revenue] as const,
      [packs.GROSS, gross] as const,
      [packs.PRICED, change.priced_rooms] as const,
      [packs.GROSS_PRICED, change.gross_priced_rooms] as const,
      [packs.BLOCKS, change.blocks] as const,
    ],
  ];
  for (const [count, by] of counts) if (by !== 0) changes.add(cell, day, count, by);
  return true;
}

function rowsOf(
  cells: readonly CellRow[],
  changes: packs.NightChanges,
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
  const [revenue, gross] = [count(packs.REVENUE), count(packs.GROSS)];
  const hasAny =
    count(packs.ROOMS) !== 0 ||
    count(packs.UNMAPPED) !== 0 ||
    count(packs.ADULTS) !== 0 ||
    count(packs.CHILDREN) !== 0 ||
    count(packs.BLOCKS) !== 0 ||
    revenue !== 0 ||
    gross !== 0;
  if (!hasAny) return undefined;
  return {
    ...{ night, unit, currency },
    rooms: String(count(packs.ROOMS)),
    unmapped_rooms: String(count(packs.UNMAPPED)),
    adults: String(count(packs.ADULTS)),
    children: String(count(packs.CHILDREN)),
    room_revenue: count(packs.PRICED) !== 0 || revenue !== 0 ? textOfTenThousandths(revenue) : null,
    gross_room_revenue: count(packs.GROSS_PRICED) !== 0 || gross !== 0 ? textOfTenThousandths(gross) : null,
    blocks: String(count(packs.BLOCKS)),
  };
}
