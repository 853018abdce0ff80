import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { FaultName } from "./faults.ts";
import type { PackedDay } from "./packed-day.ts";
import { SIMULATED_RESOURCES, type SimulatedResource } from "./simulated-record.ts";
import type { SimulatedDay } from "./simulation.ts";

/** What was written or sent, added up. */
export interface SimulationCounts {
  days: number;
  /** By resource. */
  readonly records: Record<SimulatedResource, number>;
  readonly planted: Partial<Record<FaultName, number>>;
}

export function emptyCounts(): SimulationCounts {
  return { days: 0, records: { inventories: 0, groups: 0, reservations: 0 }, planted: {} };
}

/** Counts a day of which the records have been counted by resource. */
export function addDay(
  counts: SimulationCounts,
  { records, planted }: Pick<PackedDay, "records" | "planted">,
): void {
  counts.days += 1;
  for (const resource of SIMULATED_RESOURCES) counts.records[resource] += records[resource];
  for (const { fault } of planted) counts.planted[fault] = (counts.planted[fault] ?? 0) + 1;
}

function countDay(counts: SimulationCounts, { waves, planted }: SimulatedDay): void {
  const { records } = emptyCounts();
  for (const wave of waves) for (const { resource } of wave) records[resource] += 1;
  addDay(counts, { records, planted });
}

/** Takes bytes; settles when more may come. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>;

/** Lines are put together up to so many bytes: a write each record would take longer than making it. */
const BLOCK_BYTES = 262_144;
const LINE_FEED = Buffer.from("\n");

class LineWriter {
  readonly #write: WriteBytes;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  /** Adds a line of these pieces. Answers whether it is time to flush. */
  add(...pieces: readonly Uint8Array[]): boolean {
    for (const piece of pieces) {
      this.#pieces.push(piece);
      this.#bytes += piece.length;
    }
    this.#pieces.push(LINE_FEED);
    return this.#bytes > BLOCK_BYTES;
  }

  async flush(): Promise<void> {
    const block = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#bytes = 0;
    if (block.length > 0) await this.#write(block);
  }
}

/**
 * Writes what the hotels send as lines of JSON: the plain records of one resource, or of all of them as
 * `{"date":…,"wave":…,"resource":…,"record":…}`.
 */
export async function writeLines(
  days: Iterable<SimulatedDay>,
  resource: SimulatedResource | undefined,
  write: WriteBytes,
): Promise<SimulationCounts> {
  const counts = emptyCounts();
  const writer = new LineWriter(write);
  for (const day of days) {
    countDay(counts, day);
    for (const [wave, records] of day.waves.entries()) {
      for (const record of records) {
        if (resource !== undefined && resource !== record.resource) continue;
        const isBlock =
          resource === undefined
            ? writer.add(headOf(day.date, wave, record.resource), record.json, CLOSE)
            : writer.add(record.json);
        if (isBlock) await writer.flush();
      }
    }
  }
  await writer.flush();
  return counts;
}

const CLOSE = Buffer.from("}");

function headOf(date: string, wave: number, resource: SimulatedResource): Buffer {
  return Buffer.from(`{"date":"${date}","wave":${wave},"resource":"${resource}","record":`);
}

/**
 * Writes what the hotels send into a folder, as `bellhop send` takes it: `inventories.ndjson`, `groups.ndjson` and
 * `reservations.ndjson`, each in the order of sending, and what is wrong on purpose as `planted.ndjson`.
 */
export async function writeFolder(days: Iterable<SimulatedDay>, folder: string): Promise<SimulationCounts> {
  const counts = emptyCounts();
  await mkdir(folder, { recursive: true });
  const names = [...SIMULATED_RESOURCES, "planted"] as const;
  const files = await Promise.all(names.map((name) => open(join(folder, `${name}.ndjson`), "w")));
  try {
    const writers = files.map((file) => new LineWriter((bytes) => file.appendFile(bytes)));
    const writerOf = (name: (typeof names)[number]) => writers[names.indexOf(name)] as LineWriter;
    for (const day of days) {
      countDay(counts, day);
      for (const wave of day.waves)
        for (const { resource, json } of wave) {
          const writer = writerOf(resource);
          if (writer.add(json)) await writer.flush();
        }
      for (const planted of day.planted) writerOf("planted").add(Buffer.from(JSON.stringify(planted)));
    }
    await Promise.all(writers.map((writer) => writer.flush()));
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
  return counts;
}
