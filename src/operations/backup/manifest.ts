import { createHash } from "node:crypto";
import type { StateDigest } from "../../apply/state/state-schema.ts";
import { DamagedBackupError } from "./archive.ts";
import type { TableDescription } from "./describe-tables.ts";
import { TABLE_CLASSES } from "./table-class.ts";

/** Raised when an older version could not read what is written. */
export const FORMAT = 1;

/** The entry that a backup begins with. */
export const HEADER_NAME = "backup.json";
/** The entry that it ends with: without it a backup is not whole. */
export const MANIFEST_NAME = "manifest.json";
/** Before the bytes of either: the SHA-256 of them, in hexadecimal, and a newline. */
const DIGEST_CHARACTERS = 65;

/** What a backup says before its tables. */
export interface BackupHeader {
  readonly format: number;
  /** The version of Bellhop that wrote it. */
  readonly version: string;
  /** Whatever was received before is in it, by the database's clock, ISO 8601: five minutes before the snapshot. */
  readonly takenAt: string;
  /** As the server names itself, such as `18.4`. */
  readonly postgres: string;
  /** The schema: the migrations that the database had, in order. */
  readonly migrations: readonly { readonly name: string; readonly checksum: string }[];
  /** Whether it holds the state too, or only what a replay makes it of. */
  readonly withState: boolean;
  /** In the order in which they follow and can be filled. */
  readonly tables: readonly TableDescription[];
}

/** What a table's rows come to: rows and bytes of its binary COPY, in how many parts, and the SHA-256 of all those bytes. */
export interface TableSum {
  readonly table: string;
  readonly rows: number;
  readonly bytes: number;
  readonly parts: number;
  readonly sha256: string;
}

/** Sums up the parts of a table as they pass. */
export class PartsSum {
  readonly #hash = createHash("sha256");
  parts = 0;
  #bytes = 0;

  add(part: Buffer): void {
    this.#hash.update(part);
    this.parts += 1;
    this.#bytes += part.length;
  }

  /** To be asked once all parts have passed. */
  of(table: string, rows: number): TableSum {
    return { table, rows, bytes: this.#bytes, parts: this.parts, sha256: this.#hash.digest("hex") };
  }
}

/** What a backup says after its tables. */
export interface BackupManifest {
  readonly headerSha256: string;
  readonly tables: readonly TableSum[];
  /** Of the live state, in the same snapshot. */
  readonly state: StateDigest;
}

export function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The name of the entry of a table's part; parts count from 1. */
export function partName(table: string, part: number): string {
  return `${table}/${String(part).padStart(6, "0")}.copy.zst`;
}

/** What a backup says of itself, as the content of an entry. */
export function withDigest(said: BackupHeader | BackupManifest): Buffer {
  const text = Buffer.from(`${JSON.stringify(said, null, 2)}\n`);
  return Buffer.concat([Buffer.from(`${sha256(text)}\n`), text]);
}

/** Reads it back. Throws DamagedBackupError where a byte of it is another. */
function openText(name: string, content: Buffer): unknown {
  const text = content.subarray(DIGEST_CHARACTERS);
  if (content.toString("latin1", 0, DIGEST_CHARACTERS) !== `${sha256(text)}\n`)
    throw new DamagedBackupError(`its ${name} is damaged.`);
  return JSON.parse(text.toString("utf8"));
}

/** Reads the entry that a backup ends with. Throws DamagedBackupError. */
export function readManifest(content: Buffer): BackupManifest {
  return openText(MANIFEST_NAME, content) as BackupManifest;
}

const NAME = /^[a-z0-9_]{1,63}$/;
const QUALIFIED_NAME = /^bellhop(_state)?\.[a-z0-9_]{1,63}$/;
/** A bound of one column, as PostgreSQL writes it: a UUID or an instant, or no bound. */
const BOUND = `(?:'[0-9A-Za-z:+. -]{1,64}'|MINVALUE|MAXVALUE)`;
const BOUNDS = new RegExp(String.raw`^FOR VALUES FROM \(${BOUND}\) TO \(${BOUND}\)$`);

/** Its names go into statements as they are, so they are names of ours or an error. */
function isTable({ table, columns, partitions }: TableDescription): boolean {
  return (
    Object.hasOwn(TABLE_CLASSES, table) &&
    columns.every((column) => NAME.test(column)) &&
    partitions.every(({ name, bounds }) => QUALIFIED_NAME.test(name) && BOUNDS.test(bounds))
  );
}

/** Reads the entry that a backup begins with. Throws DamagedBackupError for what is none, or of a later form. */
export function readHeader(content: Buffer): BackupHeader {
  const header = openText(HEADER_NAME, content) as BackupHeader;
  if (header.format !== FORMAT)
    throw new DamagedBackupError("it was written by a newer version of Bellhop: restore it with that one.");
  if (!header.tables.every(isTable))
    throw new DamagedBackupError("it has tables that this version of Bellhop does not know.");
  return header;
}
