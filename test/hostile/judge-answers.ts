import type { RawAnswer } from "../support/raw-http.ts";
import type { ShapeJudge } from "./answer-shape.ts";
import { SMUGGLED } from "./header-shots.ts";
import { type Arms, FOREIGN_GUEST, GUEST, type Shot } from "./shot.ts";

/** What is wrong with the answers to a shot, in words; nothing where nothing is. */
export function judgeAnswers(
  shot: Shot,
  answers: readonly RawAnswer[],
  arms: Arms,
  shape: ShapeJudge,
): string[] {
  const problems: string[] = [];
  const say = (problem: string | undefined) => {
    if (problem !== undefined) problems.push(problem);
  };
  for (const answer of answers) {
    say(statusFault(answer));
    say(privateFault(shot, answer, arms));
  }
  const [first, ...rest] = answers;
  if (shot.canary === undefined) {
    for (const answer of rest) if (answer.status < 400) say(`then ${answer.status}`);
  } else {
    for (const problem of framingFaults(shot, answers)) say(problem);
  }
  if (first === undefined) {
    if (shot.canary === undefined || shot.expect === "served") say("no answer");
    return problems;
  }
  say(expectFault(shot, first));
  say(shape(shot, first));
  if (shot.asks?.path === "/api/oauth2/token" && first.status === 200) say(issuedFault(first, arms));
  return problems;
}

function statusFault({ status }: RawAnswer): string | undefined {
  return status >= 500 || status < 200 || (status >= 300 && status < 400) ? `${status}` : undefined;
}

function expectFault(shot: Shot, answer: RawAnswer): string | undefined {
  const { status } = answer;
  const served = status < 300;
  const said = `${status} ${answer.body.toString().slice(0, 600)}`;
  // Failures of one id at one address are limited on their own; nothing else is, with the rates of this fire.
  if (status === 429 && !(shot.asks?.path.startsWith("/api/oauth2/") && shot.expect !== "served"))
    return "429, so it was not looked at";
  if (served && shot.expect === "refused") return `served: ${said}`;
  if (!served && shot.expect === "served") return `refused: ${said}`;
  const isBatch =
    shot.canary === undefined && (shot.asks === undefined || shot.asks.path.startsWith("/api/public/v1/"));
  if (
    isBatch &&
    status === 202 &&
    shot.expect === "either" &&
    !shot.kind.startsWith("compressed") &&
    !isJsonArray(shot.body)
  )
    return "stored, although it is no JSON array";
  return undefined;
}

/** No secret, token or guest's name in an answer, but a guest of the client's own in its own records. */
function privateFault(shot: Shot, answer: RawAnswer, arms: Arms): string | undefined {
  const text = `${[...answer.headers.values()].join("\n")}\n${answer.body.toString()}`;
  const words = privateWords(arms);
  if (answer.status >= 300 || shot.asks?.method !== "GET") words.push(GUEST);
  const found = words.find((word) => text.includes(word));
  return found === undefined ? undefined : `${found.slice(0, 8)}… is in the answer ${answer.status}`;
}

/** What nobody may find in a log, an error or a metric: parts, so that a cut one is found too, and such as no other token has. */
export function privateWords(arms: Arms): string[] {
  const tokens = [arms.token, arms.writerToken, arms.foreignToken].flatMap((token) => {
    const [, claims = "", signature = ""] = token.split(".");
    return [claims.slice(-40), signature.slice(0, 32)];
  });
  return [arms.clientSecret.slice(0, 24), FOREIGN_GUEST, ...tokens];
}

/** One request in, at most one answer out; what stands behind is answered as itself or by nobody; what stands within, never. */
function framingFaults(shot: Shot, answers: readonly RawAnswer[]): string[] {
  const problems: string[] = [];
  const ids = answers.map(({ headers }) => headers.get("x-correlation-id"));
  if (ids.includes(SMUGGLED)) problems.push("a request within another's body was answered");
  if (answers.length > 2) problems.push(`${answers.length} answers`);
  if (ids[0] === shot.canary) problems.push("the canary's answer came in the place of the message's");
  const [first, second] = answers;
  const isOver = first === undefined || first.headers.get("connection") === "close";
  if (isOver && second !== undefined) problems.push(`an answer behind the last one: ${second.status}`);
  if (second !== undefined && ids[1] !== shot.canary && !(second.status >= 400 && ids[1] === undefined))
    problems.push(`the canary was answered as something else: ${second.status} ${ids[1]}`);
  if (shot.expect === "served" && ids[1] !== shot.canary)
    problems.push("the canary behind a whole request was not answered");
  if (shot.kind === "lengths: refused" && !isOver)
    problems.push("the connection goes on behind what two readers frame differently");
  if (
    shot.kind.startsWith("lengths: ") &&
    shot.kind !== "lengths: refused" &&
    second !== undefined &&
    ids[1] !== shot.canary
  )
    problems.push("a message was cut in another place than RFC 9112 says");
  if (shot.kind === "offers of another protocol" && !isOver)
    problems.push("the connection goes on behind an offer to upgrade");
  return problems;
}

/** A token that was given out is this client's own. */
function issuedFault(answer: RawAnswer, { clientId }: Arms): string | undefined {
  const { access_token: token } = JSON.parse(answer.body.toString()) as { access_token: string };
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as {
    sub: string;
  };
  return claims.sub === clientId ? undefined : `a token of ${claims.sub}`;
}

function isJsonArray(body: Buffer): boolean {
  try {
    return Array.isArray(JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body)));
  } catch {
    return false;
  }
}
