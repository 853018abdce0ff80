import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { BellhopError, type JsonRecord, type Resource, readRecords } from "#client";
import { unpacked } from "#client/read-records.ts";
import { checkRecord } from "#contract/check-record.ts";
import { readBatch } from "#contract/read-batch.ts";
import { readRecord } from "#contract/read-record.ts";
import { RESOURCES } from "#contract/resource.ts";
import { pointerOf, type Violation } from "#contract/violation.ts";
import type { Warning } from "#contract/warnings.ts";
import { UsageError } from "../platform/errors/operator-error.ts";
import { csvHeader, csvRecords, csvResource, hasHeader } from "./csv-records.ts";
import { FileRecord, UnreadableFile } from "./file-record.ts";

/** A violation of a record of a file, the line that it is on, and the column of a CSV file. */
export interface FileViolation extends Violation {
  readonly line: number;
  readonly column?: string;
}

const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const VIOLATIONS_MAX = 100;
const READ_BYTES = 262_144;
/** The default of a service (docs/contract.md, "Limits"). */
const DEPTH_MAX = 16;

/** The violation with the record's position in the file instead of in a single-record batch, which adds a bracket. */
function inFile({ pointer, code, message }: Violation, record: FileRecord): FileViolation {
  const { place } = record;
  const moved = message
    .replace(/^Record 0 \(byte 1\)/, `Record ${place}`)
    .replace(
      /record 0, byte (\d+) of the body/,
      (_all, byte) => `record ${place}, byte ${Number(byte) - 1} of it`,
    );
  const own = pointer.replace(/^\/0/, "");
  const { line, column } = record.locate(own);
  const where = column === undefined ? { line } : { line, column };
  return { pointer: `/${place}${own}`, code, message: record.advised(own, moved), ...where };
}

/** Where a record stops being JSON, and why: the byte, from 0, from the service's message about a batch that adds a bracket. */
function syntaxFault(json: Uint8Array, message: string): { readonly at: number; readonly why: string } {
  const [, ended] = /ends inside record 0, at byte (\d+)/.exec(message) ?? [];
  if (ended !== undefined) return { at: json.length, why: "the JSON ends too early" };
  const [, byte, expected] = /at (?:record 0, )?byte (\d+)(?: of the body)?, (.*)$/s.exec(message) ?? [];
  if (byte !== undefined) return { at: Number(byte) - 1, why: expected?.replace(/\.$/, "") ?? message };
  // Only a second record remains: a line may have one.
  const isCommaLast = json.at(-1) === COMMA;
  const why = isCommaLast
    ? "the record is followed by a comma, which NDJSON does not have: remove it, or put all records into [ ]"
    : "more than one record on a line: give each a line of its own, or put all records into [ ]";
  return { at: json.length - 1, why };
}

/** The violation of a record that is not JSON, by the line and byte where it stops being it. */
function notJson(
  code: Violation["code"],
  message: string,
  { json, place, line: first }: FileRecord,
): FileViolation {
  const { at, why } = syntaxFault(json, message);
  let line = first;
  for (const byte of json.subarray(0, at)) if (byte === LINE_FEED) line += 1;
  // A file that begins with a brace has a record per line; one record over several lines begins like this.
  const isOpenLine = at === json.length && json.length === 1;
  const hint = isOpenLine ? ": one record per line (NDJSON), or put the records into [ ]" : "";
  return {
    pointer: pointerOf([place]),
    code,
    message: `LINE ${line}: ${why} (byte ${at} of the record)${hint}`,
    line,
  };
}

/** Validates one record by the service's rules, offline. Pointers are as in a batch of the whole file. */
export function checkOffline(
  resource: Resource,
  given: FileRecord,
): { readonly violations: readonly FileViolation[]; readonly total: number } {
  const body = Buffer.concat([OPEN, given.json, CLOSE]);
  const reading = readBatch(body, { recordsMax: 1, depthMax: DEPTH_MAX }, resource);
  const [record] = reading.ok ? reading.records : [];
  if (record !== undefined) {
    const { violations, total } = checkRecord(resource, record, VIOLATIONS_MAX);
    return { violations: violations.map((one) => inFile(one, given)), total };
  }
  const { violations, message } = reading as Exclude<typeof reading, { ok: true }>;
  const [first] = violations;
  const isSyntax = first === undefined || first.code === "json.syntax";
  const found = isSyntax
    ? notJson("json.syntax", first?.message ?? message, given)
    : inFile({ ...first, pointer: pointerOf([0]) }, given);
  return { violations: [found], total: 1 };
}

/** The warnings that a valid record gets from its bytes alone. Those about statuses and room types depend on the service. */
export function warningsOffline(resource: Resource, { json }: FileRecord): readonly Warning[] {
  return readRecord(resource, Buffer.from(json)).content().warnings.list();
}

