import { open } from "node:fs/promises";
import { isDeepStrictEqual, promisify } from "node:util";
import { zstdDecompress } from "node:zlib";
import type { ShowStep } from "../../cli/progress.ts";
import { readCopiedRows } from "../../platform/db/copy.ts";
import { OperatorError } from "../../platform/errors/operator-error.ts";
import { type ArchiveEntry, type ArchiveSource, DamagedBackupError, readEntries } from "./archive.ts";
import type { TableDescription } from "./describe-tables.ts";
import { PART_BYTES } from "./fill-tables.ts";
import {
  type BackupHeader,
  type BackupManifest,
  HEADER_NAME,
  MANIFEST_NAME,
  PartsSum,
  partName,
  readHeader,
  readManifest,
  sha256,
} from "./manifest.ts";

const inflate = promisify(zstdDecompress) as (
  bytes: Buffer,
  options: { maxOutputLength: number },
) => Promise<Buffer>;

/** Header and manifest of a backup. */
export interface BackupContent {
  readonly header: BackupHeader;
  readonly manifest: BackupManifest;
}

/** Receives the tables of a backup in order. */
export interface BackupReader {
  /** Called before any table. */
  begin?(header: BackupHeader): Promise<void>;
  /** Reads all parts of a table; returns the number of rows, or undefined if unknown. `share`: the fraction of the backup read, 0 to 1. */
  table(
    description: TableDescription,
    parts: AsyncIterable<Buffer>,
    share: () => number,
  ): Promise<number | undefined>;
}

class Entries {
  readonly #source: AsyncIterator<ArchiveEntry>;
  #next: ArchiveEntry | undefined;

  constructor(source: AsyncIterable<ArchiveEntry>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async peek(): Promise<ArchiveEntry | undefined> {
    if (this.#next === undefined) {
      const { value, done } = await this.#source.next();
      if (done !== true) this.#next = value;
    }
    return this.#next;
  }

  async take(name: string): Promise<Buffer> {
    const entry = await this.peek();
    if (entry?.name !== name)
      throw new DamagedBackupError(
        `it is incomplete: instead of ${name} it has ${entry?.name ?? "its end"}.`,
      );
    this.#next = undefined;
    return entry.content;
  }
}

/** The parts of one table, added to its sum. */
async function* partsOf(table: string, entries: Entries, sum: PartsSum): AsyncGenerator<Buffer> {
  for (;;) {
    const name = partName(table, sum.parts + 1);
    if ((await entries.peek())?.name !== name) return;
    const content = await entries.take(name);
    const part = await inflate(content, { maxOutputLength: PART_BYTES }).catch((cause: unknown) => {
      throw new DamagedBackupError(`its part ${name} is damaged.`, { cause });
    });
    sum.add(part);
    yield part;
  }
}

async function readArchive(
  source: ArchiveSource,
  reader: BackupReader,
  share: () => number,
): Promise<BackupContent> {
  const entries = new Entries(readEntries(source));
  const headerText = await entries.take(HEADER_NAME);
  const header = readHeader(headerText);
  await reader.begin?.(header);
  const found: { readonly table: string; readonly sum: PartsSum; readonly rows: number | undefined }[] = [];
  for (const description of header.tables) {
    const { table } = description;
    const sum = new PartsSum();
    found.push({ table, sum, rows: await reader.table(description, partsOf(table, entries, sum), share) });
  }
  const manifest = readManifest(await entries.take(MANIFEST_NAME));
  if ((await entries.peek()) !== undefined) throw new DamagedBackupError("it has data after its end.");
  if (manifest.headerSha256 !== sha256(headerText))
    throw new DamagedBackupError("its first entry was changed.");
  if (manifest.tables.length !== found.length)
    throw new DamagedBackupError("its manifest lists other tables.");
  for (const [at, { table, sum, rows }] of found.entries()) {
    const said = manifest.tables[at];
    if (said === undefined || !isDeepStrictEqual(sum.of(table, rows ?? said.rows), said))
      throw new DamagedBackupError(`the rows of ${table} were changed.`);
  }
  return { header, manifest };
}

/**
 * Reads a backup once and compares everything with its manifest. Throws DamagedBackupError if it is incomplete or modified (the reader may
 * have received some tables by then), and OperatorError if the file cannot be read.
 */
export async function readBackup(path: string, reader: BackupReader): Promise<BackupContent> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    let done = 0;
    const source: ArchiveSource = {
      async read(into, offset, length) {
        const { bytesRead } = await file.read(into, offset, length);
        done += bytesRead;
        return { bytesRead };
      },
    };
    return await readArchive(source, reader, () => done / size);
  } catch (error) {
    if (error instanceof DamagedBackupError)
      throw new DamagedBackupError(`${path} cannot be used: ${error.message}`, { cause: error });
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === "open" || syscall === "read")
      throw new OperatorError(`${path} cannot be read (${code}).`, { cause: error });
    throw error;
  }
}

/** A row of binary COPY, by column. */
export type CopiedRow = Readonly<Record<string, Buffer | null>>;

/** Reads and checks a whole backup. Returns the rows of the tables `kept`, which must be small. Throws DamagedBackupError. */
export async function verifyBackup(
  path: string,
  onStep?: ShowStep,
  kept: readonly string[] = [],
): Promise<BackupContent & { readonly rows: ReadonlyMap<string, readonly CopiedRow[]> }> {
  const rows = new Map<string, readonly CopiedRow[]>();
  const content = await readBackup(path, {
    async table({ table, columns }, parts, share) {
      onStep?.(`checking ${table}`, share);
      const copied: Buffer[] = [];
      for await (const part of parts) if (kept.includes(table)) copied.push(part);
      if (kept.includes(table))
        rows.set(
          table,
          readCopiedRows(Buffer.concat(copied)).map((values) =>
            Object.fromEntries(columns.map((column, at) => [column, values[at] ?? null])),
          ),
        );
      return undefined;
    },
  });
  return { ...content, rows };
}
