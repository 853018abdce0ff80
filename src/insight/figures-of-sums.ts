import { digitsOf } from "#contract/currencies.ts";
import { PICKUPS } from "./compared-books.ts";
import { amountIn } from "./exact-amount.ts";
import { OCCUPANCY_DIGITS, type ReportedRooms, ratio } from "./occupancy.ts";

/** What is added up of the books, besides inventory. */
export const BOOKED_COUNTS = [
  "rooms",
  "adults",
  "children",
  "blocksRemaining",
  "unmappedRooms",
  "dayUseRooms",
];
export const BOOKED_AMOUNTS = [
  "roomRevenue",
  "grossRoomRevenue",
  "dayUseRevenue",
  "feeRevenue",
  "outsideStayRevenue",
];
const COMPARED = ["lastYear", "lastYearFinal", ...PICKUPS.map((days) => `pickup${days}`)];
export const COMPARED_COUNTS = COMPARED.map((of) => `${of}Rooms`);
export const COMPARED_AMOUNTS = COMPARED.map((of) => `${of}RoomRevenue`);

/** The sums of items of one currency, by the names of their fields. Null: no item has the field. */
export interface Sums {
  readonly currency: string | null;
  readonly count: (name: string) => number | null;
  readonly amount: (name: string) => string | null;
}

/** The sums of items whose night has a base of occupancy, and that base. */
export interface BasedSums {
  readonly rooms: number | null;
  readonly revenue: string | null;
  readonly base: number | null;
}

const occupancyOf = ({ rooms, base }: BasedSums) => ratio(String(rooms ?? 0), base, OCCUPANCY_DIGITS);

/** Nothing booked is a revenue of 0. */
const revparOf = ({ rooms, revenue, base }: BasedSums, currency: string | null) =>
  ratio(revenue ?? (rooms ? null : "0"), base, digitsOf(currency));

const adrOf = ({ currency, count, amount }: Sums, rooms: string, revenue: string) =>
  ratio(amount(revenue), count(rooms), digitsOf(currency));

const moneyOf = ({ currency, amount }: Sums, name: string) => amountIn(currency, amount(name));

export function bookedFigures(sums: Sums, based: BasedSums) {
  return {
    ...Object.fromEntries(BOOKED_COUNTS.map((name) => [name, sums.count(name) ?? 0])),
    ...Object.fromEntries(BOOKED_AMOUNTS.map((name) => [name, moneyOf(sums, name)])),
    occupancy: occupancyOf(based),
    adr: adrOf(sums, "rooms", "roomRevenue"),
    revpar: revparOf(based, sums.currency),
  };
}

/** Null if one of the nights is not known: what both years know is compared. */
export function lastYearFigures(
  sums: Sums,
  based: BasedSums,
  stock: ReportedRooms,
  { isKnown, isOver }: { readonly isKnown: boolean; readonly isOver: boolean },
) {
  const known = <Value>(value: Value) => (isKnown ? value : null);
  const final = <Value>(value: Value) => (isOver ? value : null);
  return {
    lastYearRooms: known(sums.count("lastYearRooms")),
    lastYearRoomRevenue: known(moneyOf(sums, "lastYearRoomRevenue")),
    lastYearGrossRoomRevenue: known(moneyOf(sums, "lastYearGrossRoomRevenue")),
    lastYearAdr: known(adrOf(sums, "lastYearRooms", "lastYearRoomRevenue")),
    lastYearCapacity: known(stock.capacity),
    lastYearOutOfOrder: known(stock.outOfOrder),
    lastYearOccupancy: known(occupancyOf(based)),
    lastYearRevpar: known(revparOf(based, sums.currency)),
    lastYearFinalRooms: final(sums.count("lastYearFinalRooms")),
    lastYearFinalRoomRevenue: final(moneyOf(sums, "lastYearFinalRoomRevenue")),
    lastYearFinalAdr: final(adrOf(sums, "lastYearFinalRooms", "lastYearFinalRoomRevenue")),
  };
}

/** `isKnown`: of the pickup at a place of PICKUPS. */
export const pickupFigures = (sums: Sums, isKnown: (at: number) => boolean = () => true) =>
  Object.fromEntries(
    PICKUPS.flatMap((days, at) => [
      [`pickup${days}Rooms`, isKnown(at) ? sums.count(`pickup${days}Rooms`) : null],
      [`pickup${days}RoomRevenue`, isKnown(at) ? moneyOf(sums, `pickup${days}RoomRevenue`) : null],
    ]),
  );
