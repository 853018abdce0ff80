/** Figures as they are read: digits in groups, a real minus, nothing rounded that was told exactly. */
const counts = new Intl.NumberFormat("en-GB");

/** `12,345` */
export function writeCount(value: number): string {
  return counts.format(value).replace("-", "−");
}

/** `+12`, `−3`, `0` */
export function writeSigned(value: number): string {
  return value > 0 ? `+${writeCount(value)}` : writeCount(value);
}

/** Decimal text `1234567.5` as `1,234,567.50`; it never becomes a binary number. */
export function writeMoney(text: string, signed = false): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) return text;
  const [, sign = "", whole = "", fraction = ""] = match;
  const cents = fraction.replace(/0+$/, "").padEnd(2, "0");
  const plus = signed && sign === "" && /[1-9]/.test(text) ? "+" : "";
  return `${sign === "" ? plus : "−"}${whole.replace(/\B(?=(\d{3})+(?!\d))/g, ",")}.${cents}`;
}

const shortened = new Intl.NumberFormat("en-GB", { notation: "compact" });

/** Decimal text `-1234.5` as `−1.2K`: two digits, for where the exact figure has no room and stands elsewhere. */
export function writeShort(text: string): string {
  return shortened.format(Number(text)).replace("-", "−");
}

/** Decimal texts added up, exactly: `0.1` and `0.2` are `0.3`. Nothing of nothing is `0`. */
export function addMoney(texts: readonly string[]): string {
  const places = Math.max(0, ...texts.map((text) => text.split(".")[1]?.length ?? 0));
  const sum = texts.reduce((total, text) => {
    const [whole = "0", fraction = ""] = text.split(".");
    return total + BigInt(whole + fraction.padEnd(places, "0"));
  }, 0n);
  const digits = String(sum < 0n ? -sum : sum).padStart(places + 1, "0");
  const end = digits.length - places;
  return `${sum < 0n ? "-" : ""}${digits.slice(0, end)}${places === 0 ? "" : `.${digits.slice(end)}`}`;
}

/** One decimal text less another, exactly. */
export function subtractMoney(from: string, less: string): string {
  return addMoney([from, less.startsWith("-") ? less.slice(1) : `-${less}`]);
}

/** `0.8533` as `85.3 %` */
export function writeShare(text: string | number): string {
  const share = Number(text);
  return Number.isFinite(share) ? `${(share * 100).toFixed(1).replace("-", "−")} %` : String(text);
}

/** `1 record`, `2 records` */
export function writeMany(count: number, one: string, many = `${one}s`): string {
  return `${writeCount(count)} ${count === 1 ? one : many}`;
}
