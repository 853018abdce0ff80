import { pipeline } from "node:stream/promises";
import { CsvError, type Info, parse } from "csv-parse";
import { nearest } from "#contract/nearest.ts";
import { RECORD_BYTES_MAX } from "#contract/read-batch.ts";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import type { FieldSchema } from "#contract/schema/field.ts";
import { RECORD_SCHEMAS } from "#contract/schema/record-schemas.ts";
import { type CellPlace, FileRecord, oneOf, UnreadableFile } from "./file-record.ts";
import { SeenIdentities } from "./seen-identities.ts";

const DELIMITERS = [",", ";", "\t"] as const;
const LINE_FEED = 0x0a;
/** The field that only one resource has at its top level. */
const OWN_COLUMN: Readonly<Record<Resource, string>> = {
  inventories: "occupancyDate",
  reservations: "reservationId",
  groups: "groupCode",
};
/** Two rows with equal values of these are one record. */
const IDENTITY = ["clientCode", "propertyCode", "key", "sourceTime"] as const;
const SHOWN_CHARACTERS_MAX = 128;

/** A step of a column's path: a field, or the number of an item of the list before it, from 1. */
type Step = string | number;

interface Column {
  readonly name: string;
  readonly at: number;
  readonly path: readonly Step[];
  readonly schema: FieldSchema;
  readonly isOfList: boolean;
  /** Its part of the identity. */
  readonly identity: (typeof IDENTITY)[number] | undefined;
}

interface Row {
  readonly cells: readonly string[];
  readonly line: number;
}

/** The line that Excel writes or reads before the header. */
const SEPARATOR_LINE = /^\uFEFF?sep=([,;\t])\r?\n/i;

/** Whether a file's first bytes have its whole header. */
export function hasHeader(head: Buffer): boolean {
  const { length } = SEPARATOR_LINE.exec(head.toString("utf8", 0, 16))?.[0] ?? "";
  return head.indexOf(LINE_FEED, length === 0 ? 0 : head.indexOf(LINE_FEED) + 1) >= 0;
}

/** The names of a CSV file's columns as in its line, and the delimiter. */
export interface CsvHeader {
  readonly names: string;
  readonly delimiter: string;
}

