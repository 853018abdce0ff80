export type Cell = string | number | null;

/**
 * Rows as CSV (RFC 4180). Text that a spreadsheet would take for a formula gets an apostrophe in front (OWASP, CSV injection):
 * what partners send, with full-width signs (U+FF1D) too, is not to be run on an operator's machine. Numbers stay numbers.
 */
export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

/** At the beginning, and behind a semicolon or a line break: where a comma is a decimal point, spreadsheets divide cells there. */
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

/** A page of CSV without its head, to be put after the page before it. */
export function withoutHead(page: string): string {
  return page.slice(page.indexOf("\r\n") + 2);
}

/** The address of the next page, by the header `link` of a page (RFC 8288); undefined at the end. */
export function nextPageOf(link: string | null): string | undefined {
  return /^<([^>]*)>; *rel="next"$/.exec(link ?? "")?.[1];
}
