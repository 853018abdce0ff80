import {
  type Evidence,
  type Finding,
  judgementOf,
  right,
  type SeenRecord,
  type Step,
  wrong,
} from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

/** Batches all of whose records had come before: sent again under another key or none. */
function sentAnew({ records }: Evidence): Finding[] {
  const firsts = new Map<string, SeenRecord>();
  for (const record of records) if (!firsts.has(record.digest)) firsts.set(record.digest, record);
  const requests = Map.groupBy(records, ({ requestId }) => requestId);
  return [...requests].flatMap(([requestId, batch]) => {
    const [record] = batch;
    if (record === undefined || !batch.every(({ outcome }) => outcome === "duplicate")) return [];
    const first = firsts.get(record.digest)?.requestId;
    if (first === undefined || first === requestId) return [];
    return wrong(
      `The batch ${requestId} is the batch ${first} again, under another Idempotency-Key or none: it was stored a second time. A retry carries the key and the bytes of the first attempt.`,
      first,
      requestId,
    );
  });
}

function findingsOfRetry(evidence: Evidence): Finding[] {
  const { events } = evidence;
  const reused = eventsOf(events, "refused").filter(
    ({ code }) => code === "bellhop.accept.IdempotencyKeyReused",
  );
  return [
    ...sentAnew(evidence),
    ...reused.map(({ at, resource }) =>
      wrong(
        `At ${at} a batch of ${resource} came under the Idempotency-Key of another one and was refused (422). A key belongs to one batch: make a new one for each.`,
      ),
    ),
    ...eventsOf(events, "repeated").map(({ at, requestId }) =>
      right(`The batch ${requestId} came again at ${at} under its key, and was stored once.`, requestId),
    ),
  ];
}

/** Contract, "Headers and bodies": same client, key and body within 24 hours gives the first answer again. */
export const retry: Step = {
  name: "retry",
  title: "A batch sent again under its key",
  instruction: () =>
    "Send a batch with an Idempotency-Key and, as if the answer had been lost, send it again: the same key, the same bytes. Both answers name the same requestId.",
  judge: (evidence) =>
    judgementOf(findingsOfRetry(evidence), "No batch has come a second time under its Idempotency-Key."),
};

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

function findingsOfRateLimit(evidence: Evidence): Finding[] {
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
      findingsOfRateLimit(evidence),
      evidence.events.some(({ kind }) => kind === "rate-limited")
        ? "A 429 was answered; nothing has been accepted since the wait that it asked for."
        : "No 429 has been met.",
    ),
};

/** Processes that start anew take a token each; a loop that takes one for every request takes many more. */
const EARLY_TOKENS_MAX = 3;
const REQUESTS_LEAST = 5;

const minutesText = (seconds: number): string =>
  seconds < 120 ? `${Math.round(seconds)} seconds` : `${Math.round(seconds / 60)} minutes`;

/** Tokens that were taken while the one before had more than half of its life left, and those that were taken in good time. */
function tokensOf({ events }: Evidence): { early: number; renewals: number; taken: number } {
  const tokens = eventsOf(events, "token");
  let early = 0;
  let renewals = 0;
  for (const [at, token] of tokens.entries()) {
    const before = tokens[at - 1];
    if (before === undefined) continue;
    const ageMs = Date.parse(token.at) - Date.parse(before.at);
    if (ageMs < before.seconds * 500) early += 1;
    else renewals += 1;
  }
  return { early, renewals, taken: tokens.length };
}

function findingsOfTokenUse(evidence: Evidence): Finding[] {
  const { certification, events, requests } = evidence;
  const { early, renewals, taken } = tokensOf(evidence);
  const life = minutesText(certification.tokenSeconds);
  const expired = eventsOf(events, "token-expired").at(0);
  const limited = eventsOf(events, "token-limited").at(0);
  const findings: Finding[] = [];
  if (early > EARLY_TOKENS_MAX || limited !== undefined)
    findings.push(
      wrong(
        `${taken} tokens were taken for ${requests.length} batches, ${early} of them while the one before had more than half of its ${life} left. Keep a token and send every request with it until \`expires_in\` is nearly over; share it among processes or workers.`,
      ),
    );
  if (expired !== undefined)
    findings.push(
      wrong(
        `At ${expired.at} a request came with a token past its end and was answered 403. Renew some time before \`expires_in\` is over (a minute, or a tenth of it), not after the first 403.`,
      ),
    );
  if (renewals > 0 && requests.length >= REQUESTS_LEAST)
    findings.push(right(`${taken} tokens for ${requests.length} batches, renewed before they ended.`));
  return findings;
}

function notYetTokenUse({ certification, events, requests }: Evidence): string {
  const last = eventsOf(events, "token").at(-1);
  if (last === undefined) return "No token has been taken since.";
  if (requests.length < REQUESTS_LEAST)
    return `${requests.length} batches so far; ${REQUESTS_LEAST} are needed to tell.`;
  return `The token taken at ${last.at} has been good so far; its renewal has not been seen. Go on sending for ${minutesText(certification.tokenSeconds)}.`;
}

/** Specification section 5, rules 5 and 10: one token for all requests of its life, renewed before it ends. */
export const tokenUse: Step = {
  name: "token-use",
  title: "One token for many requests, renewed before it ends",
  instruction: ({ tokenSeconds }) =>
    `Take a token, send everything with it, and take the next one shortly before \`expires_in\` is over. While you are certified a token lives ${minutesText(tokenSeconds)} instead of an hour, so that a renewal is seen: let your integration run at least that long. At most ${EARLY_TOKENS_MAX} tokens may be taken early (a restart).`,
  judge: (evidence) => judgementOf(findingsOfTokenUse(evidence), notYetTokenUse(evidence)),
};
