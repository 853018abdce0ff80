import type { IncomingMessage } from "node:http";
import type pg from "pg";
import type { Logger } from "pino";
import type { BackfillAdmission } from "./backfill/admission.ts";
import type { WireNotes } from "./certification/wire-notes.ts";
import type { Authenticator, RateLimiter } from "./identity/authenticator.ts";
import type { ClientSemaphores } from "./ingest/client-semaphores.ts";
import type { AcceptLog, PropertyRegister } from "./ingest/log/accept-log.ts";
import type { RedactionListWatch } from "./ingest/redact.ts";
import type { BodyBudget, BodyLimits } from "./platform/http/receive-body.ts";
import type { Semaphore } from "./platform/runtime/semaphore.ts";
import type { Metrics } from "./platform/telemetry/metrics.ts";
import type { Tracer } from "./platform/telemetry/opentelemetry.ts";

/** What the routes work with; made once by main. */
export interface HttpContext {
  readonly pool: pg.Pool;
  /** Few connections of their own for insights and backfills, which nothing else waits for. */
  readonly questions: pg.Pool;
  /** Turns of backfills among all clients, within those of each: however long they take, a connection is left to insights. */
  readonly backfillTurns: ClientSemaphores;
  /** One insight or backfill of a client at a time on a thread: it takes one of the connections, and no more work than pauses bound. */
  readonly questionTurns: ClientSemaphores;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Requests that take at least this many milliseconds are logged; 0: none. */
  readonly slowRequestMs: number;
  /** Undefined where nothing is traced. */
  readonly tracer: Tracer | undefined;
  readonly authenticator: Authenticator;
  /** What cursors are encrypted with: the same on all nodes, of this installation alone. */
  readonly cursorKey: Buffer;
  readonly rateLimiter: RateLimiter;
  readonly acceptLog: AcceptLog;
  /** The log by way of log writers that appliers read after the others; opened with the first batch of a backfill. */
  backfillLog(): Promise<AcceptLog>;
  readonly backfills: BackfillAdmission;
  readonly properties: PropertyRegister;
  /** What is taken out of records before they are kept. */
  readonly redactions: RedactionListWatch;
  /** Takes note of what clients under certification do. */
  readonly wireNotes: WireNotes;
  /** Reports of certifications are read one at a time, and clients take turns. */
  readonly reports: Semaphore;
  readonly budget: BodyBudget;
  readonly limits: BodyLimits & {
    readonly recordsMax: number;
    readonly depthMax: number;
    readonly headersTimeoutMs: number;
    readonly requestTimeoutMs: number;
    readonly keepAliveTimeoutMs: number;
    /** A client that takes nothing of its answer for so long, or up to twice as long, is cut off. */
    readonly stalledTimeoutMs: number;
  };
  /** The client's address: the connection's, or behind trusted proxies the one that they name. */
  clientAddress(raw: IncomingMessage): string;
  /** How many nodes there are for requests of this kind, this one among them. */
  nodes(role: "accept" | "read"): number;
  /** What this node is there for. */
  readonly roles: readonly string[];
  /** Whether the process is stopping: it still answers, and wants no more connections. */
  isLeaving(): boolean;
  /** Why no batch can be accepted now on this thread; undefined when one can. */
  blockedReason(): string | undefined;
  /** Why no balancer should send requests to the process: as long as one thread cannot take them. */
  processBlockedReason(): Promise<string | undefined>;
  /** The metrics of the whole process in the Prometheus text format. */
  processMetrics(): Promise<string>;
}
