import type { PlantedFault } from "./faults.ts";
import {
  quarterOf,
  SIMULATED_RESOURCES,
  type SimulatedRecord,
  type SimulatedResource,
} from "./simulated-record.ts";
import type { SimulatedDay } from "./simulation.ts";

/** The body of one request: a JSON array of so many records. Its bytes are in no other's memory, so they can be handed over. */
export interface PackedBatch {
  readonly resource: SimulatedResource;
  readonly records: number;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** What of a wave is sent at once. */
export interface PackedPart {
  /** The quarter of an hour, from 1970, in which the hotels' systems made it; the wave's last where it is not paced. */
  readonly quarter: number;
  readonly batches: readonly PackedBatch[];
}

/** What the hotels send on one day, as it goes out. */
export interface PackedDay {
  readonly date: string;
  /** Each is to be received whole before the next one begins. */
  readonly waves: readonly (readonly PackedPart[])[];
  readonly planted: readonly PlantedFault[];
  /** By resource. */
  readonly records: Readonly<Record<SimulatedResource, number>>;
  /** Of all bodies. */
  readonly bytes: number;
}

/** How days are packed. */
export interface Packing {
  /** Records of one batch at most. */
  readonly batchRecords: number;
  /** Whether a wave is sent by quarters of an hour, when they are due. */
  readonly isPaced: boolean;
}

/** A batch is no larger before compression, as the client's own are not. */
const BATCH_BYTES_MAX = 4_194_304;
const [OPEN, COMMA, CLOSE] = [0x5b, 0x2c, 0x5d];

/** What a day's bodies take, in whole kibibytes: 32 bits count two terabytes of them. */
export function kibibytesOf({ bytes }: Pick<PackedDay, "bytes">): number {
  return Math.ceil(bytes / 1_024);
}

/** Cuts what is sent on a day into the bodies of requests. */
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

/** The JSON array of records: each with the bracket or comma before it, and the bracket that closes it. */
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
