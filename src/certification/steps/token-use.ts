import { type Evidence, type Finding, pending, right, type Step, wrong } from "../step.ts";
import { eventsOf } from "../wire-notes.ts";

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
