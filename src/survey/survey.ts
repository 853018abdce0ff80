import type { MetricValues } from "../observe/metrics.ts";
import { type Look, OFTEN, SELDOM, type Surveyed } from "./look.ts";
import { createSurveyMetrics } from "./survey-metrics.ts";

/**
 * How often it is looked, in milliseconds; the first time soon after the start. A look that takes long comes again later: after
 * so many times as long as it took, which is a twentieth of one connection at most.
 */
const PACE = { first: 500, often: 10_000, seldom: 60_000, restPerWork: 20 };

export interface SurveyOptions extends Omit<Surveyed, "metrics"> {
  /** A look failed; the others go on, and it is tried again. */
  failed(error: unknown): void;
  readonly pace?: typeof PACE;
}

export interface Survey {
  metrics(): Promise<MetricValues>;
  /** What a look under way answers is of no interest any more. */
  stop(): void;
}

/**
 * Looks at the installation as a whole now and again: what it saw last is what is told. One question at a time, so that it takes
 * one connection.
 */
export function startSurvey({ failed, pace = PACE, ...surveyed }: SurveyOptions): Survey {
  const metrics = createSurveyMetrics();
  let stopped = false;
  let turn: Promise<void> = Promise.resolve();
  const timers = new Set<NodeJS.Timeout>();
  const look = async (one: Look): Promise<void> => {
    if (stopped) return;
    try {
      await one({ ...surveyed, metrics });
    } catch (error) {
      if (stopped) return;
      metrics.failures.inc();
      failed(error);
    }
  };
  const repeat = (looks: readonly Look[], everyMs: number, firstMs: number) => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      turn = turn.then(async () => {
        const beganAt = performance.now();
        for (const one of looks) await look(one);
        const tookMs = performance.now() - beganAt;
        if (!stopped) repeat(looks, everyMs, Math.max(everyMs, tookMs * pace.restPerWork));
      });
    }, firstMs).unref();
    timers.add(timer);
  };
  repeat(OFTEN, pace.often, pace.first);
  repeat(SELDOM, pace.seldom, pace.first);
  return {
    metrics: () => metrics.registry.getMetricsAsJSON(),
    stop() {
      stopped = true;
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
