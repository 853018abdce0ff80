import type { Warning } from "#client";
import { type Columns, figure, itemTable } from "../cli/output.ts";

/** A warning, and the record that has it: its number from 0, or its line in a CSV file. */
export interface PlacedWarning extends Warning {
  readonly place: number;
}

const LISTED_MAX = 20;

/**
 * The lines of a table of the first warnings, below an empty line. `records`: how many have warnings. `first`: the heading of the places.
 * `where`: where the others are listed.
 */
export function warningTable(
  rows: readonly PlacedWarning[],
  records: number,
  first: "LINE" | "RECORD",
  where: string,
  listedMax = LISTED_MAX,
): string[] {
  if (rows.length === 0) return [];
  const columns: Columns<PlacedWarning> = {
    [first]: "place",
    POINTER: ({ pointer }) => pointer || "-",
    WARNING: "code",
    REASON: "message",
  };
  const listed = rows.slice(0, listedMax);
  const more = records - new Set(listed.map(({ place }) => place)).size;
  return [
    "",
    ...itemTable(columns, listed),
    ...(more > 0 ? [`${figure(more)} more records with warnings: ${where}.`] : []),
  ];
}
