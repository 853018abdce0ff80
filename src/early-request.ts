import type { IncomingMessage } from "node:http";
import type { BearerResult } from "./identity/authenticator.ts";
import type { RateResult } from "./identity/rate-limiter.ts";
import type { DataRequest, IngestedBatch } from "./ingest/ingest-batch.ts";
import type { RequestWaits } from "./platform/telemetry/request-waits.ts";

/**
 * A data request that was worked on before the framework saw it, and then came to something that the framework answers,
 * as it answers all others: an error, or no permission. What was done is not done again.
 */
export interface EarlyRequest {
  /** When its headers had come, in milliseconds of `performance.now`. */
  readonly startedAtMs: number;
  readonly waits: RequestWaits;
  readonly bearer: BearerResult;
  /** Undefined where the bearer token did not allow to ask for it. */
  readonly rate?: RateResult;
  /** Undefined where token or rate did not allow it. */
  readonly taken?: { readonly request: DataRequest; readonly batch: Promise<IngestedBatch> };
}

const early = new WeakMap<IncomingMessage, EarlyRequest>();

/** Keeps what was done, for the framework's routes. */
export function keepEarlyRequest(raw: IncomingMessage, request: EarlyRequest): void {
  early.set(raw, request);
}

/** What was done before the framework saw the request. */
export function earlyRequestOf(raw: IncomingMessage): EarlyRequest | undefined {
  return early.get(raw);
}
