import { join } from "node:path";
import { readCsv } from "./csv.ts";

/** The hotel in its own system: here three CSV files, in yours a database. */
export interface Hotel {
  readonly clientCode: string;
  readonly propertyCode: string;
  readonly currency: string;
  /** The day that the hotel is in: it ends with the night audit, not at midnight. */
  readonly businessDate: string;
  /** How many nights from there on can be booked. */
  readonly nights: number;
  readonly roomTypes: readonly {
    readonly code: string;
    readonly rooms: number;
    readonly outOfOrder: number;
  }[];
  readonly bookings: readonly Booking[];
}

export interface Booking {
  readonly id: string;
  /** A word of this system's own. */
  readonly status: string;
  readonly arrival: string;
  readonly departure: string;
  readonly roomType: string;
  readonly rooms: number;
  readonly adults: number;
  readonly rate: string;
  readonly booked: string;
  readonly modified: string;
  /** Empty of a booking that is not cancelled. */
  readonly cancelled: string;
}

/** Reads the hotel. `directory` has hotel.csv, room-types.csv and bookings.csv. */
export async function readHotel(directory: string): Promise<Hotel> {
  const [[hotel], roomTypes, bookings] = (await Promise.all(
    ["hotel.csv", "room-types.csv", "bookings.csv"].map((name) => readCsv(join(directory, name))),
  )) as [Row[], Row[], Row[]];
  if (hotel === undefined) throw new Error("hotel.csv contains no hotel");
  const text = (row: Row, name: string) => row[name] ?? "";
  return {
    clientCode: text(hotel, "clientCode"),
    propertyCode: text(hotel, "propertyCode"),
    currency: text(hotel, "currency"),
    businessDate: text(hotel, "businessDate"),
    nights: Number(hotel["nights"]),
    roomTypes: roomTypes.map((row) => ({
      code: text(row, "code"),
      rooms: Number(row["rooms"]),
      outOfOrder: Number(row["outOfOrder"]),
    })),
    bookings: bookings.map((row) => ({
      id: text(row, "id"),
      status: text(row, "status"),
      arrival: text(row, "arrival"),
      departure: text(row, "departure"),
      roomType: text(row, "roomType"),
      rooms: Number(row["rooms"]),
      adults: Number(row["adults"]),
      rate: text(row, "rate"),
      booked: text(row, "booked"),
      modified: text(row, "modified"),
      cancelled: text(row, "cancelled"),
    })),
  };
}

type Row = Readonly<Record<string, string>>;
