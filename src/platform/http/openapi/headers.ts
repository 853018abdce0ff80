import { type Header, type Parameter, type Reference, refTo, type Schema } from "./model.ts";

const VISIBLE_TEXT = "^[\\x21-\\x7e]([\\x20-\\x7e]*[\\x21-\\x7e])?$";

function visibleText(charactersMax: number, example: string): Schema {
  return {
    type: "string",
    minLength: 1,
    maxLength: charactersMax,
    pattern: VISIBLE_TEXT,
    examples: [example],
  };
}

function textLike(charactersMax: number, pattern: string, example: string): Schema {
  return { type: "string", maxLength: charactersMax, pattern, examples: [example] };
}

function formatted(format: string, charactersMax: number, example: string): Schema {
  return { type: "string", format, maxLength: charactersMax, examples: [example] };
}

/** Any value is accepted: unknown or malformed preferences are ignored (RFC 7240 section 2). */
export function preferences(example: string): Schema {
  return { type: "string", examples: [example] };
}

export const HEADERS = {
  "X-Request-Id": {
    description: "The id of this response in the service's log. Quote it when contacting support.",
    required: true,
    schema: formatted("uuid", 36, "0b6f0c1e-6e0d-4c56-9d0e-2f6a7c1b9e55"),
  },
  "X-Correlation-Id": {
    description: "The X-Correlation-Id of the request, if it had one.",
    schema: visibleText(128, "night-audit-2026-06-01"),
  },
  Location: {
    description: "The address of the batch's outcome.",
    required: true,
    schema: formatted("uri-reference", 2048, "/api/public/v1/requests/01980c5e-7a3b-7c1d-8f00-2b6d6b0f4a11"),
  },
  "Idempotent-Replayed": {
    description:
      "`true`: the batch had been accepted before under this `Idempotency-Key`. The response is the first one again, and nothing was stored. Absent from the first response.",
    schema: { type: "string", const: "true", examples: ["true"] },
  },
  RateLimit: {
    description:
      "The remaining requests (`r`) and the seconds until one more is available (`t`), as in the IETF draft RateLimit header fields.",
    schema: textLike(128, '^"(requests|token)";r=[0-9]+;t=[0-9]+$', '"requests";r=99;t=1'),
  },
  "RateLimit-Policy": {
    description:
      "The burst (`q`) and the seconds in which it refills (`w`). A window can admit more than `q`: the burst plus what refills meanwhile.",
    schema: textLike(128, '^"(requests|token)";q=[0-9]+;w=[0-9]+$', '"requests";q=100;w=2'),
  },
  "Retry-After": {
    description: "Seconds to wait before retrying.",
    schema: { type: "integer", format: "int32", minimum: 0, maximum: 86_400, examples: [5] },
  },
  "Preference-Applied": {
    description: "The preference that was applied, if the request had one (RFC 7240).",
    schema: textLike(64, "^(handling=(strict|lenient)|wait=[0-9]{1,2})$", "handling=lenient"),
  },
  "WWW-Authenticate": {
    description:
      'Why the call was refused: on 401 `Bearer realm="bellhop"`, on 403 `Bearer error="invalid_token"` (get a new token) or `Bearer error="insufficient_scope"` (not permitted), whose `error_description` names the missing scope, or the record and its property. `scope` is present only if the token lacks the scope, and lists the scopes of which one suffices.',
    required: true,
    schema: textLike(256, VISIBLE_TEXT, 'Bearer error="invalid_token"'),
  },
  Allow: {
    description: "On 405, the methods that this address supports.",
    schema: textLike(128, "^[A-Z]+(, [A-Z]+)*$", "POST"),
  },
  Link: {
    description: 'With CSV: the address of the next page, as `<…>; rel="next"`.',
    schema: textLike(
      16_384,
      '^<[^<>]+>; rel="next"$',
      '</api/insight/v1/on-the-books?cursor=b0p_ueQqLhbwY4uAOYkeoVbYEhJHy2zqpzCFKhnza6xKcV7BP2JCdb2XS7_eN6Pa>; rel="next"',
    ),
  },
  "X-Watermark": {
    description: "With CSV: the `watermark` of the answer, if it has one.",
    schema: formatted("date-time", 27, "2026-06-01T08:30:02.052927Z"),
  },
  "X-Known-From": {
    description: "With CSV: the `knownFrom` of the answer, if it has one.",
    schema: formatted("date-time", 27, "2026-03-02T00:00:00.000000Z"),
  },
  "X-Settings-Version": {
    description: "With CSV: the `settingsVersion` of the answer.",
    schema: { type: "integer", format: "int32", minimum: 0, maximum: 2_147_483_647, examples: [3] },
  },
  "X-Time-Zone": {
    description: "With CSV: the `timeZone` of the answer.",
    schema: textLike(64, "^[A-Za-z][A-Za-z0-9_+/-]*$", "Europe/Paris"),
  },
  "X-Business-Day": {
    description: "With CSV: the `businessDay` of the answer.",
    schema: formatted("date", 10, "2026-06-15"),
  },
  "Cache-Control": {
    description: "`no-store`: the response must not be cached.",
    required: true,
    schema: { type: "string", const: "no-store", examples: ["no-store"] },
  },
} as const satisfies Record<string, Header>;

