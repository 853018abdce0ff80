/** The answer for an error code, and its documentation for partners' developers (Markdown, except `text`). */
export interface ErrorEntry {
  readonly status: number;
  readonly text: string;
  /** When it is answered, as the middle of a sentence. */
  readonly cause: string;
  /** What to do, as the middle of a sentence. */
  readonly remedy: string;
  /** The same request may be sent again; without it only a fixed one. */
  readonly again?: "same";
  /** In whole sentences. */
  readonly more?: string;
}

/**
 * Every error the service answers with; a code is never reused or renamed. `npm run docs:write` generates docs/errors.md
 * and the table in docs/contract.md from it, and the OpenAPI document lists the same codes.
 */
export const ERRORS = {
  "bellhop.contract.MalformedJson": {
    status: 400,
    text: "The body is not valid JSON.",
    cause:
      "the body is not JSON in UTF-8, nested too deep, or has a record that is too large; the message says where",
    remedy: "fix the sender",
    more: "The message states the record and the byte of the (decompressed) body. Common causes: a body that was cut off, a comma behind the last item, a byte order mark, `NaN`, another character set than UTF-8, a field that stands twice.",
  },
  "bellhop.contract.NotAnArray": {
    status: 400,
    text: "The body must be a JSON array of records.",
    cause: "JSON, but not an array",
    remedy: "wrap the record in `[` `]`",
    more: "A batch is always an array, of one record too.",
  },
  "bellhop.contract.EmptyBatch": {
    status: 400,
    text: "The batch is empty: send at least one record.",
    cause: "`[]`",
    remedy: "send nothing when there is nothing",
    more: "An empty batch is more often a fault of the sender than a message: a query that found nothing, a filter that is wrong.",
  },
  "bellhop.contract.TooManyRecords": {
    status: 400,
    text: "The batch has more records than are allowed in one request.",
    cause: "more records than a batch may have",
    remedy: "send it in parts",
    more: "10,000 unless your operator says otherwise. Some hundreds a batch are best for both sides.",
  },
  "bellhop.contract.InvalidRecords": {
    status: 400,
    text: "The batch has invalid records; violations lists them.",
    cause: "records that cannot be stored and understood; lenient: not one valid record",
    remedy: "fix what `violations` names; the rest of the batch was not kept either",
    more: "Each violation has a `pointer` into the batch as sent, a stable `code` ([the list](records.md#violations-why-a-record-is-refused)) and a `message`. To have the valid records accepted all the same, send `Prefer: handling=lenient`.",
  },
  "bellhop.http.BadRequest": {
    status: 400,
    text: "The request could not be understood.",
    cause: "not HTTP/1.1, a repeated header, data that does not decompress, a body that ends early",
    remedy: "fix the sender",
    more: "Bellhop closes the connection if it cannot tell where the request's body ends.",
  },
  "bellhop.http.InvalidParameter": {
    status: 400,
    text: "A parameter of the request is not valid.",
    cause: "reading: a parameter is unknown, repeated or not valid",
    remedy: "the message says what it takes",
    more: "A cursor belongs to the query it came from: with other parameters it is no longer valid.",
  },
  "bellhop.http.NotFound": {
    status: 404,
    text: "There is nothing at this address.",
    cause: "there is nothing at this address",
    remedy: "see the address",
    more: "Also where this node does not serve that kind of request: one that only accepts has no addresses to read from.",
  },
  "bellhop.http.MethodNotAllowed": {
    status: 405,
    text: "This address does not take that method.",
    cause: "`Allow` names the methods",
    remedy: "see the method",
  },
  "bellhop.http.RequestTimeout": {
    status: 408,
    text: "The request took too long to arrive.",
    cause: "headers or body came too slowly",
    remedy: "send again; send smaller batches over slow lines",
    again: "same",
    more: "Headers have 10 seconds and the whole request 60, unless your operator says otherwise. A compressed body is much shorter.",
  },
  "bellhop.http.PayloadTooLarge": {
    status: 413,
    text: "The body is larger than is allowed.",
    cause: "too large on the wire or decompressed",
    remedy: "send it in parts",
    more: "16 MiB on the wire and 64 MiB decompressed, unless your operator says otherwise. Bytes are counted as they come, so the answer may come before the end of the body. A chunked body whose chunks average less than 64 bytes over a thousand in a row is refused too, and its connection closed: buffer what you write.",
  },
  "bellhop.http.UnsupportedMediaType": {
    status: 415,
    text: "Send the body as application/json in UTF-8.",
    cause: "not `application/json` in UTF-8",
    remedy: "set `Content-Type`",
  },
  "bellhop.http.UnsupportedEncoding": {
    status: 415,
    text: "Content-Encoding must be gzip, br, zstd or identity.",
    cause: "a `Content-Encoding` that is not known",
    remedy: "gzip, br, zstd or none",
    more: "One encoding, not several on top of each other.",
  },
  "bellhop.http.InvalidHeader": {
    status: 422,
    text: "A header of the request is not valid.",
    cause: "an optional header that cannot be used; the message names it",
    remedy: "fix it or leave it out",
  },
  "bellhop.http.HeadersTooLarge": {
    status: 431,
    text: "The request's headers are too large.",
    cause: "more than 16 kB of headers, or more than 100",
    remedy: "send fewer",
  },
  "bellhop.http.RateLimitExceeded": {
    status: 429,
    text: "rate limit exceeded",
    cause: "more requests than your rate",
    remedy: "wait `Retry-After` seconds, then the same again",
    again: "same",
    more: "Nothing was kept. `RateLimit` on every answer reports the remaining quota; a large batch counts as several requests ([limits](contract.md#limits)).",
  },
  "bellhop.http.Internal": {
    status: 500,
    text: "An internal error occurred; it was logged under this request's id.",
    cause: "a fault of ours",
    remedy: "the same again later; name `X-Request-Id` when you ask",
    again: "same",
    more: "What went wrong is in the log under that id, and never in the answer. Whether the batch was kept is unknown: send it again with the same `Idempotency-Key`.",
  },
  "bellhop.accept.IdempotencyKeyReused": {
    status: 422,
    text: "This Idempotency-Key was used within 24 hours with another body, path, Prefer or Backfill-Id header.",
    cause: "the key stands for another body, path, handling or backfill within 24 hours",
    remedy: "a new key for a new batch",
    more: "Usually a body that was put together anew for a retry, with another source time or another order of fields: keep the bytes, and send those. See [retries](guides/retries.md).",
  },
  "bellhop.accept.TooManyNewProperties": {
    status: 429,
    text: "This client has named as many new properties as it may in one day.",
    cause: "more properties never named before than a day allows; nothing was kept",
    remedy: "ask your operator",
    again: "same",
    more: "It protects from a sender that makes up codes. For a chain that goes live in one day your operator can raise it.",
  },
  "bellhop.accept.Unavailable": {
    status: 503,
    text: "The batch could not be written durably now; nothing was accepted. Send it again later.",
    cause:
      "it could not be made durable now (database away, disk full, queue full), or whether it was is unknown",
    remedy: "the same again after `Retry-After`, with the same `Idempotency-Key`",
    again: "same",
    more: "A 202 is only ever said of what is on disk, so this is what a full disk or a lost database looks like. Nothing that was accepted before is lost.",
  },
  "bellhop.backfill.InvalidManifest": {
    status: 400,
    text: "The manifest cannot be used; violations lists why.",
    cause: "a [manifest](backfill.md#the-manifest) that cannot be used",
    remedy: "fix what `violations` names",
    more: "Pointers are into the manifest. Each resource stands once, with dates in order and at most 3,700 days apart.",
  },
  "bellhop.backfill.NotFound": {
    status: 404,
    text: "No backfill of yours has this id.",
    cause: "no backfill of yours has this id, or it has no statement yet",
    remedy: "another client's looks the same",
  },
  "bellhop.backfill.NotOpen": {
    status: 409,
    text: "This backfill is not open any more.",
    cause: "the backfill is closed or abandoned; a batch that names it was not kept",
    remedy: "send the batch without `Backfill-Id`, or open another",
  },
  "bellhop.backfill.NotReady": {
    status: 409,
    text: "Batches of this backfill are not applied yet: close it again later.",
    cause: "closing: batches of it are not applied yet, or came within the last seconds",
    remedy: "close it again after `Retry-After`",
    again: "same",
  },
  "bellhop.backfill.HasGaps": {
    status: 409,
    text: "Something that the manifest names is missing: send it, or close with acceptGaps.",
    cause: "closing: something that the manifest names is missing; the message says what",
    remedy: "send it, or close with `acceptGaps`",
    more: "Each gap is listed at `/api/public/v1/backfills/{id}/gaps`. See [backfills](backfill.md#the-closing-statement).",
  },
  "bellhop.backfill.UnknownBackfill": {
    status: 422,
    text: "Backfill-Id names no backfill of yours; nothing was accepted.",
    cause: "`Backfill-Id` names no backfill of yours; nothing was kept",
    remedy: "open one, or leave the header out",
  },
  "bellhop.backfill.NotInManifest": {
    status: 422,
    text: "The batch has something that the manifest of its backfill does not name; nothing was accepted.",
    cause:
      "a resource, or a record of a property, that the backfill's manifest does not name; nothing was kept",
    remedy: "send it without `Backfill-Id`, or by another backfill",
  },
  "bellhop.backfill.Ahead": {
    status: 429,
    text: "Enough of this backfill waits to be applied; nothing was accepted. Send it again after Retry-After.",
    cause: "enough of this backfill waits to be applied; nothing was kept",
    remedy: "wait `Retry-After` seconds, then the same again",
    again: "same",
    more: "A backfill runs at lower priority than live batches, at some 500 to 1,500 records a second. See [backfills](backfill.md#batches-of-a-backfill).",
  },
  "bellhop.backfill.TooManyOpen": {
    status: 429,
    text: "This client has as many backfills open as it may.",
    cause: "the client has 100 backfills open",
    remedy: "close one",
    again: "same",
  },
  "bellhop.read.RequestNotFound": {
    status: 404,
    text: "No request of yours has this id.",
    cause: "no request of yours has this UUID",
    remedy: "another client's request looks the same",
    more: "A request is seen by the client that sent it and by nobody else, also not by another client of the same partner.",
  },
  "bellhop.insight.TooLarge": {
    status: 400,
    text: "The question needs more rows than one answer may read: ask for fewer nights.",
    cause: "an insight question needs more rows than one answer may read; the message says of which nights",
    remedy: "ask for fewer nights (`from`, `to`), or with `by=none`",
    more: "How much is read is estimated before it is read. A hotel's own records do not come near the bound; records of very many rooms or room types on the same night do.",
  },
  "bellhop.insight.TimedOut": {
    status: 503,
    text: "The question took longer than a question may: ask for fewer nights, or again after Retry-After.",
    cause: "an insight question took longer than 8 s, and was stopped",
    remedy: "ask for fewer nights, or the same again after `Retry-After`",
    again: "same",
    more: "Either the database is busy, or the property has very many records of the nights that were asked for.",
  },
  "bellhop.feed.CursorGone": {
    status: 410,
    text: "What followed this cursor is not kept any more: read the records anew, then begin the feed again.",
    cause: "the change feed does not go back to this cursor, or the database was restored to before it",
    remedy: "read the records anew, then [begin the feed again](changes.md#when-a-cursor-is-gone)",
  },
  "bellhop.webhook.InvalidWebhook": {
    status: 422,
    text: "The webhook endpoint cannot be as it was asked for.",
    cause: "a webhook endpoint cannot be as it was asked for",
    remedy: "the message says what it takes: [webhooks](webhooks.md#registering-an-endpoint)",
  },
  "bellhop.webhook.NotFound": {
    status: 404,
    text: "No webhook endpoint of yours has this id.",
    cause: "no webhook endpoint (or dead letter) of yours has this id",
    remedy: "another client's looks the same",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** One entry of an error body's `violations` (made by `contract`, which imports nothing, so the shape stands here too). */
export interface ErrorDetail {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** An error sent to the client. Private details belong in `cause`: it is logged with the request id and never sent. */
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
