/**
 * Rows as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, CSV injection):
 * what partners send is not to be run on an operator's machine. Numbers stay numbers.
 */
export function toCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  const safe = !isNumber && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