/** The header of a CSV file, if it is one: a file named so, or a text whose first line names a field that every record has. */
export function csvHeader(name: string, head: Buffer): CsvHeader | undefined {
  const text = head.toString("utf8");
  const [separatorLine = "", delimiter] = SEPARATOR_LINE.exec(text) ?? [];
  const [names = ""] = text
    .slice(separatorLine.length)
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/, 1);
  if (/^\s*[[{]/.test(names)) return undefined;
  const isCsv = /\.csv(\.gz)?$/i.test(name) || /(^|[,;\t"])clientCode($|[,;\t"])/.test(names);
  return isCsv ? { names, delimiter: delimiter ?? delimiterOf(names) } : undefined;
}

/** The resource that a header names by a field that only it has. */
export function csvResource(header: CsvHeader): Resource | undefined {
  const names = header.names.split(/[,;\t]/).map((name) => name.replace(/^"|"$/g, "").trim());
  return RESOURCES.find((resource) => names.includes(OWN_COLUMN[resource]));
}

/** The names of a resource's columns; with `isWhole` every field, otherwise the required ones and those that figures use. */
export function columnsOf(resource: Resource, isWhole: boolean): readonly string[] {
  return namesIn(RECORD_SCHEMAS[resource], "", isWhole);
}

/** Fields that the template has although no figure uses them. */
const IN_TEMPLATE: ReadonlySet<string> = new Set(["cancellationReason"]);
const OF_CANCELLED: ReadonlySet<string> = new Set(["cancellationDateTime", "cancellationReason"]);
/** Fields of some reservations only. */
const OF_SOME: ReadonlySet<string> = new Set([
  ...OF_CANCELLED,
  "shareId",
  "multiReservationId",
  "roomStays.groupBlockCode",
]);
const CANCELLED = new Map([
  ["reservationId", "R-48215"],
  ["confirmationNumber", ""],
  ["status", "CANCELLED"],
]);

/** The cells of example records: one, and of reservations also a cancelled one. */
export function examplesOf(resource: Resource, columns: readonly string[]): readonly (readonly string[])[] {
  const example = columns.map((name) => exampleOf(resource, name));
  if (resource !== "reservations") return [example];
  const cellsOf = (isCancelled: boolean) =>
    columns.map((name, at) => {
      const isLeftOut = OF_SOME.has(name) && !(isCancelled && OF_CANCELLED.has(name));
      const cell = isLeftOut ? "" : (example[at] as string);
      return isCancelled ? (CANCELLED.get(name) ?? cell) : cell;
    });
  return [cellsOf(false), cellsOf(true)];
}

/** The example of a column's field, as a cell. */
function exampleOf(resource: Resource, name: string): string {
  const { schema } = columnAt(resource, name, 0, new Map());
  return schema.example === undefined ? "" : String(schema.example);
}

function namesIn(
  { properties = {}, required = [] }: FieldSchema,
  prefix: string,
  isWhole: boolean,
): string[] {
  return Object.entries(properties).flatMap(([field, schema]) => {
    const name = `${prefix}${field}`;
    const inner = schema.items ?? schema;
    if (inner.properties !== undefined) return namesIn(inner, `${name}.`, isWhole);
    return isWhole || required.includes(field) || schema.notes?.fact !== undefined || IN_TEMPLATE.has(name)
      ? [name]
      : [];
  });
}

/**
 * Reads the rows of a CSV file as records, with at most one record in memory and fingerprints of the ones before. Throws UnreadableFile
 * with line and column.
 */
export async function* csvRecords(
  file: string,
  resource: Resource,
  { delimiter }: CsvHeader,
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<FileRecord, void, undefined> {
  const fail = (line: number, why: string, cause?: unknown): never => {
    throw new UnreadableFile(`${file} cannot be read: LINE ${line}: ${why}.`, { cause });
  };
  let columns: readonly Column[] | undefined;
  let building: CsvRecordBuilder | undefined;
  let place = 0;
  const seen = new SeenIdentities();
  for await (const row of rowsOf(source, delimiter, fail)) {
    if (columns === undefined) {
      columns = readHeader(resource, row, fail);
      continue;
    }
    if (building === undefined || !building.continues(row)) {
      if (building !== undefined) yield building.made();
      refuseScattered(resource, columns, row, building, seen, fail);
      building = new CsvRecordBuilder(columns, place, row);
      place += 1;
    }
    building.add(row, fail);
  }
  if (building !== undefined) yield building.made();
}

type Fail = (line: number, why: string, cause?: unknown) => never;

/**
 * Stops at a row of an earlier record with other rows between, as after a sort: its items would become a version of their own that replaces
 * the others. A file without lists has a record per row, and a row without its identity is invalid anyway.
 */
function refuseScattered(
  resource: Resource,
  columns: readonly Column[],
  row: Row,
  before: CsvRecordBuilder | undefined,
  seen: SeenIdentities,
  fail: Fail,
): void {
  if (!columns.some(({ isOfList }) => isOfList)) return;
  const own = columns.filter(({ identity }) => identity !== undefined);
  const values = own.map(({ at }) => row.cells[at] ?? "");
  if (values.includes("")) return;
  const line = seen.add(JSON.stringify(values), row.line);
  if (line === undefined || before === undefined) return;
  const named = (role: Column["identity"]) => own.find(({ identity }) => identity === role) as Column;
  const key = named("key");
  const differs = own.filter((column) => before.differsIn(column, row));
  // Rows sorted by the key may still alternate in the rest.
  const codes = differs.filter(({ identity }) => identity === "clientCode" || identity === "propertyCode");
  const others = codes.length > 0 || differs.includes(key) ? codes : differs;
  const sorted = [...others, key].sort((one, other) => own.indexOf(one) - own.indexOf(other));
  const names = sorted.map(({ name }) => name).join(", then by ");
  const shown = (row.cells[key.at] ?? "").slice(0, SHOWN_CHARACTERS_MAX);
  fail(
    row.line,
    `${oneOf(resource)} ${shown} also has rows at line ${line}, with other rows between. Sort the file by ${names}, or give the later version a newer ${named("sourceTime").name}`,
  );
}

/** The delimiter that the header has most of. */
function delimiterOf(header: string): string {
  const count = (delimiter: string) => header.split(delimiter).length;
  return [...DELIMITERS].sort((one, other) => count(other) - count(one))[0] as string;
}

async function* rowsOf(
  source: AsyncIterable<Uint8Array>,
  delimiter: string,
  fail: Fail,
): AsyncGenerator<Row, void, undefined> {
  const parser = parse({
    delimiter,
    bom: true,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: RECORD_BYTES_MAX,
  });
  // The parser passes an error of the source on.
  const feeding = pipeline(checkedText(source, fail), parser).catch(() => undefined);
  let expected: number | undefined;
  try {
    for await (const { record: cells, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      // The parser has read to the end of the row, whose quoted cells may have line breaks.
      const line = info.lines - cells.reduce((breaks, cell) => breaks + cell.split("\n").length - 1, 0);
      if (expected === undefined && cells.length === 2 && /^sep=$/i.test(cells[0] ?? "")) continue;
      expected ??= cells.length;
      if (cells.length !== expected)
        fail(
          line,
          `${cells.length} cells, but the header has ${expected}. Quote a cell that contains the delimiter "${delimiter}"`,
        );
      yield { cells, line };
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const { lines, column } = error as CsvError & { lines?: number; column?: unknown };
    const where = typeof column === "number" ? `cell ${column + 1}: ` : "";
    fail(lines ?? 1, `${where}${withoutLine(error.message)}`, error);
  } finally {
    parser.destroy();
    await feeding;
  }
}

/** The library's message up to the place that it ends with, which is reported before it. */
function withoutLine(message: string): string {
  const [text = ""] = message.split(/ (?:at|on) line [0-9]/, 1);
  return text.endsWith(":") ? text.slice(0, -1) : text;
}

const newDecoder = () => new TextDecoder("utf-8", { fatal: true });

/** The bytes of a source, as long as they are UTF-8. */
async function* checkedText(
  source: AsyncIterable<Uint8Array>,
  fail: Fail,
): AsyncGenerator<Uint8Array, void, undefined> {
  const why = "the text from here on is not UTF-8. Save the file as CSV UTF-8";
  const decoder = newDecoder();
  let line = 1;
  let tail: Uint8Array = Buffer.alloc(0);
  for await (const chunk of source) {
    try {
      decoder.decode(chunk, { stream: true });
    } catch (cause) {
      fail(line + linesBeforeFault(tail, chunk), why, cause);
    }
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, at + 1)) line += 1;
    tail = Buffer.concat([tail, chunk.subarray(-CHARACTER_BYTES_MAX + 1)]).subarray(-CHARACTER_BYTES_MAX + 1);
    yield chunk;
  }
  try {
    decoder.decode();
  } catch (cause) {
    fail(line, why, cause);
  }
}

const CHARACTER_BYTES_MAX = 4;

/** The line feeds of a chunk before its first wrong byte. `tail`: the last bytes before, where a character may begin. */
function linesBeforeFault(tail: Uint8Array, chunk: Uint8Array): number {
  const decoder = newDecoder();
  const begun = tail.findIndex((byte) => (byte & 0xc0) !== 0x80);
  decoder.decode(begun < 0 ? undefined : tail.subarray(begun), { stream: true });
  let lines = 0;
  let from = 0;
  for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
    try {
      decoder.decode(chunk.subarray(from, at + 1), { stream: true });
    } catch {
      break;
    }
    lines += 1;
    from = at + 1;
  }
  return lines;
}

function readHeader(resource: Resource, { cells, line }: Row, fail: Fail): readonly Column[] {
  const counts = new Map<string, number>();
  const columns = cells.flatMap((cell, at) => {
    const name = cell.trim();
    if (name === "") return [];
    try {
      return [columnAt(resource, name, at, counts)];
    } catch (error) {
      return fail(line, `column "${name}" ${(error as Error).message}`);
    }
  });
  const { properties = {}, required = [] } = RECORD_SCHEMAS[resource];
  const isScalar = (field: string) => properties[field]?.items === undefined;
  const missing = required.find((field) => isScalar(field) && !columns.some(({ name }) => name === field));
  if (missing !== undefined)
    fail(line, `there is no column "${missing}", which ${resource} require (bellhop template ${resource})`);
  return columns;
}

/** The path and schema of a column. `counts`: how often each name has occurred, because a repeated one belongs to the next item. */
function columnAt(resource: Resource, name: string, at: number, counts: Map<string, number>): Column {
  const occurrence = (counts.get(name) ?? 0) + 1;
  counts.set(name, occurrence);
  const path: Step[] = [];
  let schema: FieldSchema = RECORD_SCHEMAS[resource];
  const steps = name.split(".");
  let isOfList = false;
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    const { properties = {} } = schema;
    const field: FieldSchema | undefined = Object.hasOwn(properties, step) ? properties[step] : undefined;
    if (field === undefined) {
      const meant = meantColumn(resource, name);
      throw new Error(
        `names no field of ${resource}${meant === undefined ? "" : ` (did you mean ${meant}?)`}`,
      );
    }
    path.push(step);
    schema = field.items ?? field;
    if (field.items === undefined) continue;
    const isNumbered = /^[1-9][0-9]{0,5}$/.test(steps[0] ?? "");
    path.push(isNumbered ? Number(steps.shift()) : isOfList ? 1 : occurrence);
    isOfList = true;
  }
  if (schema.properties !== undefined)
    throw new Error(
      `is an object: name one of its fields, such as ${name}.${Object.keys(schema.properties)[0]}`,
    );
  if (occurrence > 1 && (!isOfList || /\.[1-9][0-9]*(\.|$)/.test(name))) throw new Error("occurs twice");
  const role = path.length === 1 ? schema.notes?.role : undefined;
  return { name, at, path, schema, isOfList, identity: IDENTITY.find((one) => one === role) };
}

