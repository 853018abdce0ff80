import type { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import { type ComparisonContext, knownOf } from "./compared-books.ts";
import { plus } from "./exact-amount.ts";
import {
  type BasedSums,
  BOOKED_AMOUNTS,
  BOOKED_COUNTS,
  bookedFigures,
  COMPARED_AMOUNTS,
  COMPARED_COUNTS,
  lastYearFigures,
  pickupFigures,
  type Sums,
} from "./figures-of-sums.ts";
import { baseOf, type ReportedRooms } from "./occupancy.ts";
import { compareCodes } from "./paging.ts";
import { type Dates, type Period, sumFieldsOf } from "./periods.ts";

type Item = Readonly<Record<string, unknown>> &
  ReportedRooms & { readonly stayDate: string; readonly currency: string | null };

const VALUES = [...BOOKED_COUNTS, ...BOOKED_AMOUNTS, ...COMPARED_COUNTS, ...COMPARED_AMOUNTS];

type Settings = Pick<PropertySettings, "occupancyBase">;

const isGiven = (value: unknown) => value !== undefined && value !== null;

/** The sum of a count of the items that have it; null if none has. */
function countOf(items: readonly Item[], name: string): number | null {
  const given = items.filter((item) => isGiven(item[name]));
  return given.length === 0 ? null : given.reduce((sum, item) => sum + Number(item[name]), 0);
}

const amountOf = (items: readonly Item[], name: string): string | null =>
  items.reduce<string | null>((sum, item) => plus(sum, (item[name] ?? null) as string | null), null);

const sumsOf = (items: readonly Item[]): Sums => ({
  currency: items[0]?.currency ?? null,
  count: (name) => countOf(items, name),
  amount: (name) => amountOf(items, name),
});

/** What shows that an item's night has a base, and what is divided by it. */
const NOW = ["occupancy", "rooms", "roomRevenue"] as const;
const LAST_YEAR = ["lastYearOccupancy", "lastYearRooms", "lastYearRoomRevenue"] as const;

function basedOf(
  items: readonly Item[],
  [occupancy, rooms, revenue]: typeof NOW | typeof LAST_YEAR,
  base: number | null,
): BasedSums {
  const based = items.filter((item) => isGiven(item[occupancy]));
  return { rooms: countOf(based, rooms), revenue: amountOf(based, revenue), base };
}

/** Inventory of nights, each once, and the base of those that have one. */
function stockOf(nights: readonly ReportedRooms[], settings: Settings) {
  const reported = nights.filter(({ capacity }) => capacity !== null);
  const sum = (of: readonly (number | null)[]) => of.reduce<number>((all, one) => all + (one ?? 0), 0);
  return {
    capacity: reported.length === 0 ? null : sum(reported.map(({ capacity }) => capacity)),
    outOfOrder: reported.length === 0 ? null : sum(reported.map(({ outOfOrder }) => outOfOrder)),
    base: sum(reported.map((rooms) => baseOf(rooms, settings))) || null,
  };
}
type Stock = ReturnType<typeof stockOf>;

const NO_STOCK: ReportedRooms = { capacity: null, outOfOrder: null };

/** Whether an item has only inventory, which the first of its group has. */
export const isEmpty = (item: Item): boolean =>
  VALUES.every((name) => !isGiven(item[name]) || Number(item[name]) === 0);

/** What the items of a sum have: by currency, with inventory, and last year's inventory of each night, which each item of it has. */
async function readItems<Of extends Item>(items: readonly Of[], pauses: WorkPauses) {
  const byCurrency = new Map<string | null, Of[]>();
  const stocked: Of[] = [];
  const lastYear = new Map<string, ReportedRooms>();
  for await (const some of pauses.inParts(items))
    for (const item of some) {
      const own = byCurrency.get(item.currency);
      if (own === undefined) byCurrency.set(item.currency, [item]);
      else own.push(item);
      if (item.capacity !== null) stocked.push(item);
      lastYear.set(item.stayDate, {
        capacity: (item["lastYearCapacity"] ?? null) as number | null,
        outOfOrder: (item["lastYearOutOfOrder"] ?? null) as number | null,
      });
    }
  return { byCurrency: [...byCurrency.values()], stocked, lastYear: [...lastYear.values()] };
}

/** Those with something booked; the first if none has. */
async function booked<Of extends Item>(
  byCurrency: readonly Of[][],
  isKept: (item: Of) => boolean,
  pauses: WorkPauses,
): Promise<readonly Of[][]> {
  const found: Of[][] = [];
  for (const some of byCurrency) {
    if (pauses.isDue) await pauses.pause();
    if (some.some((item) => isKept(item) || !isEmpty(item))) found.push(some);
  }
  return found.length === 0 ? byCurrency.slice(0, 1) : found;
}

/** The items of a period and group, by currency. Inventory counts once a night, on the first. `isKept`: an item is listed, though empty. */
export async function sumBooks<Of extends Item>(
  { dates, items }: Pick<Period<Of>, "dates" | "items">,
  settings: Settings,
  context: ComparisonContext | null,
  pauses: WorkPauses,
  isKept: (item: Of) => boolean = () => false,
): Promise<Of[]> {
  const { byCurrency, stocked, lastYear } = await readItems(items, pauses);
  const [stock, stockThen] = [stockOf(stocked, settings), stockOf(lastYear, settings)];
  const sold = countOf(stocked, "soldReported");
  const kept = await booked(byCurrency, isKept, pauses);
  const inOrder = await pauses.sorted(kept, ([one], [other]) =>
    compareCodes(one?.currency ?? null, other?.currency ?? null),
  );
  const sums: Of[] = [];
  for (const some of inOrder) {
    if (pauses.isDue) await pauses.pause();
    const isFirst = sums.length === 0;
    const sum = {
      ...(some[0] as Of),
      ...sumFieldsOf(dates),
      ...bookedFigures(sumsOf(some), basedOf(some, NOW, stock.base)),
      capacity: isFirst ? stock.capacity : null,
      outOfOrder: isFirst ? stock.outOfOrder : null,
      soldReported: isFirst ? sold : null,
    };
    sums.push(context === null ? sum : { ...sum, ...comparedOf(some, dates, context, stockThen, isFirst) });
  }
  return sums;
}

function comparedOf(
  items: readonly Item[],
  dates: Dates,
  context: ComparisonContext,
  stock: Stock,
  isFirst: boolean,
) {
  const sums = sumsOf(items);
  const ofYear = () => {
    const based = basedOf(items, LAST_YEAR, stock.base);
    return lastYearFigures(sums, based, isFirst ? stock : NO_STOCK, knownOf(dates, context));
  };
  return {
    ...(context.comparison === "pickup" ? {} : ofYear()),
    ...(context.comparison === "lastYear" ? {} : pickupFigures(sums)),
  };
}