/** The resource of a record, by a field that only it has; undefined if there is none, or several. */
function resourceOf(json: Uint8Array): Resource | undefined {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(json).toString("utf8"));
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const own = RESOURCES.filter((resource) => Object.hasOwn(value, OWN_FIELD[resource]));
  return own.length === 1 ? own[0] : undefined;
}

const OWN_FIELD: Readonly<Record<Resource, string>> = {
  inventories: "roomTypeInventories",
  reservations: "reservationId",
  groups: "groupCode",
};

export interface OpenedFile {
  readonly resource: Resource;
  readonly records: AsyncGenerator<FileRecord, void, undefined>;
  /** The fraction read, 0 to 1; undefined for a stream. */
  share(): number | undefined;
}

/**
 * The records of a file (`-` is standard input) with positions, and their resource: `said`, or that of the first record. Throws UsageError
 * if the file does not exist or the resource cannot be determined.
 */
export async function openFile(file: string, said: Resource | undefined): Promise<OpenedFile> {
  const size = file === "-" ? undefined : await sizeOf(file);
  const stream = file === "-" ? undefined : createReadStream(file, { highWaterMark: READ_BYTES });
  const { records, named } = await opened(file, stream ?? process.stdin, said);
  const share = () => (stream === undefined || !size ? undefined : stream.bytesRead / size);
  const first = await records.next();
  if (first.done === true)
    throw new UnreadableFile(`${nameOf(file)} has no records: the service refuses an empty batch.`);
  const resource = said ?? named ?? resourceOf(first.value.json);
  if (resource !== undefined) return { resource, records: withFirst(first.value, records), share };
  await records.return();
  const { violations } = checkOffline("reservations", first.value);
  const [fault] = violations.filter(({ code }) => code === "json.syntax");
  if (fault !== undefined) throw new UnreadableFile(`${nameOf(file)} cannot be read: ${fault.message}.`);
  throw new UsageError(`The first record of ${file} does not identify its resource. Set --resource.`);
}

/** Bytes read at most to distinguish CSV from JSON by the first line. */
const HEAD_BYTES_MAX = 65_536;

/** The records of a file by its first bytes: CSV, JSON or NDJSON. `named`: the resource that a CSV header names. */
async function opened(
  file: string,
  source: AsyncIterable<Uint8Array>,
  said: Resource | undefined,
): Promise<{ records: AsyncGenerator<FileRecord, void, undefined>; named: Resource | undefined }> {
  const bytes = unpacked(source);
  let head = Buffer.alloc(0);
  try {
    while (head.length < HEAD_BYTES_MAX && !hasHeader(head)) {
      const { done, value } = await bytes.next();
      if (done === true) break;
      head = Buffer.concat([head, value]);
    }
  } catch (cause) {
    throw unreadable(file, cause);
  }
  const whole = (async function* () {
    try {
      yield head;
      yield* bytes;
    } finally {
      await bytes.return();
    }
  })();
  const header = csvHeader(file, head);
  if (header === undefined) return { records: placed(file, readRecords(whole)), named: undefined };
  const named = said ?? csvResource(header);
  if (named !== undefined) return { records: csvRecords(nameOf(file), named, header, whole), named };
  await whole.return();
  throw new UnreadableFile(
    `${nameOf(file)} cannot be read: LINE 1: no column is named reservationId, occupancyDate or groupCode. The first line names the fields: see bellhop template.`,
  );
}

/** Throws UsageError if the file does not exist. */
export async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new UsageError(`File ${file} does not exist.`, { cause });
  });
  if (found.isDirectory()) throw new UsageError(`${file} is a directory, not a file.`);
  return found.size;
}

const nameOf = (file: string) => (file === "-" ? "Standard input" : file);

async function* placed(
  file: string,
  records: AsyncIterable<JsonRecord>,
): AsyncGenerator<FileRecord, void, undefined> {
  let place = 0;
  try {
    for await (const { json, line = 1 } of records) {
      yield new FileRecord(typeof json === "string" ? Buffer.from(json) : json, place, line);
      place += 1;
    }
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

/** The error of a file that the client cannot read; another error as it is. */
function unreadable(file: string, cause: unknown): unknown {
  if (!(cause instanceof BellhopError) || cause.exception !== "client.UnreadableInput") return cause;
  const why = cause.message.replace(/^The input cannot be read: /, "");
  return new UnreadableFile(`${nameOf(file)} cannot be read: ${why}`, { cause });
}

async function* withFirst(
  first: FileRecord,
  rest: AsyncGenerator<FileRecord, void, undefined>,
): AsyncGenerator<FileRecord, void, undefined> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return();
  }
}
