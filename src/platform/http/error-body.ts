import { STATUS_CODES } from "node:http";
import type { FastifyReply } from "fastify";
import { isDatabaseOutage } from "../db/database-errors.ts";
import { type ErrorDetail, ServiceError } from "../errors/registry.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";

/** Retry-After during a database outage: about the time to reopen a log writer. */
const OUTAGE_RETRY_AFTER_SECONDS = 2;

/** Where errors are logged and counted. */
export interface ErrorContext {
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** The public part of a ServiceError. */
export interface PublicError {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
  readonly violations?: readonly ErrorDetail[] | undefined;
  readonly violationTotal?: number | undefined;
}

/** The body of an error response: the five fields of section 7 of the specification, and violations if any. */
export function errorBody(error: PublicError) {
  return {
    timestamp: new Date().toISOString(),
    status: error.status,
    error: STATUS_CODES[error.status] ?? "Error",
    exception: error.code,
    message: error.message,
    ...(error.violations === undefined ? {} : { violations: error.violations }),
    ...(error.violationTotal === undefined ? {} : { violationTotal: error.violationTotal }),
  };
}

export const JSON_TYPE = "application/json; charset=utf-8";

/** The `Retry-After` header of a retryable error, in whole seconds. */
export function retryAfterOf({ retryAfterSeconds }: PublicError): string | undefined {
  return retryAfterSeconds === undefined ? undefined : String(Math.ceil(retryAfterSeconds));
}

export function sendError(reply: FastifyReply, error: PublicError): FastifyReply {
  const retryAfter = retryAfterOf(error);
  if (retryAfter !== undefined) reply.header("retry-after", retryAfter);
  return reply
    .code(error.status)
    .type(JSON_TYPE)
    .send(JSON.stringify(errorBody(error)));
}

/** Converts an exception of a request to the error to respond with. Counts it, and logs internal errors. */
export function reportError(
  { log, metrics }: ErrorContext,
  httpRequestId: string,
  thrown: unknown,
): ServiceError {
  const error = asServiceError(thrown);
  metrics.errors.inc({ code: error.code });
  for (const { code } of error.violations ?? []) metrics.violations.inc({ code });
  if (error.status >= 500)
    log.error({ httpRequestId, code: error.code, err: error.cause ?? error }, "request failed");
  return error;
}

/** Converts any exception to a ServiceError: a database outage to 503, and unknown errors to Internal. */
function asServiceError(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  if (isDatabaseOutage(error)) {
    return new ServiceError("bellhop.accept.Unavailable", {
      message: "The database cannot be reached now. Send the same request again later.",
      cause: error,
      retryAfterSeconds: OUTAGE_RETRY_AFTER_SECONDS,
    });
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return new ServiceError("bellhop.http.UnsupportedMediaType", { cause: error });
  }
  const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
  if (typeof status === "number" && status >= 400 && status < 500) {
    return new ServiceError("bellhop.http.BadRequest", { cause: error });
  }
  return new ServiceError("bellhop.http.Internal", { cause: error });
}
