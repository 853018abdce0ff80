import type { CertificationStep } from "../console/api-types.ts";
import type { Certification } from "./certification.ts";
import { type Evidence, type Finding, hashOf, judge, lastSeenAt, type Step } from "./step.ts";
import { cancellation } from "./steps/cancellation.ts";
import { coldStart } from "./steps/cold-start.ts";
import { dayUse } from "./steps/day-use.ts";
import { group } from "./steps/group.ts";
import { groupPickup } from "./steps/group-pickup.ts";
import { inventory } from "./steps/inventory.ts";
import { modification } from "./steps/modification.ts";
import { nullAndNumbers } from "./steps/null-and-numbers.ts";
import { outOfOrder } from "./steps/out-of-order.ts";
import { rateLimit } from "./steps/rate-limit.ts";
import { reservation } from "./steps/reservation.ts";
import { retry } from "./steps/retry.ts";
import { sevenDays } from "./steps/seven-days.ts";
import { share } from "./steps/share.ts";
import { tokenUse } from "./steps/token-use.ts";
import { eventsOf } from "./wire-notes.ts";

/** A report depends only on its evidence: the same evidence gives the same report. */
export type Report = Awaited<ReturnType<typeof judgeEvidence>>;

/** Further observations, which do not affect the result. `compressed` counts batches by Content-Encoding. */
function observedIn({ requests, records, events }: Evidence) {
  const sent = eventsOf(events, "sent");
  const compressed: Record<string, number> = {};
  for (const { encoding } of sent)
    if (encoding !== null) compressed[encoding] = (compressed[encoding] ?? 0) + 1;
  return {
    batches: requests.length,
    records: requests.reduce((sum, request) => sum + request.records, 0),
    pending: records.filter(({ outcome }) => outcome === "pending").length,
    tokens: eventsOf(events, "token").length,
    rateLimited: eventsOf(events, "rate-limited").length,
    refused: eventsOf(events, "refused").length,
    lenient: sent.filter(({ lenient }) => lenient).length,
    keyed: sent.filter(({ keyed }) => keyed).length,
    compressed,
  };
}

function verdictOf(steps: readonly Finding[]): "certified" | "failed" | "incomplete" {
  if (steps.some(({ result }) => result === "fail")) return "failed";
  return steps.every(({ result }) => result === "pass") ? "certified" : "incomplete";
}

/** Evaluates every step with the evidence. Each has a turn of the event loop. */
export async function judgeEvidence(evidence: Evidence) {
  const { certification, from, isWhole } = evidence;
  const { certificationId, clientId, clientCode, propertyCode, openedAt } = certification;
  const steps: CertificationStep[] = [];
  for (const step of CHECKLIST) {
    await new Promise((resume) => setImmediate(resume));
    const { name, title } = step;
    steps.push({ step: name, title, instruction: step.instruction(certification), ...judge(step, evidence) });
  }
  return {
    certificationId,
    clientId,
    property: { clientCode, propertyCode },
    openedAt,
    verdict: verdictOf(steps),
    steps,
    observed: observedIn(evidence),
    evidence: { from, until: lastSeenAt(evidence), isWhole, hash: hashOf(evidence) },
  };
}

/** The instructions of a certification, by step. */
export function instructionsOf(certification: Certification): { title: string; instruction: string }[] {
  return CHECKLIST.map(({ title, instruction }) => ({ title, instruction: instruction(certification) }));
}

/** Every requirement, in the order in which a developer would meet them; any other order is accepted. */
export const CHECKLIST: readonly Step[] = [
  inventory,
  reservation,
  group,
  modification,
  cancellation,
  share,
  groupPickup,
  dayUse,
  nullAndNumbers,
  outOfOrder,
  retry,
  rateLimit,
  coldStart,
  sevenDays,
  tokenUse,
];
