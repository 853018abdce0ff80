import { setTimeout as delay } from "node:timers/promises";

const LOOK_MS_MIN = 20;
const LOOK_MS_MAX = 200;
/** Looks take processor time from what they wait for: on a busy machine at most this share. */
const LOOK_SHARE = 0.2;

/** Waits for a condition, which is what tests do instead of sleeping. Throws when it has not come within the time. */
export async function until(condition: () => boolean | Promise<boolean>, waitMsMax: number): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  for (;;) {
    const lookedAt = performance.now();
    if (await condition()) return;
    if (Date.now() > deadline)
      throw new Error(`The condition did not come within ${waitMsMax} ms: ${condition}`);
    const pauseMs = (performance.now() - lookedAt) / LOOK_SHARE;
    await delay(Math.min(Math.max(pauseMs, LOOK_MS_MIN), LOOK_MS_MAX));
  }
}

/** Waits until there is something to find, and answers it. */
export async function untilFound<Found>(
  find: () => Promise<Found | undefined>,
  waitMsMax = 20_000,
): Promise<Found> {
  let found: Found | undefined;
  await until(async () => {
    found = await find();
    return found !== undefined;
  }, waitMsMax);
  return found as Found;
}
