/**
 * Every error the service answers with, in one place: a stable code, its status and its public text.
 * A code is never reused or renamed. `docs/contract.md` and the OpenAPI document list the same codes
 * (a parity test holds them to it).
 */
export const ERRORS = {
  "bellhop.contract.MalformedJson": { status: 400, text: "The body is not valid JSON." },
  "bellhop.contract.NotAnArray": { status: 400, text: "The body must be a JSON array of records." },
  "bellhop.contract.EmptyBatch": { status: 400, text: "The batch is empty: send at least one record." },
  "bellhop.contract.TooManyRecords": {
    status: 400,
    text: "The batch has more records than are allowed in one request.",
  },
  "bellhop.contract.InvalidRecords": {
    status: 400,
    text: "The batch has invalid records; violations lists them.",
  },
  "bellhop.http.BadRequest": { status: 400, text: "The request could not be understood." },
  "bellhop.http.InvalidParameter": { status: 400, text: "A parameter of the request is not valid." },
  "bellhop.http.NotFound": { status: 404, text: "There is nothing at this address." },
  "bellhop.http.MethodNotAllowed": { status: 405, text: "This address does not take that method." },
  "bellhop.http.RequestTimeout": { status: 408, text: "The request took too long to arrive." },
  "bellhop.http.PayloadTooLarge": { status: 413, text: "The body is larger than is allowed." },
  "bellhop.http.UnsupportedMediaType": { status: 415, text: "Send the body as application/json in UTF-8." },
  "bellhop.http.UnsupportedEncoding": {
    status: 415,
    text: "Content-Encoding must be gzip, br, zstd or identity.",
  },
  "bellhop.http.InvalidHeader": { status: 422, text: "A header of the request is not valid." },
  "bellhop.http.HeadersTooLarge": { status: 431, text: "The request's headers are too large." },
  "bellhop.http.RateLimitExceeded": { status: 429, text: "rate limit exceeded" },
  "bellhop.http.Internal": {
    status: 500,
    text: "An internal error occurred; it was logged under this request's id.",
  },
  "bellhop.accept.IdempotencyKeyReused": {
    status: 422,
    text: "This Idempotency-Key was used within 24 hours with another body, path, Prefer or Backfill-Id header.",
  },
  "bellhop.accept.TooManyNewProperties": {
    status: 429,
    text: "This client has named as many new properties as it may in one day.",
  },
  "bellhop.accept.Unavailable": {
    status: 503,
    text: "The batch could not be written durably now; nothing was accepted. Send it again later.",
  },
  "bellhop.backfill.InvalidManifest": {
    status: 400,
    text: "The manifest cannot be used; violations lists why.",
  },
  "bellhop.backfill.NotFound": { status: 404, text: "No backfill of yours has this id." },
  "bellhop.backfill.NotOpen": { status: 409, text: "This backfill is not open any more." },
  "bellhop.backfill.NotReady": {
    status: 409,
    text: "Batches of this backfill are not applied yet: close it again later.",
  },
  "bellhop.backfill.HasGaps": {
    status: 409,
    text: "Something that the manifest names is missing: send it, or close with acceptGaps.",
  },
  "bellhop.backfill.UnknownBackfill": {
    status: 422,
    text: "Backfill-Id names no backfill of yours; nothing was accepted.",
  },
  "bellhop.backfill.NotInManifest": {
    status: 422,
    text: "The batch has something that the manifest of its backfill does not name; nothing was accepted.",
  },
  "bellhop.backfill.Ahead": {
    status: 429,
    text: "Enough of this backfill waits to be applied; nothing was accepted. Send it again after Retry-After.",
  },
  "bellhop.backfill.TooManyOpen": {
    status: 429,
    text: "This client has as many backfills open as it may.",
  },
  "bellhop.read.RequestNotFound": { status: 404, text: "No request of yours has this id." },
  "bellhop.insight.TooLarge": {
    status: 400,
    text: "The question needs more rows than one answer may read: ask for fewer nights.",
  },
  "bellhop.insight.TimedOut": {
    status: 503,
    text: "The question took longer than a question may: ask for fewer nights, or again after Retry-After.",
  },
  "bellhop.feed.CursorGone": {
    status: 410,
    text: "What followed this cursor is not kept any more: read the records anew, then begin the feed again.",
  },
  "bellhop.webhook.InvalidWebhook": {
    status: 422,
    text: "The webhook endpoint cannot be as it was asked for.",
  },
  "bellhop.webhook.NotFound": { status: 404, text: "No webhook endpoint of yours has this id." },
} as const satisfies Record<string, { status: number; text: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** One entry of an error body's `violations` (made by `contract`, which imports nothing, so the shape stands here too). */
export interface ErrorDetail {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** An error with a public face. Whatever is private belongs in `cause`: it is logged with the request id, never sent. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly violations: readonly ErrorDetail[] | undefined;
  readonly violationTotal: number | undefined;

  constructor(
    code: ErrorCode,
    options: {
      message?: string;
      cause?: unknown;
      retryAfterSeconds?: number;
      violations?: readonly ErrorDetail[];
      violationTotal?: number;
    } = {},
  ) {
    super(options.message ?? ERRORS[code].text, { cause: options.cause });
    this.name = "ServiceError";
    this.code = code;
    this.status = ERRORS[code].status;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.violations = options.violations;
    this.violationTotal = options.violationTotal;
  }
}
