import { plus } from "./exact-amount.ts";

/** What is to be added up of one cell at one number of days before the night; numbers are decimal text. */
export interface CurveChange {
  readonly days: number;
  readonly slope_rooms: string;
  readonly slope_revenue: string | null;
  readonly slope_gross: string | null;
  readonly level_rooms: string;
  readonly level_revenue: string | null;
  readonly level_gross: string | null;
}

/** What was on the books at the end of a business day. */
export interface CurvePoint {
  readonly rooms: bigint;
  /** Exact decimal text; null: no night that is on the books tells it. */
  readonly roomRevenue: string | null;
  readonly grossRoomRevenue: string | null;
}

const NOTHING: CurvePoint = { rooms: 0n, roomRevenue: null, grossRoomRevenue: null };

function added(left: CurvePoint, right: CurvePoint): CurvePoint {
  return {
    rooms: left.rooms + right.rooms,
    roomRevenue: plus(left.roomRevenue, right.roomRevenue),
    grossRoomRevenue: plus(left.grossRoomRevenue, right.grossRoomRevenue),
  };
}

/**
 * A booking curve: what was on the books at each number of days before the night, from 0 to `daysMax`. A change's slope
 * counts at its days and all above until another takes it back; what is entered at a day is on the books at that one and,
 * nearer to the night, at all below it.
 */
export function bookingCurve(changes: readonly CurveChange[], daysMax: number): CurvePoint[] {
  const at = new Map(changes.map((change) => [change.days, change]));
  const entered: CurvePoint[] = [];
  let slope = NOTHING;
  for (let days = 0; days <= daysMax; days += 1) {
    const change = at.get(days);
    if (change === undefined) {
      entered.push(slope);
      continue;
    }
    const { slope_rooms, slope_revenue, slope_gross, level_rooms, level_revenue, level_gross } = change;
    slope = added(slope, {
      rooms: BigInt(slope_rooms),
      roomRevenue: slope_revenue,
      grossRoomRevenue: slope_gross,
    });
    const level = { rooms: BigInt(level_rooms), roomRevenue: level_revenue, grossRoomRevenue: level_gross };
    entered.push(added(slope, level));
  }
  const curve: CurvePoint[] = [];
  let sum = NOTHING;
  for (let days = daysMax; days >= 0; days -= 1) {
    sum = added(sum, entered[days] ?? NOTHING);
    curve[days] = sum;
  }
  return curve;
}
