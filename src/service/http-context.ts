import type { BackfillContext } from "../backfill/backfill-routes.ts";
import type { CertificationContext } from "../certification/certification-route.ts";
import type { ConsoleContext } from "../console/console-parts.ts";
import type { FormContext } from "../identity/receive-form.ts";
import type { DataContext } from "../ingest/data-context.ts";
import type { PartnerInsightContext } from "../insight/insight-routes.ts";
import type { MetricsContext } from "../operations/metrics/metrics-route.ts";
import type { ReadContext } from "../query/property.ts";

/** What the routes of every feature work with, created once per thread. Each feature declares its own part. */
export interface HttpContext
  extends DataContext,
    FormContext,
    ReadContext,
    BackfillContext,
    PartnerInsightContext,
    CertificationContext,
    ConsoleContext,
    MetricsContext {
  readonly limits: DataContext["limits"] & {
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly keepAliveTimeoutMs: number;
    /** A client that reads nothing of its response for this long, or at most twice as long, is disconnected. */
    readonly stalledTimeoutMs: number;
    /** How often the progress of bodies is checked. */
    readonly slowBodyMs: number;
  };
  /** This node's roles. */
  readonly roles: readonly string[];
  /** Whether the process is stopping: it still answers, but wants no more connections. */
  isLeaving(): boolean;
  /** Why load balancers should not send requests to the process: a thread cannot serve them. */
  processBlockedReason(): Promise<string | undefined>;
}