const isNumber = (step: string) => /^[0-9]+$/.test(step);
const wordsOf = (name: string) => name.split(".").filter((step) => !isNumber(step));
const prefixOf = (name: string) => wordsOf(name).slice(0, -1).join("");

/** The column whose last part is nearest to that of an unknown name, and then its objects. Its numbers of items stay. */
function meantColumn(resource: Resource, name: string): string | undefined {
  const sought = wordsOf(name).at(-1) ?? "";
  const known = columnsOf(resource, true);
  const lastOf = (column: string) => wordsOf(column).at(-1) as string;
  // An object has few enough fields for one comparison, the record has not.
  const byObject = Object.values(Object.groupBy(known, prefixOf));
  const nearestOfEach = byObject.flatMap((columns = []) => nearest(sought, columns.map(lastOf)) ?? []);
  const last = nearest(sought, [...new Set(nearestOfEach)]);
  const found = known.filter((column) => lastOf(column) === last);
  const prefix = nearest(prefixOf(name), found.map(prefixOf));
  const meant = found.find((column) => prefixOf(column) === prefix) ?? found[0];
  if (meant === undefined || wordsOf(meant).length !== wordsOf(name).length) return meant;
  const words = wordsOf(meant);
  return name
    .split(".")
    .map((step) => (isNumber(step) ? step : words.shift()))
    .join(".");
}

