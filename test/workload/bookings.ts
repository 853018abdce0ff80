import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

/** One real booking (README.md beside this file says whose data it is, and what of a record is made up from it). */
export interface Booking {
  readonly hotel: "Resort Hotel" | "City Hotel";
  /** `YYYY-MM-DD`. */
  readonly arrivalDate: string;
  readonly nights: number;
  readonly canceled: boolean;
  readonly leadDays: number;
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
  /** Average daily rate, net, in euro cents. */
  readonly rateCents: number;
}

/** Reads the extract: 8,000 bookings of two hotels, arrivals July 2015 to August 2017. */
export function readBookings(): Booking[] {
  const file = new URL("./data/hotel-bookings.csv.gz", import.meta.url);
  const [header = "", ...lines] = gunzipSync(readFileSync(file)).toString("utf8").trim().split("\n");
  const names = header.split(",");
  return lines.map((line) => {
    const cells = line.split(",");
    const text = (name: string): string => cells[names.indexOf(name)] ?? "";
    const number = (name: string): number => Number(text(name) || "0");
    return {
      hotel: text("hotel") as Booking["hotel"],
      arrivalDate: text("arrival_date"),
      nights: number("nights"),
      canceled: text("is_canceled") === "1",
      leadDays: number("lead_time"),
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
      rateCents: Math.round(number("adr") * 100),
    };
  });
}
