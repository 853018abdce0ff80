import type pg from "pg";
import type { ChildTask } from "../child-task.ts";
import { untilDrained } from "../until-drained.ts";
import type { SteadyOrder, SteadyResult } from "./steady-load.ts";

const STEPS_MAX = 16;
/** A longer time from the last response until everything is applied means that the rate exceeded the capacity. */
const BEHIND_MS_MAX = 800;

/** A capacity search. */
export interface Search {
  /** Batches per second in the first step. */
  readonly from: number;
  /** The factor between steps. */
  readonly step: number;
  readonly stepSeconds: number;
}

/** For an empty database: steps of eight seconds from a rate that any machine handles. */
const FROM_NOTHING: Search = { from: 60, step: 1.25, stepSeconds: 8 };

/** Finer steps of a minute, which include vacuums, starting well below a previous result. */
export function searchBelow(found: number): Search {
  return { from: 0.6 * found, step: 1.1, stepSeconds: 60 };
}

/** A step's load without its rate. */
export type OfferedLoad = Pick<SteadyOrder, "targets" | "pushTargets" | "seed" | "asOfNow">;
/** One push per this many batches of 20, so that pushes carry three tenths of all records. */
export const BATCHES_PER_PUSH = 85;

export function orderOf(load: OfferedLoad, perSecond: number, seconds: number, run: number): SteadyOrder {
  const pushesPerSecond = (load.pushTargets ?? []).length === 0 ? 0 : perSecond / BATCHES_PER_PUSH;
  return { ...load, perSecond, pushesPerSecond, seconds, run };
}

/**
 * Finds the highest rate of batches that are applied as fast as they are accepted: the last step before one that leaves
 * a backlog. Calls `progress` after each step.
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
    // The polling interval grows with the load's age: 0.6 s after a minute.
    const drainedAt = await untilDrained(client, result.endedAt);
    // Measured from when the last batch was due, so that unanswered batches count as backlog.
    const behindMs = Math.max(result.endedAt, drainedAt) - result.startedAt - stepSeconds * 1_000;
    progress(`  ${perSecond.toFixed(0)} batches a second: ${(behindMs / 1000).toFixed(2)} s behind`);
    if (behindMs > BEHIND_MS_MAX) return perSecond / factor;
    perSecond *= factor;
  }
  return perSecond / factor;
}
