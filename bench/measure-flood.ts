import { Closers } from "./closers.ts";
import type { FloodAnswers } from "./flood.ts";
import type { Goal } from "./goals.ts";
import { LoadProcess } from "./load-process.ts";
import { startService } from "./started-service.ts";
import { untilDrained } from "./until-drained.ts";

const BODIES = 100;
const HOTEL = 700_000;
const MEMORY_MB_MAX = 400;

/** The effect of a hundred maximum-size bodies on a new service. */
export interface FloodResult {
  readonly answers: FloodAnswers;
  readonly peakBytes: number;
}

/** Sends a hundred bodies of 16 MiB to a new service at once, and waits until the accepted ones are applied. */
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

/** Bodies beyond the budget get 503; any other refusal fails the goal. */
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
