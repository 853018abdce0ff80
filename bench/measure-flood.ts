import { Closers } from "./closers.ts";
import type { FloodAnswers } from "./flood.ts";
import type { Goal } from "./goals.ts";
import { LoadProcess } from "./load-process.ts";
import { startService } from "./started-service.ts";
import { untilDrained } from "./until-drained.ts";

const BODIES = 100;
const HOTEL = 700_000;
const MEMORY_MB_MAX = 400;

/** What a hundred bodies of the greatest size did to a service that had just started. */
export interface FloodResult {
  readonly answers: FloodAnswers;
  readonly peakBytes: number;
}

/** Sends a new service a hundred bodies of 16 MiB at once and waits until what it took is applied. */
export async function measureFlood(): Promise<FloodResult> {
  const closers = new Closers();
  try {
    const load = closers.kept(new LoadProcess());
    const { contestant, client } = closers.kept(await startService("bellhop"));
    contestant.node.start();
    const startedAt = Date.now();
    const answers = await load.flood({
      target: contestant.targetOf("reservations", false),
      bodies: BODIES,
      hotel: HOTEL,
    });
    await untilDrained(client, startedAt);
    return { answers, peakBytes: contestant.node.stop()?.peakBytes ?? Number.NaN };
  } finally {
    await closers.close();
  }
}

/** A body beyond the budget is refused with 503; none may be answered in any other way. */
export function floodGoal({ answers, peakBytes }: FloodResult): Goal {
  const peak = peakBytes / 1e6;
  const refusedWell = Object.keys(answers).every((answer) => ["202", "503", "429"].includes(answer));
  const said = Object.entries(answers).map(([answer, count]) => `${count} x ${answer}`);
  return {
    text: `memory with ${BODIES} bodies of 16 MiB at once <= ${MEMORY_MB_MAX} MB, and the excess refused`,
    measured: `${Math.round(peak)} MB; ${said.join(", ")}`,
    met: peak <= MEMORY_MB_MAX && refusedWell,
  };
}
