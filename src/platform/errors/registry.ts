/** The response for an error code, and its documentation for partners (Markdown, except `text`). */
export interface ErrorEntry {
  readonly status: number;
  readonly text: string;
  /** When it occurs, as the middle of a sentence. */
  readonly cause: string;
  /** What to do, as the middle of a sentence. */
  readonly remedy: string;
  /** `same`: the same request can be retried. Absent: only a corrected one. */
  readonly again?: "same";
  /** Further documentation, in full sentences. */
  readonly more?: string;
}

/**
 * All errors of the public API; a code is never reused or renamed. `npm run generate -- docs` generates docs/errors.md and a
 * table of docs/contract.md from it; the OpenAPI document lists the same codes.
 */
export const ERRORS = {
  "bellhop.contract.MalformedJson": {
    status: 400,
    text: "The body is not valid JSON.",
    cause:
      "the body is not JSON in UTF-8, is incomplete, is nested too deep, or has a record that is too large; the message says where",
    remedy: "fix the request body",
    more: "The message names the record and the byte of the decompressed body. Common causes: a truncated body, a comma after the last item, a byte order mark, `NaN`, an encoding other than UTF-8.",
  },
  "bellhop.contract.NotAnArray": {
    status: 400,
    text: "The body must be a JSON array of records.",
    cause: "the body is JSON but not an array",
    remedy: "wrap the record in `[` `]`",
    more: "A batch is always an array, even with one record.",
  },
  "bellhop.contract.EmptyBatch": {
    status: 400,
    text: "The batch is empty: send at least one record.",
    cause: "the body is `[]`",
    remedy: "send at least one record, or no request",
    more: "An empty batch usually means a fault in the sender, such as a query that found nothing or a wrong filter.",
  },
  "bellhop.contract.TooManyRecords": {
    status: 400,
    text: "The batch has more records than one request may have.",
    cause: "the batch has more records than the limit",
    remedy: "split the batch",
    more: "The limit is 10,000 unless your operator changes it. A few hundred records per batch work best.",
  },
  "bellhop.contract.InvalidRecords": {
    status: 400,
    text: "The batch has invalid records; violations lists them.",
    cause: "at least one record is invalid; in a lenient batch: no record is valid",
    remedy: "fix what `violations` lists; no record of the batch was stored",
    more: "Each violation has a `pointer` into the batch, a stable `code` ([list](records.md#violations)) and a `message`. To have the valid records accepted, send `Prefer: handling=lenient`.",
  },
  "bellhop.http.BadRequest": {
    status: 400,
    text: "The request is malformed.",
    cause:
      "the request is not HTTP/1.1 or HTTP/1.0, repeats a header, does not decompress, has a body shorter than announced, or has an invalid JSON object (backfills and webhooks); the message says which",
    remedy: "fix the request",
    more: "Bellhop closes the connection if it cannot tell where the request's body ends.",
  },
  "bellhop.http.InvalidParameter": {
    status: 400,
    text: "A query parameter is invalid.",
    cause: "a query parameter is unknown, repeated or invalid",
    remedy: "follow the message, which says what the parameter takes",
    more: "A cursor is valid only with the query that returned it: send the same parameters.",
  },
  "bellhop.http.NotFound": {
    status: 404,
    text: "This address does not exist.",
    cause: "the address does not exist",
    remedy: "check the address",
    more: "A node that only ingests returns 404 for read requests.",
  },
  "bellhop.http.MethodNotAllowed": {
    status: 405,
    text: "This address does not support that method.",
    cause: "the address does not support the method",
    remedy: "use a method that `Allow` lists",
  },
  "bellhop.http.RequestTimeout": {
    status: 408,
    text: "The request took too long to arrive.",
    cause: "headers or body arrived too slowly",
    remedy: "send it again; send smaller batches over slow connections",
    again: "same",
    more: "The limit is 10 seconds for the headers and 60 seconds for the whole request, unless your operator changes it; a body that stalls for 5 to 10 seconds ends earlier. Compression makes a body much shorter.",
  },
  "bellhop.http.PayloadTooLarge": {
    status: 413,
    text: "The body is larger than the limit.",
    cause: "the body is too large, compressed or decompressed",
    remedy: "split the batch",
    more: "The message states the limit: of a batch 16 MiB on the wire and 64 MiB decompressed, unless your operator changes it. The response may arrive before the whole body is sent. A chunked body with less than 64 bytes per chunk, averaged over a thousand in a row, is also refused and its connection closed: buffer your writes.",
  },
  "bellhop.http.UnsupportedMediaType": {
    status: 415,
    text: "Send the body as application/json in UTF-8.",
    cause: "the body is not `application/json` in UTF-8",
    remedy: "set `Content-Type: application/json`",
  },
  "bellhop.http.UnsupportedEncoding": {
    status: 415,
    text: "Content-Encoding must be gzip, br, zstd or identity.",
    cause: "`Content-Encoding` is unknown",
    remedy: "use gzip, br, zstd or no encoding",
    more: "Only one encoding may be applied.",
  },
  "bellhop.http.InvalidHeader": {
    status: 422,
    text: "A request header is invalid.",
    cause: "an optional header is invalid; the message names it",
    remedy: "fix the header or omit it",
  },
  "bellhop.http.HeadersTooLarge": {
    status: 431,
    text: "The request has more than 100 headers, or more than 16 kB of them.",
    cause: "more than 16 kB of headers, or more than 100 headers",
    remedy: "send fewer or shorter headers",
  },
  "bellhop.http.RateLimitExceeded": {
    status: 429,
    text: "rate limit exceeded",
    cause: "the client exceeded its request rate",
    remedy: "wait `Retry-After` seconds, then send the same request again",
    again: "same",
    more: "Nothing was stored. `RateLimit` on every response states the remaining quota; a large batch counts as several requests ([limits](contract.md#limits)).",
  },
  "bellhop.http.Internal": {
    status: 500,
    text: "An internal error occurred; the log has the details under this request id.",
    cause: "the service has a fault",
    remedy: "send the same request again later; quote `X-Request-Id` when contacting support",
    again: "same",
    more: "The log has the details under that id; the response never does. Whether the batch was stored is unknown: send it again with the same `Idempotency-Key`.",
  },
  "bellhop.accept.IdempotencyKeyReused": {
    status: 422,
    text: "This Idempotency-Key was used within the last 24 hours with another body, path, Prefer or Backfill-Id header.",
    cause: "the key was used within the last 24 hours with another body, path, handling or backfill",
    remedy: "use a new key for a new batch",
    more: "Usually the body was rebuilt for a retry, with another source time or field order. Keep the bytes and send those. See [retries](guides/retries.md).",
  },
  "bellhop.accept.TooManyNewProperties": {
    status: 429,
    text: "This client has named too many new properties today.",
    cause:
      "the batch names more new properties than the client has left of its limit for 24 hours; nothing was stored",
    remedy:
      "ask your operator to raise the limit, or wait `Retry-After` seconds; then send the same request again",
    again: "same",
    more: "The limit protects against senders that invent codes. Your operator can raise it for a chain that goes live in one day.",
  },
  "bellhop.accept.Unavailable": {
    status: 503,
    text: "The batch was not confirmed as stored. Send the same bytes again with the same Idempotency-Key.",
    cause:
      "the batch was not confirmed as stored (database unreachable, disk full, queue full), so it may or may not have been stored; for other requests: the database is unreachable",
    remedy: "send the same bytes again after `Retry-After`, with the same `Idempotency-Key`",
    again: "same",
    more: "Bellhop returns 202 only for a batch that is on disk, so a full disk or an unreachable database leads to this error. If the batch was stored, the same key returns its 202. Batches that were accepted before are safe.",
  },
  "bellhop.backfill.InvalidManifest": {
    status: 400,
    text: "The manifest is invalid; violations lists why.",
    cause: "the [manifest](backfill.md#the-manifest) is invalid",
    remedy: "fix what `violations` lists",
    more: "Pointers refer to the manifest. It names each resource once, with dates in order and at most 3,700 days apart.",
  },
  "bellhop.backfill.NotFound": {
    status: 404,
    text: "This client has no backfill with this id.",
    cause: "the client has no backfill with this id, or the backfill has no statement yet",
    remedy: "check the id; backfills of other clients also return 404",
  },
  "bellhop.backfill.NotOpen": {
    status: 409,
    text: "This backfill is no longer open.",
    cause: "the backfill is closed or abandoned; a batch that names it was not stored",
    remedy: "send the batch without `Backfill-Id`, or open another backfill",
  },
  "bellhop.backfill.NotReady": {
    status: 409,
    text: "Batches of this backfill are not applied yet: close it again later.",
    cause:
      "the backfill to close has batches that are not applied yet, or that arrived within the last seconds",
    remedy: "close it again after `Retry-After`",
    again: "same",
  },
  "bellhop.backfill.HasGaps": {
    status: 409,
    text: "Data that the manifest names is missing: send it, or close with acceptGaps.",
    cause: "data that the manifest of the backfill to close names is missing; the message says what",
    remedy: "send the data, or close with `acceptGaps`",
    more: "`/api/public/v1/backfills/{id}/gaps` lists each gap. See [backfills](backfill.md#the-closing-statement).",
  },
  "bellhop.backfill.UnknownBackfill": {
    status: 422,
    text: "Backfill-Id names no backfill of this client; nothing was accepted.",
    cause: "`Backfill-Id` names no backfill of the client; nothing was stored",
    remedy: "open a backfill, or omit the header",
  },
  "bellhop.backfill.NotInManifest": {
    status: 422,
    text: "The batch has data that its backfill's manifest does not name; nothing was accepted.",
    cause:
      "the backfill's manifest does not name the resource, or the property of a record; nothing was stored",
    remedy: "send the batch without `Backfill-Id`, or with another backfill",
  },
  "bellhop.backfill.Ahead": {
    status: 429,
    text: "Too many records of this backfill are waiting to be applied; nothing was accepted. Send it again after Retry-After.",
    cause: "too many records of this backfill are waiting to be applied; nothing was stored",
    remedy: "wait `Retry-After` seconds, then send the same request again",
    again: "same",
    more: "A backfill runs at lower priority than live batches, at about 500 to 1,500 records per second. See [backfills](backfill.md#batches-of-a-backfill).",
  },
  "bellhop.backfill.TooManyOpen": {
    status: 429,
    text: "This client has the maximum number of open backfills.",
    cause: "the client has 100 open backfills",
    remedy: "close or abandon one, then send the request again",
  },
  "bellhop.read.RequestNotFound": {
    status: 404,
    text: "This client has no request with this id.",
    cause: "the client has no request with this UUID",
    remedy: "check the id; requests of other clients also return 404",
    more: "Only the client that sent a request can read it, not another client of the same partner.",
  },
  "bellhop.insight.TooLarge": {
    status: 400,
    text: "The query needs more rows than one response may read: ask for fewer nights.",
    cause: "an insight query needs more rows than one response may read; the message names the nights",
    remedy: "ask for fewer nights (`from`, `to`), or send `by=none`",
    more: "Bellhop estimates the rows before it reads them. A real hotel's records stay far below the limit; very many rooms or room types on one night exceed it. A property with more than 20,000 different statuses has no figures.",
  },
  "bellhop.insight.TimedOut": {
    status: 503,
    text: "The query took longer than 8 seconds: ask for fewer nights, or again after Retry-After.",
    cause: "an insight query took longer than 8 seconds and was stopped",
    remedy: "ask for fewer nights, or send the same request again after `Retry-After`",
    again: "same",
    more: "Either the database is busy, or the property has very many records for these nights.",
  },
  "bellhop.feed.CursorGone": {
    status: 410,
    text: "This cursor is from before the database was restored: read the records again, then restart the feed.",
    cause: "the database was restored to an earlier state after this cursor was issued",
    remedy: "read the records again, then [restart the feed](changes.md#when-a-cursor-is-gone)",
  },
  "bellhop.webhook.InvalidWebhook": {
    status: 422,
    text: "The webhook endpoint definition is invalid.",
    cause: "the webhook endpoint definition is invalid",
    remedy: "follow the message: [webhooks](webhooks.md#registering-an-endpoint)",
  },
  "bellhop.webhook.NotFound": {
    status: 404,
    text: "This client has no webhook endpoint with this id.",
    cause: "the client has no webhook endpoint (or dead letter) with this id",
    remedy: "check the id; endpoints of other clients also return 404",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** One of an error body's `violations`. (The package `contract` creates them and imports nothing, so it repeats the shape.) */
export interface ErrorDetail {
  readonly pointer: string;
  readonly code: string;
  readonly message: string;
}

/** An error sent to the client. Private details belong in `cause`, which is logged with the request id and never sent. */
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
