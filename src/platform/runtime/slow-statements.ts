import type { StatementWatch } from "../db/watch-statements.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Tells the log, and counts, which statements of a thread took `slowMs` or longer; 0: none does. */
export function tellSlowStatements(slowMs: number, log: Logger, metrics: Metrics): StatementWatch {
  return {
    slowMs: slowMs === 0 ? Number.POSITIVE_INFINITY : slowMs,
    slow(statement, durationMs) {
      metrics.slowStatements.inc({ statement });
      log.warn({ statement, ms: Math.round(durationMs * 10) / 10 }, "slow statement");
    },
  };
}
