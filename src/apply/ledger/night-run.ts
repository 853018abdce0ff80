/**
 * An exact amount: a whole number of ten-thousandths where a double holds it (any price a hotel sends), else the shortest
 * plain decimal text. So equal amounts are equal by `===`.
 */
export type Money = number | string;

const SCALE = 4;
const POINT = 0x2e;
const MINUS = 0x2d;
const ZERO = 0x30;

/** Units of 10^-scale. */
interface Amount {
  readonly units: bigint;
  readonly scale: number;
}

function amountOf(money: Money): Amount {
  if (typeof money === "number") return { units: BigInt(money), scale: SCALE };
  const point = money.indexOf(".");
  if (point === -1) return { units: BigInt(money), scale: 0 };
  return { units: BigInt(money.slice(0, point) + money.slice(point + 1)), scale: money.length - point - 1 };
}

function textOf({ units, scale }: Amount): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  const point = digits.length - scale;
  const plain = `${units < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
  return plain.replace(/\.?0+$/, "");
}

function moneyOfAmount({ units, scale }: Amount): Money {
  const common = scale <= SCALE ? units * 10n ** BigInt(SCALE - scale) : units / 10n ** BigInt(scale - SCALE);
  const isExact = scale <= SCALE || units % 10n ** BigInt(scale - SCALE) === 0n;
  const number = Number(common);
  return isExact && Number.isSafeInteger(number) ? number : textOf({ units, scale });
}

const UNITS_BY_DECIMALS = [10_000, 1_000, 100, 10, 1] as const;

/** The amount of a plain decimal text: an optional minus, digits, an optional fraction. */
export function moneyOf(text: string): Money {
  const bytes = Buffer.from(text, "latin1");
  const units = tenThousandthsAt(bytes, 0, bytes.length);
  return Number.isNaN(units) ? moneyOfAmount(amountOf(text)) : units;
}

/** The plain decimal of these bytes as ten-thousandths; NaN where a double does not hold that. */
export function tenThousandthsAt(bytes: Uint8Array, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let units = 0;
  let decimals = -1;
  for (let at = isNegative ? start + 1 : start; at < end; at += 1) {
    const code = bytes[at] as number;
    if (code === POINT) decimals = 0;
    else if (decimals < SCALE) {
      units = units * 10 + code - ZERO;
      if (decimals !== -1) decimals += 1;
    } else if (code !== ZERO) return Number.NaN;
  }
  units *= UNITS_BY_DECIMALS[Math.max(decimals, 0)] as number;
  if (units > Number.MAX_SAFE_INTEGER) return Number.NaN;
  return isNegative && units !== 0 ? -units : units;
}

/** The sum of two amounts, null where neither is told. */
export function sumOf(left: Money | null, right: Money | null): Money | null {
  if (left === null || right === null) return left ?? right;
  if (typeof left === "number" && typeof right === "number" && Number.isSafeInteger(left + right))
    return left + right;
  const [one, other] = [amountOf(left), amountOf(right)];
  const scale = Math.max(one.scale, other.scale);
  const units = ({ units, scale: own }: Amount) => units * 10n ** BigInt(scale - own);
  return moneyOfAmount({ units: units(one) + units(other), scale });
}

/** An amount times a whole number; null stays null. */
export function timesWhole(money: Money | null, factor: number): Money | null {
  if (money === null || factor === 1) return money;
  if (typeof money === "number" && Number.isSafeInteger(money * factor)) return money * factor + 0;
  const { units, scale } = amountOf(money);
  return moneyOfAmount({ units: units * BigInt(factor), scale });
}

/** An amount as a plain decimal text, as short as it can be written. */
export function textOfMoney(money: Money): string {
  return textOf(amountOf(money));
}

/** What entries are grouped by, in the order in which a dimension's number is made of them. Null: not told. */
export interface DimensionCodes {
  readonly status: string | null;
  readonly roomTypeCode: string | null;
  readonly bookedRoomTypeCode: string | null;
  readonly marketSegmentCode: string | null;
  readonly groupBlockCode: string | null;
  readonly rateCode: string | null;
  readonly channel: string | null;
  readonly currencyCode: string | null;
}

/** Nights that follow each other and are alike: of one stay, with the same revenue. All numbers are of one night. */
export interface NightRun {
  /** Days since 1970-01-01. */
  readonly firstNight: number;
  readonly nights: number;
  readonly rooms: number;
  /** Guests of all rooms. */
  readonly adults: number;
  readonly children: number;
  /** For all rooms; null where the record tells neither revenue nor rate. */
  readonly roomRevenue: Money | null;
  readonly grossRoomRevenue: Money | null;
  /** One object for all runs of a stay. */
  readonly codes: DimensionCodes;
}

/** What a version of a reservation says of nights. */
export interface ReservationNights {
  /** Null where it is not shared: an empty id is none. */
  readonly shareId: string | null;
  readonly runs: readonly NightRun[];
}

/** Nights of one room type that follow each other and of which a group block master says the same. */
export interface BlockRun {
  readonly firstNight: number;
  readonly nights: number;
  readonly blocks: number | null;
  readonly pickedUp: number | null;
  readonly originalBlocks: number | null;
  readonly codes: DimensionCodes;
}

/** The greatest count that a column holds. */
export const COUNT_MAX = 2_147_483_647;

/**
 * A count as it is entered. Counts are of 32 bits and so are the columns: a product beyond that (no hotel has two billion
 * guests), and the one number whose negative does not fit, are entered as the bound, alike when they are taken off again.
 */
export function boundedCount(count: number): number {
  return Math.max(-COUNT_MAX, Math.min(COUNT_MAX, count)) + 0;
}
