import { type Evidence, type Finding, pending, right, type SeenRecord, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** Batches whose records are all duplicates: sent again under another key or none. */
function findResent({ records }: Evidence): Finding[] {
  const firsts = new Map<string, SeenRecord>();
  for (const record of records) if (!firsts.has(record.digest)) firsts.set(record.digest, record);
  const requests = Map.groupBy(records, ({ requestId }) => requestId);
  return [...requests].flatMap(([requestId, batch]) => {
    const first = firsts.get(batch[0]?.digest ?? "")?.requestId;
    const isAnew = batch.every(({ outcome }) => outcome === "duplicate") && first !== requestId;
    if (first === undefined || !isAnew) return [];
    const reason = `The batch ${requestId} repeats the batch ${first} under another Idempotency-Key or none, so it was stored twice. A retry must have the key and the bytes of the first attempt.`;
    return wrong(reason, first, requestId);
  });
}

/** Contract, "Headers and bodies": the same client, key and body within 24 hours returns the first response. */
export const retry: Step = {
  name: "retry",
  title: "A batch sent again under its key",
  docs: "guides/retries#idempotency-key",
  instruction: () =>
    "Send a batch with an Idempotency-Key and, as if the response had been lost, send it again: the same key, the same bytes. Both responses contain the same requestId.",
  notYet: "No batch has been repeated under its Idempotency-Key.",
  find(evidence) {
    const reused = eventsOf(evidence.events, "refused").filter(
      ({ code }) => code === "bellhop.accept.IdempotencyKeyReused",
    );
    return [
      ...findResent(evidence),
      ...reused.map(({ at, resource }) => {
        const reason = `At ${at} a batch of ${resource} had the Idempotency-Key of another one and was refused (422). Create a new key for each batch.`;
        return wrong(reason);
      }),
      ...eventsOf(evidence.events, "repeated").map(({ at, requestId }) =>
        right(`The batch ${requestId} was sent again at ${at} under its key and stored once.`, requestId),
      ),
    ];
  },
};

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

/** Restarted processes take a token each; a loop that takes one for every request takes many more. */
const EARLY_TOKENS_MAX = 3;
const REQUESTS_LEAST = 5;

const minutesText = (seconds: number): string =>
  seconds < 120 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`;

/** Number of tokens taken, and of those taken while the previous one had more than half of its life left. */
function tokensOf({ events }: Evidence): { taken: number; early: number } {
  const tokens = eventsOf(events, "token");
  const early = tokens.filter(({ at }, place) => {
    const before = tokens[place - 1];
    return before !== undefined && Date.parse(at) - Date.parse(before.at) < before.seconds * 500;
  });
  return { taken: tokens.length, early: early.length };
}

function notYetTokenUse({ certification, events, requests }: Evidence): string {
  const last = eventsOf(events, "token").at(-1);
  if (last === undefined) return "No token has been requested since.";
  if (requests.length < REQUESTS_LEAST)
    return `${requests.length} of at least ${REQUESTS_LEAST} batches so far.`;
  return `The token requested at ${last.at} has been valid so far and has not been renewed. Continue sending for ${minutesText(certification.tokenSeconds)}.`;
}

function findingsOfTokenUse(evidence: Evidence): Finding[] {
  const { certification, events, requests } = evidence;
  const { early, taken } = tokensOf(evidence);
  const [expired] = eventsOf(events, "token-expired");
  const findings = [pending(notYetTokenUse(evidence))];
  if (early > EARLY_TOKENS_MAX || eventsOf(events, "token-limited").length > 0) {
    const reason = `${taken} tokens were requested for ${requests.length} batches, ${early} of them while the previous one had more than half of its ${minutesText(certification.tokenSeconds)} left. Reuse a token until shortly before it expires (\`expires_in\`), and share it among processes or workers.`;
    findings.push(wrong(reason));
  }
  if (expired !== undefined) {
    const reason = `At ${expired.at} a request had an expired token and received a 403. Renew tokens before they expire (by a minute, or a tenth of \`expires_in\`), not after the first 403.`;
    findings.push(wrong(reason));
  }
  const renewals = taken - 1 - early;
  if (renewals > 0 && requests.length >= REQUESTS_LEAST)
    findings.push(right(`${taken} tokens for ${requests.length} batches, renewed before they expired.`));
  return findings;
}

/** Specification section 5, rules 5 and 10: one token for all requests of its lifetime, renewed before it expires. */
export const tokenUse: Step = {
  name: "token-use",
  title: "One token for many requests, renewed before it expires",
  docs: "authentication#token-rate",
  instruction: ({ tokenSeconds }) =>
    `Request a token, use it for every request, and request the next one shortly before it expires (\`expires_in\`). During the certification a token is valid for ${minutesText(tokenSeconds)}: run your integration at least that long, so that it renews its token. At most ${EARLY_TOKENS_MAX} tokens may be requested early (after a restart).`,
  notYet: "",
  find: findingsOfTokenUse,
};
