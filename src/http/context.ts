import type pg from "pg";
import type { Logger } from "pino";
import type { AcceptLog } from "../accept/accept-log.ts";
import type { PropertyRegister } from "../accept/property-register.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import type { RateLimiter } from "../auth/rate-limiter.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BodyBudget } from "./body-budget.ts";
import type { BodyLimits } from "./body-collector.ts";

/** What the routes work with; made once by main. */
export interface HttpContext {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly authenticator: Authenticator;
  readonly rateLimiter: RateLimiter;
  readonly acceptLog: AcceptLog;
  readonly properties: PropertyRegister;
  readonly budget: BodyBudget;
  readonly limits: BodyLimits & {
    readonly recordsMax: number;
    readonly depthMax: number;
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly keepAliveTimeoutMs: number;
  };
  /** Why no batch can be accepted now on this thread; undefined when one can. */
  blockedReason(): string | undefined;
  /** The same of the whole process: as long as one thread can accept nothing. */
  processBlockedReason(): Promise<string | undefined>;
  /** The metrics of the whole process in the Prometheus text format. */
  processMetrics(): Promise<string>;
}
