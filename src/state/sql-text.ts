/** Renders a timestamptz with all its microseconds, as the code compares them: `2026-01-31T12:00:00.000000Z`. */
export function isoMicroseconds(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}
