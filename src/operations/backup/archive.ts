import { OperatorError } from "../../platform/errors/operator-error.ts";

/**
 * The container of a backup: a tar archive (POSIX.1-1988 `ustar`), so that any tar can list and extract it. Supports only regular files
 * with short names, each read into memory, so of limited size.
 */

const BLOCK_BYTES = 512;
const NAME_BYTES_MAX = 100;
/** A part of a table with compression overhead; larger entries are invalid. */
const ENTRY_BYTES_MAX = 8 * 1_048_576;

/** The file is not a complete, unmodified backup; the message names the fault. */
export class DamagedBackupError extends OperatorError {}

export interface ArchiveEntry {
  readonly name: string;
  readonly content: Buffer;
}

function checksumOf(header: Buffer): number {
  let sum = 0;
  // The checksum field itself counts as blanks.
  for (let at = 0; at < BLOCK_BYTES; at += 1) sum += at >= 148 && at < 156 ? 0x20 : (header[at] ?? 0);
  return sum;
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

const checksumField = (header: Buffer): string => `${octal(checksumOf(header), 6)}\0 `;

/** The bytes of an entry: header, content, and zeros to the next block. `atMs`: since 1970. */
export function entryBytes({ name, content }: ArchiveEntry, atMs: number): Buffer {
  if (Buffer.byteLength(name) > NAME_BYTES_MAX || content.length > ENTRY_BYTES_MAX)
    throw new RangeError(`The entry ${name} of ${content.length} bytes is too large for a backup.`);
  const bytes = Buffer.alloc(BLOCK_BYTES + Math.ceil(content.length / BLOCK_BYTES) * BLOCK_BYTES);
  bytes.write(name, 0);
  bytes.write(`${octal(0o600, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  bytes.write(`${octal(content.length, 11)}\0${octal(Math.floor(atMs / 1000), 11)}\0`, 124);
  bytes.write("0", 156);
  bytes.write("ustar\x0000", 257);
  bytes.write(checksumField(bytes), 148);
  content.copy(bytes, BLOCK_BYTES);
  return bytes;
}

/** The end of an archive: two blocks of zeros. */
export const ARCHIVE_END: Buffer = Buffer.alloc(2 * BLOCK_BYTES);

const SPACE = 0x20;

function readHeader(header: Buffer): { readonly name: string; readonly size: number } {
  const field = (from: number, to: number) => {
    let end = to;
    while (end > from && (header[end - 1] === 0 || header[end - 1] === SPACE)) end -= 1;
    return header.toString("latin1", from, end);
  };
  const size = field(124, 136);
  const isWhole =
    field(257, 262) === "ustar" &&
    header.toString("latin1", 148, 156) === checksumField(header) &&
    /^[0-7]{1,11}$/.test(size);
  if (!isWhole) throw new DamagedBackupError("it is not a Bellhop backup, or it is damaged.");
  const bytes = Number.parseInt(size, 8);
  const name = field(0, NAME_BYTES_MAX);
  if (bytes > ENTRY_BYTES_MAX) throw new DamagedBackupError(`its part ${name} is too large.`);
  return { name, size: bytes };
}

/** Source of an archive. As with a file, a read may return fewer bytes than requested, and returns 0 only at the end. */
export interface ArchiveSource {
  read(into: Buffer, offset: number, length: number): Promise<{ readonly bytesRead: number }>;
}

/** The next `length` bytes; fewer only at the end. */
async function take(source: ArchiveSource, length: number): Promise<Buffer> {
  const taken = Buffer.alloc(length);
  let held = 0;
  while (held < length) {
    const { bytesRead } = await source.read(taken, held, length - held);
    if (bytesRead === 0) break;
    held += bytesRead;
  }
  return taken.subarray(0, held);
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);

async function expectEnd(source: ArchiveSource): Promise<void> {
  const rest = await take(source, BLOCK_BYTES + 1);
  if (rest.length < BLOCK_BYTES) throw endsTooEarly();
  if (rest.length > BLOCK_BYTES || !isZero(rest)) throw new DamagedBackupError("it has data after its end.");
}

function endsTooEarly(): DamagedBackupError {
  return new DamagedBackupError("it is truncated.");
}

/**
 * Reads the entries of an archive in order. Throws DamagedBackupError if it is not an archive, is truncated, or contains unexpected bytes.
 */
export async function* readEntries(source: ArchiveSource): AsyncGenerator<ArchiveEntry> {
  for (;;) {
    const header = await take(source, BLOCK_BYTES);
    if (header.length < BLOCK_BYTES) throw endsTooEarly();
    if (isZero(header)) return await expectEnd(source);
    const { name, size } = readHeader(header);
    const content = await take(source, Math.ceil(size / BLOCK_BYTES) * BLOCK_BYTES);
    if (content.length < size) throw endsTooEarly();
    if (!isZero(content.subarray(size))) throw new DamagedBackupError(`it has data after its part ${name}.`);
    yield { name, content: content.subarray(0, size) };
  }
}
