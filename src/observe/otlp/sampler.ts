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

/**
 * Whether a trace is sampled. By ratio every service decides alike, from the trace's id. `caller` is the span that asked, if
 * it said so: samplers that are based on it do as it did.
 */
export function isSampled(
  sampler: SamplerName,
  ratio: number,
  traceId: string,
  caller: CallerSpan | undefined,
): boolean {
  if (sampler.startsWith(PARENT_BASED) && caller !== undefined) return caller.isSampled;
  switch (sampler.replace(PARENT_BASED, "")) {
    case "always_on":
      return true;
    case "always_off":
      return false;
    default:
      return Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16) / RANDOM_VALUES >= 1 - ratio;
  }
}
