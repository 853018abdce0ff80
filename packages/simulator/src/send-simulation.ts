import { open } from "node:fs/promises";
import { join } from "node:path";
import { type BellhopClient, JsonBatch, SendError, type SendReport } from "../../client/src/index.ts";
import type { FaultName } from "./faults.ts";
import { Pace } from "./pace.ts";
import type { PackedBatch, PackedDay } from "./packed-day.ts";
import { SIMULATED_RESOURCES, type SimulatedResource } from "./simulated-record.ts";
import type { SimulatedDay } from "./simulation.ts";

export interface SimulationCounts {
  days: number;
  readonly records: Record<SimulatedResource, number>;
  readonly planted: Partial<Record<FaultName, number>>;
}

function emptyCounts(): SimulationCounts {
  return { days: 0, records: { inventories: 0, groups: 0, reservations: 0 }, planted: {} };
}

function addDay(
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

type WriteBytes = (bytes: Uint8Array) => Promise<void>;

/** Writes lines in blocks: one write per record takes longer than creating it. */
const BLOCK_BYTES = 262_144;
const LINE_FEED = Buffer.from("\n");

class LineWriter {
  readonly #write: WriteBytes;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(write: WriteBytes) {
    this.#write = write;
  }

  /** Returns true once the block must be flushed. */
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

/** Writes NDJSON: the records of one resource, or `{"date":…,"wave":…,"resource":…,"record":…}` for all. */
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

/** Writes one NDJSON file per resource, as input of `bellhop send`, and `planted.ndjson`, into an existing folder. */
export async function writeFolder(days: Iterable<SimulatedDay>, folder: string): Promise<SimulationCounts> {
  const counts = emptyCounts();
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

interface SimulationSendOptions {
  /** Concurrent requests of one resource. */
  readonly concurrency: number;
  /** Simulated seconds per second; undefined: as fast as possible. */
  readonly speed: number | undefined;
  /** Waits until every batch is applied and sums the outcomes. */
  readonly waitForOutcomes: boolean;
  /** Sends invalid records for the service to reject one by one. */
  readonly lenient: boolean;
  readonly signal?: AbortSignal;
  /** Called after every day. */
  readonly onDay?: (sent: SentSimulation, day: PackedDay) => void;
}

export interface SentSimulation extends SimulationCounts {
  batches: number;
  accepted: number;
  rejected: number;
  quarantined: number;
  retries: number;
  readonly outcomes: Record<string, number>;
  elapsedMs: number;
}

export class SimulationCutShort extends Error {
  override readonly name = "SimulationCutShort";
  readonly sent: SentSimulation;

  constructor(cause: unknown, sent: SentSimulation) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.sent = sent;
  }
}

/** Sends days and waves in order while the next day is prepared. Rejects with SimulationCutShort. */
export async function sendSimulation(
  days: AsyncIterable<PackedDay>,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
): Promise<SentSimulation> {
  const sent: SentSimulation = {
    ...emptyCounts(),
    batches: 0,
    accepted: 0,
    rejected: 0,
    quarantined: 0,
    retries: 0,
    outcomes: {},
    elapsedMs: 0,
  };
  const pace = options.speed === undefined ? undefined : new Pace(options.speed, options.signal);
  let startedAtMs: number | undefined;
  let before: Promise<void> = Promise.resolve();
  try {
    for await (const day of days) {
      startedAtMs ??= performance.now();
      const since = startedAtMs;
      await before;
      before = sendDay(day, bellhop, options, pace, sent).then(() => {
        sent.elapsedMs = performance.now() - since;
        options.onDay?.(sent, day);
      });
      // Awaited again in the next iteration or at the end.
      before.catch(() => undefined);
    }
    await before;
    return sent;
  } catch (cause) {
    // Includes requests in progress.
    await before.catch(() => undefined);
    sent.elapsedMs = performance.now() - (startedAtMs ?? performance.now());
    throw new SimulationCutShort(cause, sent);
  }
}

async function sendDay(
  day: PackedDay,
  bellhop: BellhopClient,
  options: SimulationSendOptions,
  pace: Pace | undefined,
  sent: SentSimulation,
): Promise<void> {
  for (const wave of day.waves) {
    for await (const parts of pace === undefined ? [wave] : pace.due(wave))
      await sendBatches(
        parts.flatMap(({ batches }) => batches),
        bellhop,
        options,
        sent,
      );
  }
  addDay(sent, day);
}

async function sendBatches(
  batches: readonly PackedBatch[],
  bellhop: BellhopClient,
  { concurrency, waitForOutcomes, lenient, signal }: SimulationSendOptions,
  sent: SentSimulation,
): Promise<void> {
  const reports = SIMULATED_RESOURCES.map((resource) => {
    const own = batches.filter((batch) => batch.resource === resource);
    if (own.length === 0) return undefined;
    const bodies = own.map(({ body, records }) => new JsonBatch(body, records));
    return bellhop[resource].send(bodies, { concurrency, waitForOutcomes, lenient, signal });
  });
  let failure: { readonly cause: unknown } | undefined;
  for (const settled of await Promise.allSettled(reports)) {
    if (settled.status === "rejected") failure ??= { cause: settled.reason };
    if (settled.status === "fulfilled" && settled.value !== undefined) addReport(sent, settled.value);
    if (settled.status === "rejected" && settled.reason instanceof SendError)
      addReport(sent, settled.reason.report);
  }
  if (failure !== undefined) throw failure.cause;
}

function addReport(sent: SentSimulation, report: SendReport): void {
  sent.batches += report.batches;
  sent.accepted += report.accepted;
  sent.rejected += report.rejectedTotal;
  sent.quarantined += report.outcomes?.quarantined ?? 0;
  sent.retries += report.retries;
  for (const [outcome, count] of Object.entries(report.outcomes ?? {}))
    sent.outcomes[outcome] = (sent.outcomes[outcome] ?? 0) + count;
}
