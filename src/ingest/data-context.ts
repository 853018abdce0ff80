import type { IncomingMessage } from "node:http";
import type pg from "pg";
import type { Resource } from "#contract/resource.ts";
import type { AdmissionContext } from "../identity/authorize.ts";
import type { Principal } from "../identity/permissions.ts";
import type { ErrorDetail } from "../platform/errors/registry.ts";
import type { BodyBudget, BodyLimits } from "../platform/http/receive-body.ts";
import type { RequestLogContext } from "../platform/http/request-log.ts";
import type { HeavySenders } from "./heavy-senders.ts";
import type { Acceptance, AcceptLog } from "./log/accept-log.ts";
import type { PropertyRegister } from "./log/property-register.ts";
import type { RedactionListWatch } from "./redact.ts";

/** What the data endpoints work with, created once per thread. */
export interface DataContext extends AdmissionContext, RequestLogContext {
  readonly pool: pg.Pool;
  readonly acceptLog: AcceptLog;
  /** See YieldingLog. */
  yieldingLog(): Promise<AcceptLog>;
  readonly heavySenders: HeavySenders;
  readonly backfills: BackfillGate;
  readonly properties: PropertyRegister;
  /** Redaction of records on arrival. */
  readonly redactions: RedactionListWatch;
  readonly batchWatch: BatchWatch;
  readonly budget: BodyBudget;
  readonly limits: BodyLimits & { readonly recordsMax: number; readonly depthMax: number };
  /** Why this thread cannot accept batches now; undefined if it can. */
  blockedReason(): string | undefined;
}

/** Admits batches that name a backfill. */
export interface BackfillGate {
  /** Throws ServiceError if the batch must not be part of it, or not now. */
  admit(clientId: string, backfillId: string, resource: Resource): Promise<Admitted>;
}

/** An admitted batch. */
export interface Admitted {
  readonly clientCode: string;
  readonly propertyCode: string;
  /** Rejects as `admit` if the backfill has ended: the body may have taken minutes to arrive. */
  stillOpen(): Promise<unknown>;
  /** Must be called once, when the batch is answered. */
  done(): void;
}

/** Notified of each batch as it is answered: on the hot path, so it must return at once. */
export interface BatchWatch {
  accepted(post: WatchedPost, acceptance: Pick<Acceptance, "requestId" | "repeated">): void;
  refused(post: WatchedPost, refusal: Refusal): void;
}

/** A POST to a data endpoint, as far as it got. */
export interface WatchedPost {
  readonly endpoint: { readonly resource: Resource };
  readonly raw: IncomingMessage;
  /** Undefined before the request is authorised. */
  readonly principal: Principal | undefined;
  readonly parameters: { readonly idempotencyKey: string | null; readonly lenient: boolean } | undefined;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly violations?: readonly ErrorDetail[] | undefined;
}
