import type { Certification } from "./certification.ts";
import type { Evidence } from "./evidence.ts";

/** How a step stands: done right, done wrong, or not seen so far. */
export type StepResult = "pass" | "fail" | "not-yet";

/** What was found of a step, in words that a developer can act on, and the requests behind it. */
export interface Judgement {
  readonly result: StepResult;
  readonly reason: string;
  readonly requestIds: readonly string[];
}

/** One thing that an integration has to show. */
export interface Step {
  /** As in `token-use`: stable, for programs. */
  readonly name: string;
  readonly title: string;
  /** What to do, for a person, with the codes of this certification. */
  instruction(on: Certification): string;
  judge(evidence: Evidence): Judgement;
}

/** One instance of what a step is about, done right or wrong. */
export interface Finding {
  readonly isRight: boolean;
  readonly reason: string;
  readonly requestIds: readonly string[];
}

const REQUESTS_TOLD_MAX = 20;

export function right(reason: string, ...requestIds: readonly string[]): Finding {
  return { isRight: true, reason, requestIds };
}

export function wrong(reason: string, ...requestIds: readonly string[]): Finding {
  return { isRight: false, reason, requestIds };
}

/** One that is wrong fails the step, whatever else is right; the last that is right passes it; without any it is not yet seen. */
export function judgementOf(findings: readonly Finding[], notYet: string): Judgement {
  const faults = findings.filter(({ isRight }) => !isRight);
  const [fault] = faults;
  const told = fault ?? findings.at(-1);
  if (told === undefined) return { result: "not-yet", reason: notYet, requestIds: [] };
  const more = faults.length > 1 ? ` And ${faults.length - 1} more like it.` : "";
  return {
    result: fault === undefined ? "pass" : "fail",
    reason: told.reason + more,
    requestIds: [...new Set(told.requestIds)].slice(0, REQUESTS_TOLD_MAX),
  };
}
