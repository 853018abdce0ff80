import type { IncomingMessage } from "node:http";
import type pg from "pg";
import type { Logger } from "pino";
import type { BackfillAdmission } from "./backfill/admission.ts";
import type { WireNotes } from "./certification/wire-notes.ts";
import type { Authenticator, RateLimiter } from "./identity/authenticator.ts";
import type { AcceptLog, PropertyRegister } from "./ingest/log/accept-log.ts";
import type { RedactionListWatch } from "./ingest/redact.ts";
import type { ClientSemaphores } from "./platform/http/client-semaphores.ts";
import type { BodyBudget, BodyLimits } from "./platform/http/receive-body.ts";
import type { Semaphore } from "./platform/runtime/semaphore.ts";
import type { Metrics } from "./platform/telemetry/metrics.ts";
import type { Tracer } from "./platform/telemetry/opentelemetry.ts";

/** Dependencies of the routes, created once per thread. */
export interface HttpContext {
  readonly pool: pg.Pool;
  /** A small separate pool for insights and backfills. */
  readonly questions: pg.Pool;
  /** One slot for backfill queries of all clients, within each client's slot, so that a connection always remains for insights. */
  readonly backfillSemaphore: ClientSemaphores;
  /** One insight or backfill query per client and thread at a time, each using one connection of the pool. */
  readonly querySemaphores: ClientSemaphores;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Requests that take at least this many milliseconds are logged; 0 disables. */
  readonly slowRequestMs: number;
  /** Undefined without tracing. */
  readonly tracer: Tracer | undefined;
  readonly authenticator: Authenticator;
  /** The key that encrypts cursors, shared by all nodes of the installation. */
  readonly cursorKey: Buffer;
  readonly rateLimiter: RateLimiter;
  readonly acceptLog: AcceptLog;
  /** See YieldingLog. */
  yieldingLog(): Promise<AcceptLog>;
  readonly backfills: BackfillAdmission;
  readonly properties: PropertyRegister;
  /** Redaction of records on arrival. */
  readonly redactions: RedactionListWatch;
  /** Records protocol events of clients under certification. */
  readonly wireNotes: WireNotes;
  /** Certification reports are read one at a time; clients take turns. */
  readonly reports: Semaphore;
  readonly budget: BodyBudget;
  readonly limits: BodyLimits & {
    readonly recordsMax: number;
    readonly depthMax: number;
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly keepAliveTimeoutMs: number;
    /** A client that reads nothing of its response for this long, or at most twice as long, is disconnected. */
    readonly stalledTimeoutMs: number;
    /** How often the progress of bodies is checked. */
    readonly slowBodyMs: number;
  };
  /** The client's address: of the connection, or as forwarded by trusted proxies. */
  clientAddress(raw: IncomingMessage): string;
  /** The number of nodes for this kind of request, including this one. */
  nodes(role: "accept" | "read"): number;
  /** This node's roles. */
  readonly roles: readonly string[];
  /** Whether the process is stopping: it still answers, but wants no more connections. */
  isLeaving(): boolean;
  /** Why this thread cannot accept batches now; undefined if it can. */
  blockedReason(): string | undefined;
  /** Why load balancers should not send requests to the process: a thread cannot serve them. */
  processBlockedReason(): Promise<string | undefined>;
  /** The metrics of the whole process in the Prometheus text format. */
  processMetrics(): Promise<string>;
}
