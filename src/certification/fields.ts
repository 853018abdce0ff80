/** Reads what may or may not stand in a record that the contract let in: a field that is missing or of another kind is undefined. */
export type Fields = Readonly<Record<string, unknown>>;

export function textOf(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A quantity, sent as a number or as a numeric text. */
export function numberOf(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  if (typeof value !== "number" && (typeof value !== "string" || value === "")) return undefined;
  const number = Number(value);
  return Number.isFinite(number) ? number : undefined;
}

export function fieldsOf(fields: Fields, name: string): Fields | undefined {
  const value = fields[name];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

/** The objects of an array; none where there is no array. */
export function listOf(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name];
  if (!Array.isArray(value)) return [];
  return value.filter(
    (item): item is Fields => typeof item === "object" && item !== null && !Array.isArray(item),
  );
}

const DAY_MS = 86_400_000;

/** The calendar date so many days after another (`2026-01-31`). */
export function dayAfter(date: string, days: number): string {
  return new Date(Date.parse(`${date}T00:00:00Z`) + days * DAY_MS).toISOString().slice(0, 10);
}

/** How many days later the second calendar date is. */
export function daysBetween(first: string, second: string): number {
  return Math.round((Date.parse(`${second}T00:00:00Z`) - Date.parse(`${first}T00:00:00Z`)) / DAY_MS);
}

/** So many dates in a row. */
export function datesFrom(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, days) => dayAfter(first, days));
}
