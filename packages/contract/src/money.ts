/** An exact amount: an integer of ten-thousandths if a double holds it, else the shortest plain decimal text. Equal amounts are `===`. */
export type Money = number | string;

const SCALE = 4;
const POINT = 0x2e;
const MINUS = 0x2d;
const ZERO = 0x30;

/** An exact decimal: `units` of 10^-`scale`. */
interface Amount {
  readonly units: bigint;
  readonly scale: number;
}

export function amountOf(money: Money): Amount {
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
  let end = plain.length;
  while (plain[end - 1] === "0") end -= 1;
  return plain.slice(0, plain[end - 1] === "." ? end - 1 : end);
}

function moneyOfAmount({ units, scale }: Amount): Money {
  const common = scale <= SCALE ? units * 10n ** BigInt(SCALE - scale) : units / 10n ** BigInt(scale - SCALE);
  const isExact = scale <= SCALE || units % 10n ** BigInt(scale - SCALE) === 0n;
  const number = Number(common);
  return isExact && Number.isSafeInteger(number) ? number : textOf({ units, scale });
}

const UNITS_BY_DECIMALS = [10_000, 1_000, 100, 10, 1] as const;

/** Parses a plain decimal: an optional minus, digits, an optional fraction. */
export function moneyOf(text: string): Money {
  return moneyAt(Buffer.from(text, "latin1"), 0, text.length);
}

/** As `moneyOf`, from bytes. */
export function moneyAt(bytes: Buffer, start: number, end: number): Money {
  const units = tenThousandthsAt(bytes, start, end);
  return Number.isNaN(units) ? moneyOfAmount(amountOf(bytes.toString("latin1", start, end))) : units;
}

/** Parses a plain decimal as ten-thousandths; NaN if a double does not hold them. */
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

/** The sum of two amounts; null if both are null. */
export function sumOf(left: Money | null, right: Money | null): Money | null {
  if (left === null || right === null) return left ?? right;
  if (typeof left === "number" && typeof right === "number" && Number.isSafeInteger(left + right))
    return left + right;
  const [one, other] = [amountOf(left), amountOf(right)];
  const scale = Math.max(one.scale, other.scale);
  return moneyOfAmount({ units: unitsAt(one, scale) + unitsAt(other, scale), scale });
}

/** An amount in units of 10^-`scale`, which is at least its own scale. */
export function unitsAt({ units, scale: own }: Amount, scale: number): bigint {
  return units * 10n ** BigInt(scale - own);
}

/** An amount times an integer; null stays null. */
export function timesWhole(money: Money | null, factor: number): Money | null {
  if (money === null || factor === 1) return money;
  if (typeof money === "number" && Number.isSafeInteger(money * factor)) return money * factor + 0;
  const { units, scale } = amountOf(money);
  return moneyOfAmount({ units: units * BigInt(factor), scale });
}

/** The shortest plain decimal text of an amount. */
export function textOfMoney(money: Money): string {
  return textOf(amountOf(money));
}
