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

/** `0.8533` as `85.3 %` */
export function writeShare(text: string | number): string {
  const share = Number(text);
  return Number.isFinite(share) ? `${(share * 100).toFixed(1).replace("-", "−")} %` : String(text);
}

/** `1 record`, `2 records` */
export function writeMany(count: number, one: string, many = `${one}s`): string {
  return `${writeCount(count)} ${count === 1 ? one : many}`;
}
