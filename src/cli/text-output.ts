/** Rows in columns as wide as their widest cell, under a heading. The last column is left ragged. */
export function tableLines(headings: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [headings, ...rows].map((row) => row.map(printable));
  const widths = headings.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Named values, one a line, the values below each other. */
export function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `  ${name.padEnd(width)}  ${printable(value)}`.trimEnd());
}

/** A moment to the second, in UTC; a dash for none. */
export function momentText(moment: Date | null): string {
  return moment === null ? "-" : `${moment.toISOString().slice(0, 19)}Z`;
}

/** Codes and names come from people: nothing in them may move a terminal's cursor or colour its text. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
