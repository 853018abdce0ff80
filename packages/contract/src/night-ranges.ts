import { addDays } from "./dates.ts";

/** Ranges of the nights that figures are kept of. */
export const KEPT_RANGES = ["next7", "next30", "next90", "thisMonth", "nextMonth"] as const;

/** Ranges of nights that are kept as a name, so that they move on with the business day. */
export const NIGHT_RANGES = [...KEPT_RANGES, "last30"] as const;
export type NightRange = (typeof NIGHT_RANGES)[number];

export interface Nights {
  readonly from: string;
  readonly to: string;
}

const firstOfMonth = (date: string): string => `${date.slice(0, 7)}-01`;
/** 31 days from the first of a month are in the next one. */
const firstOfNextMonth = (date: string): string => firstOfMonth(addDays(firstOfMonth(date), 31));

/** The nights of a range on a business day, both included. */
export function nightsOf(range: NightRange, today: string): Nights {
  const next = firstOfNextMonth(today);
  const ahead = (nights: number) => ({ from: today, to: addDays(today, nights - 1) });
  switch (range) {
    case "next7":
      return ahead(7);
    case "next30":
      return ahead(30);
    case "next90":
      return ahead(90);
    case "thisMonth":
      return { from: firstOfMonth(today), to: addDays(next, -1) };
    case "nextMonth":
      return { from: next, to: addDays(firstOfNextMonth(next), -1) };
    case "last30":
      return { from: addDays(today, -30), to: addDays(today, -1) };
  }
}
