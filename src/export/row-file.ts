import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, renameSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { constants, zstdCompressSync } from "node:zlib";
import { ByteWriter, ParquetWriter } from "hyparquet-writer";
import { csvCell, quotedCell } from "#contract/csv-cell.ts";
import { createOwnFile, refuseLink } from "../platform/runtime/own-files.ts";
import { type Batch, type Column, type ColumnType, plainValue, type Value } from "./columns.ts";

export const FORMATS = ["parquet", "csv", "ndjson"] as const;
export type Format = (typeof FORMATS)[number];

/** A finished file as the manifest lists it. */
export interface ExportedFile {
  readonly table: string;
  /** Relative to the manifest. */
  readonly path: string;
  readonly rows: number;
  readonly bytes: number;
  readonly sha256: string;
}

/** Encodes rows as bytes. */
interface Encoder {
  encode(batch: Batch): Uint8Array;
  /** The bytes after the last row. */
  end(): Uint8Array;
}

type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]["schema"][number];

const PARQUET_TYPES: Readonly<Record<ColumnType, Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8", logical_type: { type: "STRING" } },
  boolean: { type: "BOOLEAN" },
  integer: { type: "INT32" },
  date: { type: "INT32", converted_type: "DATE", logical_type: { type: "DATE" } },
  timestamp: {
    type: "INT64",
    converted_type: "TIMESTAMP_MICROS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
  },
  amount: {
    type: "INT64",
    converted_type: "DECIMAL",
    logical_type: { type: "DECIMAL", precision: 18, scale: 4 },
    precision: 18,
    scale: 4,
  },
};

/** Microseconds since 1970 of `2026-01-31T12:00:00.123456Z`. */
function microseconds(time: string): bigint {
  return BigInt(Date.parse(`${time.slice(0, 23)}Z`)) * 1_000n + BigInt(time.slice(23, 26));
}

function parquetValues(type: ColumnType, values: readonly Value[]): (Value | bigint)[] {
  if (type === "timestamp")
    return values.map((value) => (typeof value === "string" ? microseconds(value) : null));
  if (type === "amount") return values.map((value) => (typeof value === "number" ? BigInt(value) : null));
  return values as Value[];
}

/** Readers skip row groups by these columns. Statistics of every column would double the time to write a file. */
const hasStatistics = ({ name, type }: Column): boolean =>
  type === "date" || type === "timestamp" || name === "client_code" || name === "property_code";

const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

class ParquetEncoder implements Encoder {
  readonly #columns: readonly Column[];
  readonly #bytes = new ByteWriter();
  readonly #parquet: ParquetWriter;

  constructor(columns: readonly Column[]) {
    this.#columns = columns;
    const elements = columns.map(
      ({ name, type, isNullable }): SchemaElement => ({
        name,
        repetition_type: isNullable ? "OPTIONAL" : "REQUIRED",
        ...PARQUET_TYPES[type],
      }),
    );
    this.#parquet = new ParquetWriter({
      writer: this.#bytes,
      schema: [{ name: "root", num_children: columns.length }, ...elements],
      codec: "ZSTD",
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, ZSTD) },
      createdBy: "bellhop",
    });
  }

  encode({ values, rows }: Batch): Uint8Array {
    const columnData = this.#columns.map((column, at) => ({
      name: column.name,
      data: parquetValues(column.type, values[at] ?? []),
      statistics: hasStatistics(column),
    }));
    this.#parquet.write({ columnData, rowGroupSize: rows });
    return this.#taken();
  }

  end(): Uint8Array {
    this.#parquet.finish();
    return this.#taken();
  }

  /** The bytes written since the last call. Offsets within the file continue. */
  #taken(): Uint8Array {
    const bytes = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    return bytes;
  }
}

/** A text file with one line per row. */
class LineEncoder implements Encoder {
  readonly #line: (values: readonly Value[]) => string;
  readonly #columns: readonly Column[];
  #head: string;

  constructor(columns: readonly Column[], head: string, line: (values: readonly Value[]) => string) {
    this.#columns = columns;
    this.#head = head;
    this.#line = line;
  }

  encode({ values, rows }: Batch): Uint8Array {
    let text = this.#head;
    this.#head = "";
    for (let row = 0; row < rows; row += 1)
      text += this.#line(this.#columns.map(({ type }, at) => plainValue(type, values[at]?.[row] ?? null)));
    return Buffer.from(text);
  }

  end(): Uint8Array {
    return Buffer.alloc(0);
  }
}

/** Quotes an empty string, because an empty field is null. */
function csvField(value: Value): string {
  if (value === "") return quotedCell(value);
  return value === null ? "" : csvCell(String(value));
}

const csvLine = (values: readonly Value[]): string => `${values.map(csvField).join()}\n`;

/** Formats rows as JSON. A record's content is inserted verbatim, except that line breaks between its tokens become spaces. */
function jsonLine(columns: readonly Column[]): (values: readonly Value[]) => string {
  const names = columns.map(({ name }) => JSON.stringify(name));
  const at = columns.findIndex(({ name }) => name === "content");
  return (values) => {
    const members = values.map(
      (value, place) =>
        `${names[place]}:${place === at ? String(value).replaceAll(/[\r\n]/g, " ") : JSON.stringify(value)}`,
    );
    return `{${members.join()}}\n`;
  };
}

function encoderOf(format: Format, columns: readonly Column[]): Encoder {
  if (format === "parquet") return new ParquetEncoder(columns);
  if (format === "csv") return new LineEncoder(columns, csvLine(columns.map(({ name }) => name)), csvLine);
  return new LineEncoder(columns, "", jsonLine(columns));
}

/** Suffix of incomplete files. */
const PARTIAL = ".partial";

/** A file of one table. Written synchronously, so that no rows are read meanwhile; it gets its name once it is complete and on disk. */
export class RowFile {
  readonly #directory: string;
  readonly #named: Pick<ExportedFile, "table" | "path">;
  readonly #encoder: Encoder;
  readonly #hash = createHash("sha256");
  readonly #file: number;
  #rows = 0;
  #bytes = 0;

  constructor(
    directory: string,
    format: Format,
    columns: readonly Column[],
    named: Pick<ExportedFile, "table" | "path">,
  ) {
    this.#directory = directory;
    this.#named = named;
    this.#encoder = encoderOf(format, columns);
    const folder = dirname(this.#path);
    for (const place of [dirname(folder), folder]) refuseLink(place);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#file = createOwnFile(`${this.#path}${PARTIAL}`);
  }

  get rows(): number {
    return this.#rows;
  }

  get #path(): string {
    return join(this.#directory, this.#named.path);
  }

  write(batch: Batch): void {
    this.#rows += batch.rows;
    this.#add(this.#encoder.encode(batch));
  }

  finish(): ExportedFile {
    this.#add(this.#encoder.end());
    fsyncSync(this.#file);
    closeSync(this.#file);
    renameSync(`${this.#path}${PARTIAL}`, this.#path);
    return { ...this.#named, rows: this.#rows, bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  #add(bytes: Uint8Array): void {
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
  }
}
