import { type Evidence, type Finding, pending, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** Requests that may be in flight when the 429 is sent. */
const UNDER_WAY_MAX = 16;
/** Timers are inexact, and a 429 is not dated by the clock of receipts: requests this close to either end of the wait are tolerated. */
const TOLERANCE_MS = 100;

interface Wait {
  readonly at: string;
  readonly from: number;
  readonly to: number;
}

/** The required waits, each from its first 429; a 429 during a wait belongs to it. */
function waitsOf({ events }: Evidence): Wait[] {
  const waits: Wait[] = [];
  for (const { at, retryAfterSeconds } of eventsOf(events, "rate-limited")) {
    const from = Date.parse(at);
    const last = waits.at(-1);
    if (last === undefined || from >= last.to) waits.push({ at, from, to: from + retryAfterSeconds * 1000 });
  }
  return waits;
}

function findingsOfRateLimit(evidence: Evidence): Finding[] {
  const { requests, events } = evidence;
  const arrivals = [
    ...requests.map(({ receivedAt, requestId }) => ({ at: Date.parse(receivedAt), requestId })),
    ...eventsOf(events, "rate-limited").map(({ at }) => ({ at: Date.parse(at), requestId: undefined })),
  ];
  return waitsOf(evidence).flatMap((wait) => {
    const hasty = arrivals.filter(({ at }) => at > wait.from + TOLERANCE_MS && at < wait.to - TOLERANCE_MS);
    const seconds = Math.ceil((wait.to - wait.from) / 1000);
    if (hasty.length > UNDER_WAY_MAX) {
      const reason = `At ${wait.at} the response was 429 with Retry-After: ${seconds}, and ${hasty.length} more requests arrived within that time. Wait that many seconds before the next request, in all workers.`;
      return wrong(reason, ...hasty.flatMap(({ requestId }) => requestId ?? []));
    }
    const next = requests.find(({ receivedAt }) => Date.parse(receivedAt) >= wait.to - TOLERANCE_MS);
    const reason = `At ${wait.at} the response was 429 with Retry-After: ${seconds}; the next request came after that time.`;
    return next === undefined ? [] : right(reason, next.requestId);
  });
}

/** Specification section 7: when 429 is received, the client backs off and retries. */
export const rateLimit: Step = {
  name: "rate-limit",
  title: "Waiting after a 429",
  docs: "guides/retries#request-rate",
  instruction: ({ requestRate, requestBurst }) =>
    `Send small batches as fast as you can until one gets a 429, wait for the seconds of its Retry-After, and send it again. During the certification the limit is ${requestRate} requests per second with a burst of ${requestBurst}.`,
  notYet: "No request has been answered 429.",
  find(evidence) {
    const isMet = evidence.events.some(({ kind }) => kind === "rate-limited");
    const waiting = "A request received a 429; no batch has been accepted after the wait that it asked for.";
    return [...(isMet ? [pending(waiting)] : []), ...findingsOfRateLimit(evidence)];
  },
};
