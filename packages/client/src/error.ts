import type { ErrorCode, ViolationCode } from "./api-types.ts";

/** What the client itself says went wrong; every other code is the service's. */
export type ClientErrorCode =
  /** No answer came, or the connection broke: the cause says how. */
  | "client.Network"
  /** No whole answer came within the time for one attempt. */
  | "client.Timeout"
  /** An answer came that was cut off, or that no Bellhop gives (a proxy's page, say). */
  | "client.UnexpectedAnswer"
  /** Another token would be more than the specification lets a partner ask for (section 5: six an hour). */
  | "client.TokenLimit"
  /** The record cannot be written as JSON (a BigInt, a cycle, `undefined`). */
  | "client.NotJson"
  /** A `send` was aborted, or its records could not be read on: the cause says why. */
  | "client.Interrupted"
  /** The input is no JSON array of records and no NDJSON. */
  | "client.UnreadableInput"
  /** An option of the client cannot be used. */
  | "client.InvalidOption";

/** Codes of OAuth 2.0 (RFC 6749 section 5.2, RFC 6750 section 3.1), after `oauth.`. */
type OAuthErrorCode = `oauth.${string}`;
/** An answer without a code of its own: its status. */
type StatusErrorCode = `http.${number}`;

/** A stable code: decide by this, never by the message. The service may add others. */
export type BellhopErrorCode = ErrorCode | ClientErrorCode | OAuthErrorCode | StatusErrorCode;

/** One reason for which one of the caller's records was refused. */
export interface RecordViolation {
  /** JSON pointer (RFC 6901) into the record: `/roomStays/0/arrivalDate`; empty for the record itself. */
  readonly pointer: string;
  readonly code: ViolationCode;
  readonly message: string;
  /** The record's place in what was given to `send`, from 0. */
  readonly index: number;
  /** The record, as it was given to `send`. */
  readonly record: unknown;
}

/** What is known of an error beside its message. */
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
 * Whatever went wrong between the client and the service, typed.
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
  /** The stable code. */
  readonly exception: BellhopErrorCode;
  /** The HTTP status; undefined where there was no answer. */
  readonly status: number | undefined;
  /** `X-Request-Id` of the answer, under which the service logged it: name it when you ask for help. */
  readonly requestId: string | undefined;
  /** Why records were refused, each with the caller's own record. The service lists at most 100 an answer. */
  readonly violations: readonly RecordViolation[];
  /** How many there were in all. */
  readonly violationTotal: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** How long the service asked to wait, in milliseconds. */
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
