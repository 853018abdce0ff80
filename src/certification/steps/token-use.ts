import type { Evidence } from "../evidence.ts";
import { type Finding, judgementOf, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-event.ts";

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

function findingsOf(evidence: Evidence): Finding[] {
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

function notYetOf({ certification, events, requests }: Evidence): string {
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
  judge: (evidence) => judgementOf(findingsOf(evidence), notYetOf(evidence)),
};
