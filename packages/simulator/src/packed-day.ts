import { on } from "node:events";
import { Worker } from "node:worker_threads";
import type { PlantedFault } from "./faults.ts";
import type { SimulatedRecord } from "./records.ts";
import { quarterOf, SIMULATED_RESOURCES, type SimulatedResource } from "./simulated-record.ts";
import type { SimulatedDay, SimulationOptions } from "./simulation.ts";

/** The body of one request in its own buffer, so that it can be transferred. */
export interface PackedBatch {
  readonly resource: SimulatedResource;
  readonly records: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

export interface PackedPart {
  /** Quarter of an hour since 1970; for an unpaced wave, its last. */
  readonly quarter: number;
  readonly batches: readonly PackedBatch[];
}

export interface PackedDay {
  readonly date: string;
  /** Each wave must be received before the next. */
  readonly waves: readonly (readonly PackedPart[])[];
  readonly planted: readonly PlantedFault[];
  readonly records: Readonly<Record<SimulatedResource, number>>;
  readonly bytes: number;
}

export interface Packing {
  readonly batchRecords: number;
  /** Splits waves by quarter of an hour. */
  readonly isPaced: boolean;
}

/** The client's default size of batches. */
const BATCH_BYTES_MAX = 4_194_304;
const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d];

/** In kibibytes, so that 32 bits can count two terabytes. */
export function kibibytesOf({ bytes }: Pick<PackedDay, "bytes">): number {
  return Math.ceil(bytes / 1_024);
}

/** Groups the records of a day into request bodies. */
export function packDay({ date, waves, planted }: SimulatedDay, packing: Packing): PackedDay {
  const records = { inventories: 0, groups: 0, reservations: 0 };
  let bytes = 0;
  const packed = waves.map((wave) => packWave(wave, packing));
  for (const parts of packed)
    for (const { batches } of parts)
      for (const batch of batches) {
        records[batch.resource] += batch.records;
        bytes += batch.body.length;
      }
  return { date, waves: packed, planted, records, bytes };
}

function packWave(wave: readonly SimulatedRecord[], { batchRecords, isPaced }: Packing): PackedPart[] {
  const last = wave.reduce((latest, record) => Math.max(latest, quarterOf(record)), 0);
  const parts = isPaced ? Map.groupBy(wave, quarterOf) : new Map([[last, wave]]);
  return [...parts]
    .sort(([one], [other]) => one - other)
    .map(([quarter, records]) => ({
      quarter,
      batches: SIMULATED_RESOURCES.flatMap((resource) =>
        packRecords(
          resource,
          records.filter((record) => record.resource === resource),
          batchRecords,
        ),
      ),
    }));
}

function packRecords(
  resource: SimulatedResource,
  records: readonly SimulatedRecord[],
  batchRecords: number,
): PackedBatch[] {
  const batches: PackedBatch[] = [];
  for (let from = 0; from < records.length; ) {
    let [to, bytes] = [from, 1];
    for (let next = records[to]; next !== undefined; next = records[to]) {
      const isFull = to - from === batchRecords || bytes + next.json.length >= BATCH_BYTES_MAX;
      if (isFull && to > from) break;
      bytes += next.json.length + 1;
      to += 1;
    }
    batches.push({ resource, records: to - from, body: arrayOf(records.slice(from, to), bytes) });
    from = to;
  }
  return batches;
}

function arrayOf(records: readonly SimulatedRecord[], bytes: number): Uint8Array<ArrayBuffer> {
  const body = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const { json } of records) {
    body[at] = at === 0 ? OPEN : COMMA;
    at += 1;
    body.set(json, at);
    at += json.length;
  }
  body[at] = CLOSE;
  return body;
}

/** Minimum number of bytes prepared ahead. */
const AHEAD_BYTES_MIN = 67_108_864;

const INT32_MAX = 2_147_483_647;

export interface SimulationThreadData {
  readonly options: SimulationOptions;
  readonly packing: Packing;
  /** Kibibytes delivered but not yet sent. */
  readonly handedOver: Int32Array<SharedArrayBuffer>;
  /** The thread pauses at this value. */
  readonly handedOverMax: number;
}

interface MakingApart extends Packing {
  /** Bytes of bodies prepared before the first day is yielded, and kept ready from then on. */
  readonly aheadBytes: number;
  /** Stops it, even while a day is being prepared. */
  readonly signal?: AbortSignal;
}

/** Simulates and packs days on a thread. A day counts as sent when the next one is requested. */
export async function* makeApart(
  options: SimulationOptions,
  { aheadBytes, signal, ...packing }: MakingApart,
): AsyncGenerator<PackedDay, void, undefined> {
  const handedOver = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const handedOverMax = Math.min(Math.ceil(Math.max(aheadBytes, AHEAD_BYTES_MIN) / 1_024), INT32_MAX);
  const workerData: SimulationThreadData = { options, packing, handedOver, handedOverMax };
  const worker = new Worker(new URL("./simulation-thread.ts", import.meta.url), { workerData });
  const made = daysOf(worker, signal);
  try {
    const ahead: PackedDay[] = [];
    for (let bytes = 0; bytes < aheadBytes; ) {
      const { done, value: day } = await made.next();
      if (done === true) break;
      ahead.push(day);
      bytes += day.bytes;
    }
    for (let day = ahead.shift(); day !== undefined; day = ahead.shift()) {
      yield day;
      giveBack(handedOver, day);
    }
    for await (const day of made) {
      yield day;
      giveBack(handedOver, day);
    }
  } finally {
    await worker.terminate();
  }
}

async function* daysOf(
  worker: Worker,
  signal: AbortSignal | undefined,
): AsyncGenerator<PackedDay, void, undefined> {
  const options = { close: ["exit"], ...(signal === undefined ? {} : { signal }) };
  for await (const [day] of on(worker, "message", options)) yield day as PackedDay;
}

function giveBack(handedOver: Int32Array<SharedArrayBuffer>, day: PackedDay): void {
  Atomics.sub(handedOver, 0, kibibytesOf(day));
  Atomics.notify(handedOver, 0);
}
