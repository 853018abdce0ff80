// PostgreSQL's numeric_send: four numbers of two bytes (how many digits, the weight of the first, the sign, how many decimals
// are shown), then digits to the base 10,000.
const BASE = 10_000;
const DIGITS_A_GROUP = 4;
const NEGATIVE = 0x4000;
const HEAD_BYTES = 8;

/** Most groups of a whole number that a double holds exactly, and the one behind its point. */
const GROUPS = new Uint16Array(5);

/** Most bytes that `writeNumeric` takes for a text. */
export function numericBytesMax(text: string): number {
  return HEAD_BYTES + 2 * (Math.ceil(text.length / DIGITS_A_GROUP) + 2);
}

/** Writes a number of two bytes; a call of Buffer's own costs more than they do. */
function writeTwo(value: number, to: Buffer, at: number): void {
  to[at] = value >>> 8;
  to[at + 1] = value;
}

function writeHead(
  to: Buffer,
  at: number,
  groups: number,
  weight: number,
  sign: number,
  scale: number,
): void {
  writeTwo(groups, to, at);
  writeTwo(weight, to, at + 2);
  writeTwo(sign, to, at + 4);
  writeTwo(scale, to, at + 6);
}

/** How many decimals ten-thousandths need to be shown. */
function scaleOf(fraction: number): number {
  if (fraction === 0) return 0;
  if (fraction % 1_000 === 0) return 1;
  if (fraction % 100 === 0) return 2;
  return fraction % 10 === 0 ? 3 : 4;
}

/** Writes a whole number of ten-thousandths that a double holds exactly as a numeric; answers its end. Takes 18 bytes at most. */
export function writeTenThousandths(units: number, to: Buffer, from: number): number {
  let left = Math.abs(units);
  const fraction = left % BASE;
  let first = 0;
  let last = -1;
  // Group 0 stands behind the point.
  for (let group = 0; left > 0; group += 1) {
    const digits = left % BASE;
    if (digits !== 0) {
      if (last === -1) first = group;
      last = group;
    }
    GROUPS[group] = digits;
    left = (left - digits) / BASE;
  }
  const groups = last === -1 ? 0 : last - first + 1;
  const weight = last === -1 ? 0 : last - 1;
  writeHead(to, from, groups, weight, units < 0 ? NEGATIVE : 0, scaleOf(fraction));
  let at = from + HEAD_BYTES;
  for (let group = last; group >= first; group -= 1) {
    writeTwo(GROUPS[group] as number, to, at);
    at += 2;
  }
  return at;
}

/** Writes a plain decimal text (an optional minus, digits, an optional fraction) as a numeric; answers its end. */
export function writeNumeric(text: string, to: Buffer, from: number): number {
  const isNegative = text.startsWith("-");
  const [whole = "", fraction = ""] = (isNegative ? text.slice(1) : text).split(".");
  const padded = (digits: number) => Math.ceil(digits / DIGITS_A_GROUP) * DIGITS_A_GROUP;
  const digits = whole.padStart(padded(whole.length), "0") + fraction.padEnd(padded(fraction.length), "0");
  const groups: number[] = [];
  for (let at = 0; at < digits.length; at += DIGITS_A_GROUP)
    groups.push(Number(digits.slice(at, at + DIGITS_A_GROUP)));
  let weight = padded(whole.length) / DIGITS_A_GROUP - 1;
  while (groups.length > 0 && groups[0] === 0) {
    groups.shift();
    weight -= 1;
  }
  while (groups.at(-1) === 0) groups.pop();
  const isZero = groups.length === 0;
  const sign = isNegative && !isZero ? NEGATIVE : 0;
  writeHead(to, from, groups.length, isZero ? 0 : weight, sign, fraction.length);
  let at = from + HEAD_BYTES;
  for (const group of groups) {
    writeTwo(group, to, at);
    at += 2;
  }
  return at;
}
