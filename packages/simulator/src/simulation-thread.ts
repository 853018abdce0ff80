/** Simulates on a separate thread: its large, long-lived heap would slow the sender's garbage collection. */
import { parentPort, workerData } from "node:worker_threads";
import { kibibytesOf, packDay, type SimulationThreadData } from "./packed-day.ts";
import { simulate } from "./simulation.ts";

if (parentPort !== null) {
  const { options, packing, handedOver, handedOverMax } = workerData as SimulationThreadData;
  let isColdStart = true;
  for (const simulated of simulate(options)) {
    // A cold start is not paced: its source times span a year.
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
