import type pg from "pg";
import type { ChildTask } from "../child-task.ts";
import { untilDrained } from "../until-drained.ts";
import type { SteadyOrder, SteadyResult } from "./steady-load.ts";

const STEPS_MAX = 16;
/** What takes longer than this to be applied after the last answer was more than is applied. */
const BEHIND_MS_MAX = 800;

/** How the capacity is looked for. */
export interface Search {
  /** Batches a second of the first step. */
  readonly from: number;
  /** A step offers so many times what the one before did. */
  readonly step: number;
  readonly stepSeconds: number;
}

/** In steps of eight seconds from what any machine does, on an empty database. */
const FROM_NOTHING: Search = { from: 60, step: 1.25, stepSeconds: 8 };

/** In finer steps of a minute, in each of which PostgreSQL also vacuums, from well below what was found in short ones. */
export function searchBelow(found: number): Search {
  return { from: 0.6 * found, step: 1.1, stepSeconds: 60 };
}

/** The load of a moment, in shares of the most: how much of it, whom it is sent to. */
export type OfferedLoad = Pick<SteadyOrder, "targets" | "pushTargets" | "seed" | "asOfNow">;
/** One push for so many batches of 20: three tenths of all records come by pushes. */
export const BATCHES_PER_PUSH = 85;

export function orderOf(load: OfferedLoad, perSecond: number, seconds: number, run: number): SteadyOrder {
  const pushesPerSecond = (load.pushTargets ?? []).length === 0 ? 0 : perSecond / BATCHES_PER_PUSH;
  return { ...load, perSecond, pushesPerSecond, seconds, run };
}

/**
 * Finds how many batches a second are accepted and applied as fast as they come: the most of steps before the first that leaves
 * a backlog. `progress` is called with each step.
 */
export async function findCapacity(
  steady: ChildTask,
  client: pg.ClientBase,
  load: OfferedLoad,
  progress: (line: string) => void,
  { from, step: factor, stepSeconds }: Search = FROM_NOTHING,
): Promise<number> {
  let perSecond = from;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const result = await steady.call<SteadyResult>(
      "run",
      orderOf(load, perSecond, stepSeconds, 1_000 + step),
    );
    // Looks are the further apart the longer ago a load began: of a minute's they would be 0.6 s.
    const drainedAt = await untilDrained(client, result.endedAt);
    // From when the last batch was due, so that what still waited for its answer counts as backlog.
    const behindMs = Math.max(result.endedAt, drainedAt) - result.startedAt - stepSeconds * 1_000;
    progress(`  ${perSecond.toFixed(0)} batches a second: ${(behindMs / 1000).toFixed(2)} s behind`);
    if (behindMs > BEHIND_MS_MAX) return perSecond / factor;
    perSecond *= factor;
  }
  return perSecond / factor;
}
