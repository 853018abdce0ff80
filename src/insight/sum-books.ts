import { digitsOf } from "#contract/currencies.ts";
import type { WorkPauses } from "../platform/runtime/work-pauses.ts";
import type { PropertySettings } from "../settings/property-settings.ts";
import { type ComparisonContext, knownOf, PICKUPS } from "./compared-books.ts";
import { amountIn, plus } from "./exact-amount.ts";
import { baseOf, OCCUPANCY_DIGITS, type ReportedRooms, ratio } from "./occupancy.ts";
import { compareCodes } from "./paging.ts";
import { type Dates, type Period, sumFieldsOf } from "./periods.ts";

type Item = Readonly<Record<string, unknown>> &
  ReportedRooms & { readonly stayDate: string; readonly currency: string | null };

const COUNTS = ["rooms", "adults", "children", "blocksRemaining", "unmappedRooms", "dayUseRooms"];
const AMOUNTS = ["roomRevenue", "grossRoomRevenue", "dayUseRevenue", "feeRevenue", "outsideStayRevenue"];
const COMPARED = ["lastYear", "lastYearFinal", ...PICKUPS.map((days) => `pickup${days}`)];
const VALUES = [...COUNTS, ...AMOUNTS, ...COMPARED.flatMap((of) => [`${of}Rooms`, `${of}RoomRevenue`])];

type Settings = Pick<PropertySettings, "occupancyBase">;

const isGiven = (value: unknown) => value !== undefined && value !== null;

/** The sum of a count of the items that have it; null if none has. */
function countOf(items: readonly Item[], name: string): number | null {
  const given = items.filter((item) => isGiven(item[name]));
  return given.length === 0 ? null : given.reduce((sum, item) => sum + Number(item[name]), 0);
}

const amountOf = (items: readonly Item[], name: string): string | null =>
  items.reduce<string | null>((sum, item) => plus(sum, (item[name] ?? null) as string | null), null);

/** Revenue of items divided by a base: nothing booked is a revenue of 0. */
function revenueBy(
  items: readonly Item[],
  [rooms, revenue]: readonly [string, string],
  base: number | null,
  digits: number,
) {
  return ratio(amountOf(items, revenue) ?? (countOf(items, rooms) ? null : "0"), base, digits);
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

function booksOf(items: readonly Item[], stock: Stock) {
  const currency = items[0]?.currency ?? null;
  const based = items.filter(({ occupancy }) => isGiven(occupancy));
  const roomRevenue = amountOf(items, "roomRevenue");
  return {
    ...Object.fromEntries(COUNTS.map((name) => [name, countOf(items, name) ?? 0])),
    ...Object.fromEntries(AMOUNTS.map((name) => [name, amountIn(currency, amountOf(items, name))])),
    occupancy: ratio(String(countOf(based, "rooms") ?? 0), stock.base, OCCUPANCY_DIGITS),
    adr: ratio(roomRevenue, countOf(items, "rooms"), digitsOf(currency)),
    revpar: revenueBy(based, ["rooms", "roomRevenue"], stock.base, digitsOf(currency)),
  };
}

/** Null if one of the nights is not known: what both years know is compared. */
function yearOf(items: readonly Item[], stock: Stock, isFirst: boolean, isKnown: boolean, isOver: boolean) {
  const currency = items[0]?.currency ?? null;
  const digits = digitsOf(currency);
  const based = items.filter(({ lastYearOccupancy }) => isGiven(lastYearOccupancy));
  const known = <Value>(value: Value) => (isKnown ? value : null);
  const final = <Value>(value: Value) => (isOver ? value : null);
  const revenueOf = (name: string) => amountIn(currency, amountOf(items, name));
  const rooms = countOf(items, "lastYearRooms");
  const finalRooms = countOf(items, "lastYearFinalRooms");
  return {
    lastYearRooms: known(rooms),
    lastYearRoomRevenue: known(revenueOf("lastYearRoomRevenue")),
    lastYearGrossRoomRevenue: known(revenueOf("lastYearGrossRoomRevenue")),
    lastYearAdr: known(ratio(amountOf(items, "lastYearRoomRevenue"), rooms, digits)),
    lastYearCapacity: known(isFirst ? stock.capacity : null),
    lastYearOutOfOrder: known(isFirst ? stock.outOfOrder : null),
    lastYearOccupancy: known(
      ratio(String(countOf(based, "lastYearRooms") ?? 0), stock.base, OCCUPANCY_DIGITS),
    ),
    lastYearRevpar: known(revenueBy(based, ["lastYearRooms", "lastYearRoomRevenue"], stock.base, digits)),
    lastYearFinalRooms: final(finalRooms),
    lastYearFinalRoomRevenue: final(revenueOf("lastYearFinalRoomRevenue")),
    lastYearFinalAdr: final(ratio(amountOf(items, "lastYearFinalRoomRevenue"), finalRooms, digits)),
  };
}

const pickupsOf = (items: readonly Item[]) =>
  Object.fromEntries(
    PICKUPS.flatMap((days) => [
      [`pickup${days}Rooms`, countOf(items, `pickup${days}Rooms`)],
      [
        `pickup${days}RoomRevenue`,
        amountIn(items[0]?.currency ?? null, amountOf(items, `pickup${days}RoomRevenue`)),
      ],
    ]),
  );

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
      ...booksOf(some, stock),
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
  const { isKnown, isOver } = knownOf(dates, context);
  return {
    ...(context.comparison === "pickup" ? {} : yearOf(items, stock, isFirst, isKnown, isOver)),
    ...(context.comparison === "lastYear" ? {} : pickupsOf(items)),
  };
}
