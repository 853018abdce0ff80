import type { ErrorCode, ViolationCode } from "./api-types.ts";

/** Errors of the client itself; all other codes are the service's. */
export type ClientErrorCode =
  /** No response, or the connection was lost; see `cause`. */
  | "client.Network"
  /** No complete response within `timeoutMs`. */
  | "client.Timeout"
  /** A truncated response, or one not sent by Bellhop (such as a proxy's page). */
  | "client.UnexpectedAnswer"
  /** Another token would exceed the limit of six per hour (specification, section 5). */
  | "client.TokenLimit"
  /** The record is not serialisable as JSON (a BigInt, a cycle, `undefined`). */
  | "client.NotJson"
  /** A `send` was aborted, or its records could not be read; see `cause`. */
  | "client.Interrupted"
  /** The input is neither a JSON array nor NDJSON. */
  | "client.UnreadableInput"
  /** An invalid option. */
  | "client.InvalidOption";

/** Codes of OAuth 2.0 (RFC 6749 section 5.2, RFC 6750 section 3.1), after `oauth.`. */
type OAuthErrorCode = `oauth.${string}`;
/** The status of a response without a code. */
type StatusErrorCode = `http.${number}`;

/** A stable code: handle errors by it, not by the message. The service may add codes. */
export type BellhopErrorCode = ErrorCode | ClientErrorCode | OAuthErrorCode | StatusErrorCode;

/** A reason why a record was refused. */
export interface RecordViolation {
  /** JSON pointer (RFC 6901) into the record: `/roomStays/0/arrivalDate`; empty for the record itself. */
  readonly pointer: string;
  readonly code: ViolationCode;
  readonly message: string;
  /** Position in the input of `send`, from 0. */
  readonly index: number;
  /** The record as passed to `send`. */
  readonly record: unknown;
}

export interface BellhopErrorFacts {
  readonly exception: BellhopErrorCode;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly violations?: readonly RecordViolation[] | undefined;
  readonly violationTotal?: number | undefined;
  readonly retryable?: boolean | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/**
 * An error of the client or the service.
 *
 * @example
 * try {
 *   await bellhop.requests.get(requestId);
 * } catch (error) {
 *   if (error instanceof BellhopError && error.exception === "bellhop.read.RequestNotFound") return undefined;
 *   throw error;
 * }
 */
export class BellhopError extends Error {
  override readonly name: string = "BellhopError";
  readonly exception: BellhopErrorCode;
  /** HTTP status; undefined without a response. */
  readonly status: number | undefined;
  /** `X-Request-Id` of the response: quote it when contacting support. */
  readonly requestId: string | undefined;
  /** Why records were refused; at most 100 per response. */
  readonly violations: readonly RecordViolation[];
  /** The total number of violations. */
  readonly violationTotal: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** `Retry-After` in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, facts: BellhopErrorFacts) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.exception = facts.exception;
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.violations = facts.violations ?? [];
    this.violationTotal = facts.violationTotal ?? this.violations.length;
    this.retryable = facts.retryable ?? false;
    this.retryAfterMs = facts.retryAfterMs;
  }
}

export function invalidOption(message: string): BellhopError {
  return new BellhopError(message, { exception: "client.InvalidOption" });
}