export type HeaderName = keyof typeof HEADERS;

/** References to the headers of a response, including X-Request-Id, which every response has. */
export function headersOf(...names: HeaderName[]): Record<string, Reference> {
  return Object.fromEntries(["X-Request-Id", ...names].map((name) => [name, refTo("headers", name)]));
}

/** The same for responses that carry the rate limit. */
export function ratedHeadersOf(...names: HeaderName[]): Record<string, Reference> {
  return headersOf("RateLimit", "RateLimit-Policy", ...names);
}

/** Optional header parameters of the data endpoints, by component name. */
export const HEADER_PARAMETERS = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "A key of your own for this batch. The same key with the same body, path and `Prefer` within 24 hours gets the first response again, with the same UUID and `Idempotent-Replayed: true`, and nothing is stored twice; with another body it is a 422. Only a 202 is remembered. Use a new key, such as a UUID, for each batch, and the same key for each retry.",
    schema: visibleText(255, "0f3f6d1c-5f0a-4b53-8f0f-5a3a2f0e7c11"),
  },
  CorrelationId: {
    name: "X-Correlation-Id",
    in: "header",
    description:
      "Your own id for this call: stored with the request, shown in its status, logged and returned.",
    schema: visibleText(128, "night-audit-2026-06-01"),
  },
  ReplyTo: {
    name: "ReplyTo",
    in: "header",
    description:
      "An absolute http or https URL without a user name or password, stored with the request and shown in its status. If the operator has allowed its origin for the client, Bellhop notifies it when the request is applied.",
    schema: formatted("uri", 2048, "https://partner.example/bellhop/outcomes"),
  },
  BackfillId: {
    name: "Backfill-Id",
    in: "header",
    description:
      "The backfill of this batch, as `POST /api/public/v1/backfills` returned it. It must be open and belong to the client, and its manifest must name this resource and the property of all records. Bellhop returns 429 while too many of its records wait to be applied, and applies its batches after all others.",
    schema: formatted("uuid", 36, "7c9e6679-7425-40de-944b-e07fc1f90ae7"),
  },
  Prefer: {
    name: "Prefer",
    in: "header",
    description:
      "`handling=lenient` (RFC 7240): valid records are accepted; invalid records are stored with the request and reported there as *rejected*, each with its index in the batch. A batch without a valid record is still a 400, and a code that was not granted is still a 403 for the whole batch. Without it, or with `handling=strict`, a batch with any invalid record is refused as a whole. Other preferences are ignored.",
    schema: preferences("handling=lenient"),
  },
  ContentEncoding: {
    name: "Content-Encoding",
    in: "header",
    description: "The compression of the body. Both the compressed and the decompressed size are limited.",
    schema: {
      type: "string",
      enum: ["gzip", "br", "zstd", "identity"],
      default: "identity",
      examples: ["gzip"],
    },
  },
} as const satisfies Record<string, Parameter>;
