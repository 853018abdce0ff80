import { readFile } from "node:fs/promises";

/**
 * The rows of a CSV file (RFC 4180) by the names of its first line. Quoted cells may contain commas, quotes and line breaks.
 * Throws if a row has a different number of cells than the first line.
 */
export async function readCsv(file: string): Promise<Record<string, string>[]> {
  const [names = [], ...rows] = cellsOf(await readFile(file, "utf8"));
  return rows.map((cells, at) => {
    if (cells.length !== names.length)
      throw new Error(`${file}: line ${at + 2} has ${cells.length} cells, not ${names.length}`);
    return Object.fromEntries(names.map((name, column) => [name, cells[column] ?? ""]));
  });
}

function cellsOf(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  // A quoted or unquoted cell, and its delimiter.
  for (const [, quoted, plain = "", end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^,"\r\n]*))(,|\r?\n|$)/g)) {
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  }
  return rows;
}
