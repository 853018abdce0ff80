import type { Evidence } from "../evidence.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-event.ts";

/** Requests that were on their way already when the 429 came, of an integration that sends several at once. */
const UNDER_WAY_MAX = 16;
/**
 * Timers and clocks are not exact, and a 429 is stamped by another one than the receipt of what was accepted before it: so much after
 * its beginning and before its end is no haste.
 */
const TOLERANCE_MS = 100;

interface Wait {
  readonly at: string;
  readonly from: number;
  readonly to: number;
}

/** Waits that were asked for, each from its first 429; a 429 within one belongs to it. */
function waitsOf({ events }: Evidence): Wait[] {
  const waits: Wait[] = [];
  for (const { at, retryAfterSeconds } of eventsOf(events, "rate-limited")) {
    const from = Date.parse(at);
    const last = waits.at(-1);
    if (last === undefined || from >= last.to) waits.push({ at, from, to: from + retryAfterSeconds * 1000 });
  }
  return waits;
}

function findingsOf(evidence: Evidence): Finding[] {
  const { requests, events } = evidence;
  const arrivals = [
    ...requests.map(({ receivedAt, requestId }) => ({ at: Date.parse(receivedAt), requestId })),
    ...eventsOf(events, "rate-limited").map(({ at }) => ({ at: Date.parse(at), requestId: undefined })),
  ];
  return waitsOf(evidence).flatMap((wait) => {
    const hasty = arrivals.filter(({ at }) => at > wait.from + TOLERANCE_MS && at < wait.to - TOLERANCE_MS);
    const seconds = Math.ceil((wait.to - wait.from) / 1000);
    if (hasty.length > UNDER_WAY_MAX)
      return wrong(
        `At ${wait.at} the answer was 429 with Retry-After: ${seconds}, and ${hasty.length} more requests came within that time. Wait for as many seconds as it says before the next request, all workers together.`,
        ...hasty.flatMap(({ requestId }) => requestId ?? []),
      );
    const next = requests.find(({ receivedAt }) => Date.parse(receivedAt) >= wait.to - TOLERANCE_MS);
    if (next === undefined) return [];
    return right(
      `At ${wait.at} the answer was 429 with Retry-After: ${seconds}; sending went on after that.`,
      next.requestId,
    );
  });
}

/** Specification section 7: when 429 is received, the client backs off and retries. */
export const rateLimit: Step = {
  name: "rate-limit",
  title: "Waiting after a 429",
  instruction: ({ requestRate, requestBurst }) =>
    `Send small batches as fast as you can until one is answered 429, wait for the seconds of its Retry-After, and send it again. While you are certified the limit is ${requestRate} requests a second, ${requestBurst} at once.`,
  judge: (evidence) =>
    judgementOf(
      findingsOf(evidence),
      evidence.events.some(({ kind }) => kind === "rate-limited")
        ? "A 429 was answered; nothing has been accepted since the wait that it asked for."
        : "No 429 has been met.",
    ),
};
