const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** Formats bytes, for example `1.5 GB`, in powers of 1024. */
export function sizeText(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${UNITS[unit]}`;
}

const SPANS = [
  [31_557_600, "years"],
  [86_400, "days"],
  [3_600, "hours"],
  [60, "minutes"],
] as const;

/** Formats seconds, for example `29.9 years`, `3 days`, `90 minutes` or `4.2 s`: at least two of the largest unit. */
export function spanText(seconds: number): string {
  for (const [length, name] of SPANS)
    if (seconds >= 2 * length) return `${Number((seconds / length).toFixed(1))} ${name}`;
  return `${seconds >= 10 ? Math.round(seconds) : seconds.toFixed(1)} s`;
}

/** `1 record` or `3 records`. */
export function countText(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
