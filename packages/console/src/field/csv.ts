export type Cell = string | number | null;

/** RFC 4180. A text that a spreadsheet would run as a formula gets an apostrophe (OWASP, CSV injection). */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/** Also behind a semicolon or a line break: spreadsheets with a decimal comma split cells there. */
function withoutFormula(text: string): string {
  return text.replaceAll(
    /^[=+\-@\uff1d\uff0b\uff0d\uff20]|([;\s]+)([=+\-@\uff1d\uff0b\uff0d\uff20]?)/g,
    (found, before = "", sign = found, offset) => {
      const marked = sign !== "" && /[;\r\n]/.test(before) ? `${before}'${sign}` : found;
      return offset === 0 && (sign !== "" || /^[\t\r]/.test(before)) ? `'${marked}` : marked;
    },
  );
}

function cellOf(value: string | number | null): string {
  if (value === null) return "";
  const text = String(value);
  const isNumber = /^-?\d+(\.\d+)?$/.test(text);
  const safe = isNumber ? text : withoutFormula(text);
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
