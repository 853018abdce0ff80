import type { CallerSpan } from "./trace-context.ts";

/** Which traces are told of, by the names of OTEL_TRACES_SAMPLER (OpenTelemetry, "General SDK Configuration"). */
export const SAMPLERS = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

export type SamplerName = (typeof SAMPLERS)[number];

const PARENT_BASED = "parentbased_";
/** The last 56 bits of a trace id are random (W3C Trace Context level 2, section 3.2.2.3.1). */
const RANDOM_DIGITS = 14;
const RANDOM_VALUES = 16 ** RANDOM_DIGITS;

/** Whether a trace is sampled. `caller` is the span that asked, if it said so. */
export type Sampler = (traceId: string, caller: CallerSpan | undefined) => boolean;

/**
 * The sampler of that name: those that are based on the caller do as it did; by ratio every service decides alike, from the
 * trace's id.
 */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const first = samplerOfFirst(name.replace(PARENT_BASED, ""), ratio);
  if (!name.startsWith(PARENT_BASED)) return first;
  return (traceId, caller) => caller?.isSampled ?? first(traceId, caller);
}

function samplerOfFirst(name: string, ratio: number): Sampler {
  if (name === "always_on") return () => true;
  if (name === "always_off") return () => false;
  return (traceId) => Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) / RANDOM_VALUES >= 1 - ratio;
}
