import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdDecompressSync } from "node:zlib";
import { parquetReadObjects } from "hyparquet";
import type { Manifest } from "../../src/export/folder.ts";

export type ExportedRow = Readonly<Record<string, unknown>>;

export async function readManifest(directory: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(directory, "manifest.json"), "utf8")) as Manifest;
}

/** The lines of a CSV file; a quoted field may have anything, and one that is nothing is null. */
export function rowsOfCsv(text: string): ExportedRow[] {
  const lines: (string | null)[][] = [[]];
  const field = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\n)/gy;
  for (let found = field.exec(text); found !== null; found = field.exec(text)) {
    const [, quoted, bare, end] = found;
    lines.at(-1)?.push(quoted === undefined ? bare || null : quoted.replaceAll('""', '"'));
    if (end === "\n") lines.push([]);
  }
  const [names = [], ...rows] = lines.slice(0, -1);
  return rows.map((row) => Object.fromEntries(row.map((value, at) => [String(names[at]), value])));
}

async function rowsOfFile(bytes: Buffer, format: string): Promise<readonly ExportedRow[]> {
  if (format === "csv") return rowsOfCsv(bytes.toString());
  if (format === "ndjson")
    return bytes
      .toString()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as ExportedRow);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer;
  return parquetReadObjects({ file, compressors: { ZSTD: (page) => zstdDecompressSync(page) } });
}

/** The rows of a table in each pass, of files that are what the manifest says of them. */
export async function passesOf(directory: string, table: string): Promise<Map<number, ExportedRow[]>> {
  const manifest = await readManifest(directory);
  const found = new Map<number, ExportedRow[]>();
  for (const { pass, files } of manifest.passes)
    for (const { table: of, path, rows, bytes, sha256 } of files) {
      if (of !== table) continue;
      const content = await readFile(join(directory, path));
      assert.equal(content.length, bytes);
      assert.equal(createHash("sha256").update(content).digest("hex"), sha256);
      const read = await rowsOfFile(content, manifest.basis.format);
      assert.equal(read.length, rows);
      found.set(pass, [...(found.get(pass) ?? []), ...read]);
    }
  return found;
}

const keyText = (row: ExportedRow, key: readonly string[]) => JSON.stringify(key.map((name) => row[name]));

/** What a reader makes of a table's passes: of each key the rows of the newest; of rows of records those of their record's newest. */
export async function foldedRows(directory: string, table: string): Promise<ExportedRow[]> {
  const { key: own = [], resource } = (await readManifest(directory)).tables[table as "records"] ?? {};
  const keys = resource === undefined ? own : ["client_code", "property_code", "key"];
  const newest = new Map<string, number>();
  const keyed = await passesOf(directory, resource === undefined ? table : "records");
  for (const [pass, rows] of keyed)
    for (const row of rows)
      if (resource === undefined || row["resource"] === resource) newest.set(keyText(row, keys), pass);
  return [...(await passesOf(directory, table))].flatMap(([pass, rows]) =>
    rows.filter((row) => newest.get(keyText(row, own)) === pass),
  );
}

/** Rows as texts that compare, in whatever order they came. */
export function comparable(rows: readonly ExportedRow[]): string[] {
  return rows
    .map((row) => JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value)))
    .sort();
}
