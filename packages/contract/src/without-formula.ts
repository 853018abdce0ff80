/**
 * Where spreadsheets may start a formula, with ASCII or full-width signs, including preceding whitespace. Matches whole runs, so that a
 * text of only whitespace is scanned once. A quotation mark belongs to them: where the semicolon separates cells, it quotes one.
 */
const MAYBE_FORMULA = /^[=+\-@\uff1d\uff0b\uff0d\uff20]|([;\s"]+)([=+\-@\uff1d\uff0b\uff0d\uff20]?)/g;

/**
 * Inserts an apostrophe where a spreadsheet would start a formula (OWASP, CSV injection): at the beginning of a cell (some skip leading
 * whitespace), and after a semicolon or line break, because spreadsheets split cells at semicolons if the comma is the decimal separator.
 */
export function withoutFormula(text: string): string {
  return text.replaceAll(MAYBE_FORMULA, (found, before = "", sign = found, offset) => {
    const marked = sign !== "" && /[;\r\n]/.test(before) ? `${before}'${sign}` : found;
    return offset === 0 && (sign !== "" || /^[\t\r]/.test(before)) ? `'${marked}` : marked;
  });
}