type Container = Record<string, unknown> | unknown[];

/** Makes a record of the rows that have its identity: the first sets its fields, and each adds items to its lists. */
class CsvRecordBuilder {
  readonly #columns: readonly Column[];
  readonly #place: number;
  readonly #first: Row;
  readonly #record: Record<string, unknown> = {};
  readonly #cells = new Map<string, CellPlace>();
  readonly #hasLists: boolean;
  #size = 0;

  constructor(columns: readonly Column[], place: number, first: Row) {
    this.#columns = columns;
    this.#place = place;
    this.#first = first;
    this.#hasLists = columns.some(({ isOfList }) => isOfList);
  }

  /** Whether a row belongs to this record. */
  continues(row: Row): boolean {
    const isOther = (column: Column) => column.identity !== undefined && this.differsIn(column, row);
    return this.#hasLists && !this.#columns.some(isOther);
  }

  /** Whether a row has another cell in a column. */
  differsIn({ at }: Column, { cells }: Row): boolean {
    return cells[at] !== this.#first.cells[at];
  }

  add(row: Row, fail: Fail): void {
    const { cells, line } = row;
    const items = new Map<string, number>();
    for (const column of this.#columns) {
      const { at, name, path, isOfList } = column;
      const cell = cells[at] ?? "";
      if (cell === "") continue;
      if (!isOfList && row !== this.#first) {
        if (cell === this.#first.cells[at]) continue;
        fail(line, `column "${name}" differs from line ${this.#first.line} of the same record`);
      }
      this.#size += cell.length + name.length;
      if (this.#size > RECORD_BYTES_MAX) fail(line, "the record exceeds the limit of 8,388,608 bytes");
      const advice = spreadsheetAdvice(cell, column);
      const place = { line, column: name, ...(advice === undefined ? {} : { advice }) };
      this.#cells.set(this.#set(path, valueIn(cell, column), items), place);
    }
  }

  /** Sets the value at a path, and returns its pointer. `items`: the positions of the row's items by their numbers. */
  #set(path: readonly Step[], value: unknown, items: Map<string, number>): string {
    let pointer = "";
    let holder: Container = this.#record;
    for (const [at, step] of path.entries()) {
      let key = step;
      if (Array.isArray(holder)) {
        const item = `${pointer}#${step}`;
        key = items.get(item) ?? holder.length;
        items.set(item, key);
      }
      pointer += `/${key}`;
      const of = holder as Record<Step, unknown>;
      if (at === path.length - 1) of[key] = value;
      else of[key] ??= typeof path[at + 1] === "number" ? [] : {};
      holder = of[key] as Container;
    }
    return pointer;
  }

  made(): FileRecord {
    return new FileRecord(
      Buffer.from(JSON.stringify(this.#record)),
      this.#place,
      this.#first.line,
      this.#cells,
    );
  }
}

/** Numbers stay text, which the service reads exactly. */
function valueIn(cell: string, { schema: { fieldKind } }: Column): unknown {
  const isFlag = fieldKind === "boolean" || fieldKind === "flag-or-code";
  return isFlag && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === "true" : cell;
}

const DATE_PATTERNS = new Map<string | undefined, string>([
  ["date", "YYYY-MM-DD"],
  ["timestamp", "YYYY-MM-DDThh:mm:ssZ"],
]);
const LOCAL_DATE =
  /^([0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2})($|[ T,])/;
const NUMBER_CHARACTERS_MAX = 64;
const LOCAL_NUMBER = /^-?[0-9][0-9.\u00A0\u202F' ]*,[0-9]+$/;

/** How to write a date or a number that a spreadsheet has formatted, added to the message if it is invalid. */
function spreadsheetAdvice(cell: string, { schema: { fieldKind } }: Column): string | undefined {
  const excel = "(in Excel: format the column as text)";
  const pattern = DATE_PATTERNS.get(fieldKind);
  if (pattern !== undefined && LOCAL_DATE.test(cell)) return `write ${pattern} ${excel}`;
  const isNumber = fieldKind === "decimal" || fieldKind === "count" || fieldKind === "integer";
  return isNumber && cell.length <= NUMBER_CHARACTERS_MAX && LOCAL_NUMBER.test(cell)
    ? `write 129.00 with a point ${excel}`
    : undefined;
}
