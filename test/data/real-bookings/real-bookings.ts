import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
];

/** One real booking as its row states it (README.md beside this file says whose data it is). */
export interface RealBooking {
  /** Its row: 1 is the first below the header. */
  readonly row: number;
  readonly hotel: "Resort Hotel" | "City Hotel";
  readonly isCanceled: boolean;
  readonly leadDays: number;
  /** `YYYY-MM-DD`. */
  readonly arrivalDate: string;
  /** Year and week of the arrival, as the data set counts weeks: `2016W27`. */
  readonly arrivalWeek: string;
  readonly nights: number;
  readonly adults: number;
  readonly children: number;
  readonly babies: number;
  readonly meal: string;
  readonly country: string;
  readonly marketSegment: string;
  readonly channel: string;
  readonly reservedRoomType: string;
  readonly assignedRoomType: string;
  readonly changes: number;
  readonly agent: string;
  readonly company: string;
  readonly customerType: string;
  /** Average daily rate, net, in EUR: a plain decimal text, as it stands in the row. */
  readonly averageRate: string;
}

/** Reads all 25,000 rows, in their order. */
export function readRealBookings(): RealBooking[] {
  const file = new URL("./hotel-bookings.csv.gz", import.meta.url);
  const [header = "", ...lines] = gunzipSync(readFileSync(file)).toString("utf8").trim().split(/\r?\n/);
  const placeOf = new Map(header.split(",").map((name, place) => [name, place]));
  return lines.map((line, at) => {
    const cells = line.split(",");
    const text = (name: string): string => cells[placeOf.get(name) ?? -1] ?? "";
    const number = (name: string): number => Number(text(name) || "0");
    const month = MONTHS.indexOf(text("arrival_date_month"));
    const arrival = new Date(
      Date.UTC(number("arrival_date_year"), month, number("arrival_date_day_of_month")),
    );
    return {
      row: at + 1,
      hotel: text("hotel") as RealBooking["hotel"],
      isCanceled: text("is_canceled") === "1",
      leadDays: number("lead_time"),
      arrivalDate: arrival.toISOString().slice(0, 10),
      arrivalWeek: `${text("arrival_date_year")}W${text("arrival_date_week_number").padStart(2, "0")}`,
      nights: number("stays_in_weekend_nights") + number("stays_in_week_nights"),
      adults: number("adults"),
      children: number("children"),
      babies: number("babies"),
      meal: text("meal"),
      country: text("country"),
      marketSegment: text("market_segment"),
      channel: text("distribution_channel"),
      reservedRoomType: text("reserved_room_type"),
      assignedRoomType: text("assigned_room_type"),
      changes: number("booking_changes"),
      agent: text("agent"),
      company: text("company"),
      customerType: text("customer_type"),
      averageRate: text("adr"),
    };
  });
}
