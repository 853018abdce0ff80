/** An exact amount: units of 10^-scale. */
interface Amount {
  readonly units: bigint;
  readonly scale: number;
}

function amountOf(text: string): Amount {
  const point = text.indexOf(".");
  if (point === -1) return { units: BigInt(text), scale: 0 };
  return { units: BigInt(text.slice(0, point) + text.slice(point + 1)), scale: text.length - point - 1 };
}

function textOf({ units, scale }: Amount): string {
  if (scale === 0) return String(units);
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, "0");
  const point = digits.length - scale;
  const plain = `${units < 0n ? "-" : ""}${digits.slice(0, point)}.${digits.slice(point)}`;
  return plain.replace(/\.?0+$/, "");
}

const IS_SHORT = /^-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?$/;

/** A plain decimal text as any other of its value is written: without zeros that say nothing. */
function shortDecimal(text: string): string {
  if (IS_SHORT.test(text) && text !== "-0") return text;
  return textOf(amountOf(text));
}

/** The sum of two plain decimal texts, null where neither is told. */
export function sumOf(left: string | null, right: string | null): string | null {
  if (left === null || right === null) return left ?? right;
  const [one, other] = [amountOf(left), amountOf(right)];
  const scale = Math.max(one.scale, other.scale);
  const units = ({ units, scale: own }: Amount) => units * 10n ** BigInt(scale - own);
  return textOf({ units: units(one) + units(other), scale });
}

/** A plain decimal text times a whole number, as short as it can be written; null stays null. */
export function timesWhole(text: string | null, factor: number): string | null {
  if (text === null) return null;
  if (factor === 1) return shortDecimal(text);
  const { units, scale } = amountOf(text);
  return textOf({ units: units * BigInt(factor), scale });
}
