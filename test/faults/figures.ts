/** Formats milliseconds as seconds. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

/** Of what, how often, as a list. */
export function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");
}

/** The least, the median and the highest of some times in milliseconds; `-` of none. */
export function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((left, right) => left - right);
  const at = (share: number) => seconds(sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN);
  return sorted.length === 0 ? "-" : `min ${at(0)}, median ${at(0.5)}, p95 ${at(0.95)}, max ${at(1)}`;
}

/** A line of a report: what it is about, then the figure, under that of the line before. */
export function figure(what: string, value: string | number): string {
  return `${what.padEnd(33)} ${value}`;
}
