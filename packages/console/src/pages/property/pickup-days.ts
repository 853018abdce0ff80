import type { PickupItem } from "../../contract.ts";
import { addMoney } from "../../field/money.ts";
import type { Measure } from "./measure.tsx";

/** What a day brought (UTC midnight to midnight), by night: rooms or the money of one currency, signed, as decimal text. */
export interface PickupDay {
  readonly day: string;
  readonly amounts: ReadonlyMap<string, string>;
}

/** Of what a day brought that which is measured. */
export function pickupOf(day: string, items: readonly PickupItem[], measure: Measure): PickupDay {
  const amounts = new Map<string, string>();
  for (const { stayDate, rooms, roomRevenue, currency } of items) {
    if (measure.of === "revenue" && currency !== measure.currency) continue;
    const own = measure.of === "rooms" ? String(rooms) : (roomRevenue ?? "0");
    amounts.set(stayDate, addMoney([amounts.get(stayDate) ?? "0", own]));
  }
  return { day, amounts };
}

/** What a day brought of a night: `0` where nothing came or went. */
export const amountOf = ({ amounts }: PickupDay, night: string): string => amounts.get(night) ?? "0";

/** What a day brought of all nights. */
export const sumOfDay = ({ amounts }: PickupDay): string => addMoney([...amounts.values()]);

/** What all days together brought of a night. */
export function sumOfNight(days: readonly PickupDay[], night: string): string {
  return addMoney(days.map((day) => amountOf(day, night)));
}

/** What all days together brought. */
export const sumOfAll = (days: readonly PickupDay[]): string => addMoney(days.map(sumOfDay));

/** The heat map as it is shown, each amount exact; the first row is the head. */
export function toRows(days: readonly PickupDay[], nights: readonly string[]): string[][] {
  return [
    ["day", ...nights, "all"],
    ...days.map((each) => [each.day, ...nights.map((night) => amountOf(each, night)), sumOfDay(each)]),
    ["all", ...nights.map((night) => sumOfNight(days, night)), sumOfAll(days)],
  ];
}
