import { on } from "node:events";
import { Worker } from "node:worker_threads";
import { kibibytesOf, type PackedDay, type Packing } from "./packed-day.ts";
import type { SimulationOptions } from "./simulation.ts";
import type { SimulationThreadData } from "./simulation-thread.ts";

/** As much is made ahead of what is being sent without being asked for. */
const AHEAD_BYTES_MIN = 67_108_864;

const INT32_MAX = 2_147_483_647;

export interface MakingApart extends Packing {
  /** So many bytes of bodies are made before the first is given, or all there are; then as many are kept ahead. */
  readonly aheadBytes: number;
  /** Ends it, also while a day is being made. */
  readonly signal?: AbortSignal;
}

/**
 * The days of a simulation, made and packed on a thread of their own. The bodies of a day count as sent when the next one is asked for.
 * Rejects with what the thread failed by; whoever stops early ends it.
 */
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
