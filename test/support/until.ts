import { setTimeout as delay } from "node:timers/promises";

/** Waits for a condition, which is what tests do instead of sleeping. Throws when it has not come within the time. */
export async function until(condition: () => boolean | Promise<boolean>, waitMsMax: number): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  while (!(await condition())) {
    if (Date.now() > deadline)
      throw new Error(`The condition did not come within ${waitMsMax} ms: ${condition}`);
    await delay(20);
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
