import { createHash } from "node:crypto";
import type { StateDigest } from "../../apply/state/state-schema.ts";
import { DamagedBackupError } from "./archive.ts";
import type { TableDescription } from "./describe-tables.ts";
import { TABLE_CLASSES } from "./table-class.ts";

/** Raised when older versions cannot read the format. */
export const FORMAT = 1;

/** Name of the first entry. */
export const HEADER_NAME = "backup.json";
/** Name of the last entry; a backup without it is incomplete. */
export const MANIFEST_NAME = "manifest.json";
/** Both start with the SHA-256 of their remaining bytes in hexadecimal and a newline. */
const DIGEST_CHARACTERS = 65;

/** First entry of a backup. */
export interface BackupHeader {
  readonly format: number;
  /** The Bellhop version that wrote it. */
  readonly version: string;
  /** The backup contains everything received before, by the database's clock, ISO 8601: five minutes before the snapshot. */
  readonly takenAt: string;
  /** The server's version, such as `18.4`. */
  readonly postgres: string;
  /** The database's migrations, in order. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  /** Whether it contains the state, or only its source. */
  readonly withState: boolean;
  /** In the order of the entries, which satisfies foreign keys. */
  readonly tables: readonly TableDescription[];
}

/** Rows, bytes and parts of a table's binary COPY, and the SHA-256 of all bytes. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  readonly bytes: number;
  readonly parts: number;
  readonly sha256: string;
}

/** Sums the parts of a table. */
export class PartsSum {
  readonly #hash = createHash("sha256");
  parts = 0;
  #bytes = 0;

  add(part: Buffer): void {
    this.#hash.update(part);
    this.parts += 1;
    this.#bytes += part.length;
  }

  /** Returns the sum after all parts. */
  of(table: string, rows: number): TableSum {
    return { table, rows, bytes: this.#bytes, parts: this.parts, sha256: this.#hash.digest("hex") };
  }
}

/** Last entry of a backup. */
export interface BackupManifest {
  readonly headerSha256: string;
  readonly tables: readonly TableSum[];
  /** Digest of the live state in the same snapshot. */
  readonly state: StateDigest;
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Entry name of a table's part, counted from 1. */
export function partName(table: string, part: number): string {
  return `${table}/${String(part).padStart(6, "0")}.copy.zst`;
}

/** The content of the header or manifest entry. */
export function withDigest(said: BackupHeader | BackupManifest): Buffer {
  const text = Buffer.from(`${JSON.stringify(said, null, 2)}\n`);
  return Buffer.concat([Buffer.from(`${sha256(text)}\n`), text]);
}

/** The inverse of `withDigest`. Throws DamagedBackupError if the digest differs. */
function openText(name: string, content: Buffer): unknown {
  const text = content.subarray(DIGEST_CHARACTERS);
  if (content.toString("latin1", 0, DIGEST_CHARACTERS) !== `${sha256(text)}\n`)
    throw new DamagedBackupError(`its ${name} is damaged.`);
  return JSON.parse(text.toString("utf8"));
}

export function readManifest(content: Buffer): BackupManifest {
  return openText(MANIFEST_NAME, content) as BackupManifest;
}

const NAME = /^[a-z0-9_]{1,63}$/;
const QUALIFIED_NAME = /^bellhop(_state)?\.[a-z0-9_]{1,63}$/;
/** A bound of one column as PostgreSQL writes it: a UUID, a timestamp, or unbounded. */
const BOUND = `(?:'[0-9A-Za-z:+. -]{1,64}'|MINVALUE|MAXVALUE)`;
const BOUNDS = new RegExp(String.raw`^FOR VALUES FROM \(${BOUND}\) TO \(${BOUND}\)$`);

/** Names and bounds are inserted into statements, so only known forms are accepted. */
function isTable({ table, columns, partitions }: TableDescription): boolean {
  return (
    Object.hasOwn(TABLE_CLASSES, table) &&
    columns.every((column) => NAME.test(column)) &&
    partitions.every(({ name, bounds }) => QUALIFIED_NAME.test(name) && BOUNDS.test(bounds))
  );
}

/** Parses the header. Throws DamagedBackupError if it is invalid or has a newer format. */
export function readHeader(content: Buffer): BackupHeader {
  const header = openText(HEADER_NAME, content) as BackupHeader;
  if (header.format !== FORMAT)
    throw new DamagedBackupError("it was written by a newer version of Bellhop: restore it with that one.");
  if (!header.tables.every(isTable))
    throw new DamagedBackupError("it has tables that this version of Bellhop does not know.");
  return header;
}
