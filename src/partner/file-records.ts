import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { JsonRecord, type Resource, readRecords } from "#client";
import { checkRecord, readBatch } from "#contract/read-batch.ts";
import { RESOURCES } from "#contract/resource.ts";
import { pointerOf, type Violation } from "#contract/violation.ts";
import { UsageError } from "../platform/errors/operator-error.ts";

/** A record of a file and its position, from 0. */
export class FileRecord extends JsonRecord {
  declare readonly json: Uint8Array;
  readonly place: number;

  constructor(json: Uint8Array, place: number) {
    super(json);
    this.place = place;
  }
}

const OPEN = Buffer.from("[");
const CLOSE = Buffer.from("]");
const VIOLATIONS_MAX = 100;
const READ_BYTES = 262_144;
/** The default of a service (docs/contract.md, "Limits"). */
const DEPTH_MAX = 16;

/** The violation with the record's position in the file instead of in a single-record batch, which adds a bracket. */
function inFile({ pointer, code, message }: Violation, place: number): Violation {
  const moved = message
    .replace(/^Record 0 \(byte 1\)/, `Record ${place}`)
    .replace(
      /record 0, byte (\d+) of the body/,
      (_all, byte) => `record ${place}, byte ${Number(byte) - 1} of it`,
    );
  return { pointer: pointer.replace(/^\/0/, `/${place}`), code, message: moved };
}

/** Validates one record by the service's rules, offline. Pointers are as in a batch of the whole file. */
export function checkOffline(resource: Resource, json: Uint8Array, place: number) {
  const body = Buffer.concat([OPEN, json, CLOSE]);
  const reading = readBatch(body, { recordsMax: 1, depthMax: DEPTH_MAX }, resource);
  const [record] = reading.ok ? reading.records : [];
  if (record !== undefined) {
    const { violations, total } = checkRecord(resource, record, VIOLATIONS_MAX);
    return { violations: violations.map((one) => inFile(one, place)), total };
  }
  const { violations, message } = reading as Exclude<typeof reading, { ok: true }>;
  const [first] = violations;
  const found = first ?? { code: "json.syntax" as const, message };
  return { violations: [inFile({ ...found, pointer: pointerOf([0]) }, place)], total: 1 };
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
  const records = placed(readRecords(stream ?? process.stdin));
  const share = () => (stream === undefined || !size ? undefined : stream.bytesRead / size);
  const first = await records.next();
  if (first.done === true) return { resource: said ?? "reservations", records, share };
  const resource = said ?? resourceOf(first.value.json);
  if (resource !== undefined) return { resource, records: withFirst(first.value, records), share };
  await records.return();
  throw new UsageError(`The first record of ${file} does not identify its resource. Set --resource.`);
}

/** Throws UsageError if the file does not exist. */
export async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new UsageError(`File ${file} does not exist.`, { cause });
  });
  if (found.isDirectory()) throw new UsageError(`${file} is a directory, not a file.`);
  return found.size;
}

async function* placed(records: AsyncIterable<JsonRecord>): AsyncGenerator<FileRecord, void, undefined> {
  let place = 0;
  for await (const { json } of records) {
    yield new FileRecord(typeof json === "string" ? Buffer.from(json) : json, place);
    place += 1;
  }
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
