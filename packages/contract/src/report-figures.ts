/** Of an item of the daily report, what its columns are made of. */
export interface ReportedFigures {
  readonly occupancy: string | null;
  readonly rooms: number;
  readonly lastYearRooms?: number | null;
  readonly lastYearFinalRooms?: number | null;
  readonly pickup1Rooms?: number | null;
  readonly pickup3Rooms?: number | null;
  readonly pickup7Rooms?: number | null;
  readonly pickup30Rooms?: number | null;
  readonly roomRevenue: string | null;
  readonly adr: string | null;
  readonly revpar: string | null;
  readonly cancelledRooms: number;
  readonly noShowRooms: number;
}

/** A column of figures, on the screen, in messages and in files. */
export interface ReportFigure {
  readonly name: FigureName;
  readonly head: string;
  readonly kind: "count" | "change" | "money" | "share";
  /** Null: not known. */
  readonly of: (item: ReportedFigures) => number | string | null;
}

export type FigureName =
  | "occupancy"
  | "rooms"
  | "lastYear"
  | "change"
  | "lastYearFinal"
  | `pickup${1 | 3 | 7 | 30}`
  | "revenue"
  | "adr"
  | "revpar"
  | "cancelled"
  | "noShows";

/** Rooms more than at the same time last year. */
export const changeOf = ({
  rooms,
  lastYearRooms,
}: Pick<ReportedFigures, "rooms" | "lastYearRooms">): number | null =>
  lastYearRooms === null || lastYearRooms === undefined ? null : rooms - lastYearRooms;

/** The columns of the daily report, in order. */
export const REPORT_FIGURES: readonly ReportFigure[] = [
  { name: "occupancy", head: "Occupancy", kind: "share", of: ({ occupancy }) => occupancy },
  { name: "rooms", head: "Rooms", kind: "count", of: ({ rooms }) => rooms },
  { name: "lastYear", head: "Last year", kind: "count", of: ({ lastYearRooms = null }) => lastYearRooms },
  { name: "change", head: "Change", kind: "change", of: changeOf },
  {
    name: "lastYearFinal",
    head: "Last year final",
    kind: "count",
    of: ({ lastYearFinalRooms = null }) => lastYearFinalRooms,
  },
  { name: "pickup1", head: "Pickup 1", kind: "change", of: ({ pickup1Rooms = null }) => pickup1Rooms },
  { name: "pickup3", head: "Pickup 3", kind: "change", of: ({ pickup3Rooms = null }) => pickup3Rooms },
  { name: "pickup7", head: "Pickup 7", kind: "change", of: ({ pickup7Rooms = null }) => pickup7Rooms },
  { name: "pickup30", head: "Pickup 30", kind: "change", of: ({ pickup30Rooms = null }) => pickup30Rooms },
  { name: "revenue", head: "Room revenue", kind: "money", of: ({ roomRevenue }) => roomRevenue },
  { name: "adr", head: "ADR", kind: "money", of: ({ adr }) => adr },
  { name: "revpar", head: "RevPAR", kind: "money", of: ({ revpar }) => revpar },
  { name: "cancelled", head: "Cancelled", kind: "count", of: ({ cancelledRooms }) => cancelledRooms },
  { name: "noShows", head: "No-shows", kind: "count", of: ({ noShowRooms }) => noShowRooms },
];
