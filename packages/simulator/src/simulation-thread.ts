/**
 * A thread that lives through a simulation and hands over its days as bodies. Its heap is large and lives long; whoever sends
 * has a small one of its own, which is soon cleared (half the time of sending went into clearing both together).
 */
import { parentPort, workerData } from "node:worker_threads";
import { kibibytesOf, type Packing, packDay } from "./packed-day.ts";
import { type SimulationOptions, simulate } from "./simulation.ts";

export interface SimulationThreadData {
  readonly options: SimulationOptions;
  readonly packing: Packing;
  /** Kibibytes that were handed over and not yet sent, in a SharedArrayBuffer. */
  readonly handedOver: Int32Array<SharedArrayBuffer>;
  /** With so many the thread waits until some were sent. */
  readonly handedOverMax: number;
}

if (parentPort !== null) {
  const { options, packing, handedOver, handedOverMax } = workerData as SimulationThreadData;
  let isColdStart = true;
  for (const simulated of simulate(options)) {
    // A cold start has the times of last changes, of a year of quarters of an hour: all of it is due at once.
    const day = packDay(simulated, { ...packing, isPaced: packing.isPaced && !isColdStart });
    isColdStart = false;
    const bodies = day.waves.flatMap((parts) =>
      parts.flatMap(({ batches }) => batches.map(({ body }) => body)),
    );
    Atomics.add(handedOver, 0, kibibytesOf(day));
    parentPort.postMessage(
      day,
      bodies.map(({ buffer }) => buffer),
    );
    for (let held = Atomics.load(handedOver, 0); held >= handedOverMax; held = Atomics.load(handedOver, 0))
      Atomics.wait(handedOver, 0, held);
  }
  parentPort.close();
}
