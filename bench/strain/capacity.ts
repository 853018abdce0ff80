import type pg from "pg";
import { untilDrained } from "../until-drained.ts";
import type { ChildTask } from "./child-task.ts";
import type { SteadyOrder, SteadyResult } from "./steady-load.ts";

/** A step of the search offers so many times what the one before did. */
const STEP = 1.25;
const STEPS_MAX = 16;
const STEP_SECONDS = 8;
/** What takes longer to be applied after the last answer than this share of the time was more than is applied. */
const DRAIN_SHARE = 0.1;

/** The load of a moment, in shares of the most: how much of it, whom it is sent to. */
export type OfferedLoad = Pick<SteadyOrder, "targets" | "pushTargets" | "seed" | "asOfNow">;
/** One push for so many batches of 20: three tenths of all records come by pushes. */
export const BATCHES_PER_PUSH = 85;

export function orderOf(load: OfferedLoad, perSecond: number, seconds: number, run: number): SteadyOrder {
  const pushesPerSecond = (load.pushTargets ?? []).length === 0 ? 0 : perSecond / BATCHES_PER_PUSH;
  return { ...load, perSecond, pushesPerSecond, seconds, run };
}

/**
 * Finds how many batches a second are accepted and applied as fast as they come: the most of steps of a quarter more each
 * before the first that leaves a backlog. `told` hears of each step.
 */
export async function findCapacity(
  steady: ChildTask,
  client: pg.ClientBase,
  load: OfferedLoad,
  told: (line: string) => void,
): Promise<number> {
  let perSecond = 60;
  for (let step = 0; step < STEPS_MAX; step += 1) {
    const result = await steady.call<SteadyResult>(
      "run",
      orderOf(load, perSecond, STEP_SECONDS, 1_000 + step),
    );
    const drainedAt = await untilDrained(client, result.startedAt);
    // From when the last batch was due, so that what still waited for its answer counts as backlog.
    const behindMs = Math.max(result.endedAt, drainedAt) - result.startedAt - STEP_SECONDS * 1_000;
    told(`  ${perSecond.toFixed(0)} batches a second: ${(behindMs / 1000).toFixed(2)} s behind`);
    if (behindMs > DRAIN_SHARE * STEP_SECONDS * 1_000) return perSecond / STEP;
    perSecond *= STEP;
  }
  return perSecond / STEP;
}
