import { STATUS_CODES } from "node:http";
import { VIOLATION_CODES } from "#contract/violation.ts";
import { OAUTH_ERRORS } from "../../errors/oauth-error.ts";
import { ERRORS, type ErrorCode } from "../../errors/registry.ts";
import { type HeaderName, headersOf, ratedHeadersOf } from "./headers.ts";
import {
  type Answer,
  type Content,
  type Example,
  type Operation,
  type PathItem,
  type Reference,
  refTo,
  type Schema,
  schemaOf,
} from "./model.ts";
import { type AnswerOf, type Component, count, integer, list, objectOf, text, timestamp } from "./schema.ts";

/** Fields of the examples that differ from the registry. */
const EXAMPLE_DETAILS: Readonly<Partial<Record<ErrorCode, Readonly<Record<string, unknown>>>>> = {
  "bellhop.contract.InvalidRecords": {
    violations: [
      {
        pointer: "/0/occupancyDate",
        code: "format.date",
        message: 'occupancyDate must be a calendar date as YYYY-MM-DD; got "2026-02-30"',
      },
      { pointer: "/3/roomTypeInventories/0/roomsSold", code: "required", message: "roomsSold is required" },
    ],
    violationTotal: 2,
  },
  "bellhop.contract.MalformedJson": {
    message:
      "The body cannot be read as JSON: at record 0, byte 22 of the body, expected a field name in double quotes.",
    violations: [
      {
        pointer: "/0",
        code: "json.syntax",
        message:
          "The body cannot be read as JSON: at record 0, byte 22 of the body, expected a field name in double quotes.",
      },
    ],
    violationTotal: 1,
  },
  "bellhop.http.InvalidParameter": { message: "limit takes a whole number from 1 to 1000." },
  "bellhop.webhook.InvalidWebhook": {
    message: "events needs at least one of changes.available, request.applied.",
  },
  "bellhop.http.InvalidHeader": {
    message: "Idempotency-Key must be 1 to 255 visible ASCII characters, spaces only within.",
  },
};

/** The body of an error as the service sends it. */
function exampleOf(code: ErrorCode): Example {
  const { status, text } = ERRORS[code];
  return {
    summary: text,
    value: {
      timestamp: "2026-06-01T08:30:00.000Z",
      status,
      error: STATUS_CODES[status],
      exception: code,
      message: text,
      ...EXAMPLE_DETAILS[code],
    },
  };
}

/** Builds an error response from its description and the codes that it can carry. */
type ErrorAnswer = (description: string, ...codes: ErrorCode[]) => Answer;

const withHeaders =
  (headers: NonNullable<Answer["headers"]>): ErrorAnswer =>
  (description, ...codes) => ({
    description,
    headers,
    content: {
      "application/json": {
        schema: schemaOf("ErrorBody"),
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  });

/** Without the headers of rate limits: the error precedes authentication. */
const bare = withHeaders({});
const rated = withHeaders(ratedHeadersOf());
const ratedForLater = withHeaders(ratedHeadersOf("Retry-After"));
const ofBatch = withHeaders(ratedHeadersOf("X-Correlation-Id", "Preference-Applied"));
const ofBatchForLater = withHeaders(ratedHeadersOf("Retry-After", "X-Correlation-Id", "Preference-Applied"));

function oauthAnswer(
  description: string,
  error: keyof typeof OAUTH_ERRORS,
  errorDescription: string,
  ...headers: HeaderName[]
): Answer {
  const value = { error, error_description: errorDescription };
  return {
    description,
    headers: headersOf("Cache-Control", ...headers),
    content: { "application/json": { schema: schemaOf("OAuthError"), examples: { [error]: { value } } } },
  };
}

function withBasicChallenge(answer: Answer): Answer {
  const challenge = {
    description: "How to authenticate.",
    required: true,
    schema: {
      type: "string",
      maxLength: 256,
      pattern: "^Basic ",
      examples: ['Basic realm="bellhop", charset="UTF-8"'],
    },
  };
  return { ...answer, headers: { ...answer.headers, "WWW-Authenticate": challenge } };
}

/** Error responses of all endpoints, by component name. */
export const ERROR_ANSWERS = {
  NoToken: {
    description: "`Authorization` has no bearer token. The body is empty.",
    headers: headersOf("WWW-Authenticate"),
  },
  NoMetricsToken: {
    description: "The token for the metrics is missing or wrong. The body is empty.",
    headers: headersOf("WWW-Authenticate"),
  },
  Forbidden: {
    description:
      "The token is invalid or expired, or the client lacks permission: the scope is missing, or a record or parameter names a clientCode and propertyCode that was not granted (then the whole batch is refused and nothing is stored). The body is empty; `WWW-Authenticate` states the reason.",
    headers: ratedHeadersOf("WWW-Authenticate", "X-Correlation-Id", "Preference-Applied"),
  },
  InvalidBatch: ofBatch(
    "The body is not a batch, or has invalid records. Nothing was stored.",
    "bellhop.contract.InvalidRecords",
    "bellhop.contract.MalformedJson",
    "bellhop.contract.NotAnArray",
    "bellhop.contract.EmptyBatch",
    "bellhop.contract.TooManyRecords",
    "bellhop.http.BadRequest",
  ),
  InvalidParameter: rated(
    "A parameter is unknown, repeated or invalid; the message says which and what it accepts.",
    "bellhop.http.InvalidParameter",
    "bellhop.http.BadRequest",
  ),
  InvalidQuestion: rated(
    "A parameter is unknown, repeated or invalid, or the query needs more rows than one response may read; the message says which, and what to ask for instead.",
    "bellhop.http.InvalidParameter",
    "bellhop.insight.TooLarge",
    "bellhop.http.BadRequest",
  ),
  QuestionUnavailable: ofBatchForLater(
    "The query took too long, or the database is unreachable. Ask for fewer nights, or retry after `Retry-After`.",
    "bellhop.insight.TimedOut",
    "bellhop.accept.Unavailable",
  ),
  InvalidManifest: rated(
    "The manifest is invalid, or its body cannot be read.",
    "bellhop.backfill.InvalidManifest",
    "bellhop.http.BadRequest",
  ),
  BackfillNotFound: rated(
    "The client has no backfill with this id, or the backfill has no statement yet.",
    "bellhop.backfill.NotFound",
  ),
  BackfillNotClosed: ratedForLater(
    "The backfill cannot be closed yet.",
    "bellhop.backfill.NotReady",
    "bellhop.backfill.HasGaps",
    "bellhop.backfill.NotOpen",
  ),
  BackfillNotAbandoned: bare("The backfill is already closed.", "bellhop.backfill.NotOpen"),
  BackfillNotOpen: ofBatch(
    "The backfill that the batch names is closed or abandoned. Nothing was accepted.",
    "bellhop.backfill.NotOpen",
  ),
  TooManyBackfills: ratedForLater(
    "The client exceeded its request rate, or has too many open backfills.",
    "bellhop.http.RateLimitExceeded",
    "bellhop.backfill.TooManyOpen",
  ),
  RequestNotFound: rated("The client has no request with this id.", "bellhop.read.RequestNotFound"),
  CursorGone: rated(
    "The cursor is from before the database was restored. Read the records again, then restart the feed.",
    "bellhop.feed.CursorGone",
  ),
  WebhookNotFound: rated(
    "The client has no webhook endpoint or dead letter with this id.",
    "bellhop.webhook.NotFound",
  ),
  InvalidWebhook: rated(
    "The endpoint definition is invalid; the message says why.",
    "bellhop.webhook.InvalidWebhook",
  ),
  PayloadTooLarge: ofBatch(
    "The body is too large, compressed or decompressed.",
    "bellhop.http.PayloadTooLarge",
  ),
  UnsupportedMediaType: ofBatch(
    "The body is not application/json in UTF-8, or its encoding is unknown.",
    "bellhop.http.UnsupportedMediaType",
    "bellhop.http.UnsupportedEncoding",
  ),
  UnusableHeader: ofBatch(
    "A header is invalid.",
    "bellhop.accept.IdempotencyKeyReused",
    "bellhop.http.InvalidHeader",
    "bellhop.backfill.UnknownBackfill",
    "bellhop.backfill.NotInManifest",
  ),
  TooManyRequests: ratedForLater(
    "The client exceeded its request rate. Wait for `Retry-After`, then send the same request again.",
    "bellhop.http.RateLimitExceeded",
  ),
  TooManyBatches: ofBatchForLater(
    "The client exceeded its request rate or named too many new properties today, or too many records of the backfill wait to be applied. Wait for `Retry-After`, then send the same request again.",
    "bellhop.http.RateLimitExceeded",
    "bellhop.accept.TooManyNewProperties",
    "bellhop.backfill.Ahead",
  ),
  Internal: ofBatch(
    "The service has a fault. The message has no details; quote `X-Request-Id` when contacting support.",
    "bellhop.http.Internal",
  ),
  Unavailable: ofBatchForLater(
    "The database is unreachable, or the service is overloaded. A batch may or may not have been stored. Send the same request again after `Retry-After`, with the same `Idempotency-Key`.",
    "bellhop.accept.Unavailable",
  ),
  BadRequest: bare(
    "The request is not valid HTTP/1.1 or HTTP/1.0, or repeats a header.",
    "bellhop.http.BadRequest",
  ),
  InvalidProfile: withHeaders(headersOf())(
    "`profile` is invalid; the message says what it accepts.",
    "bellhop.http.InvalidParameter",
    "bellhop.http.BadRequest",
  ),
  NotFound: withHeaders(headersOf())(
    "The address does not exist: check the base address and the path.",
    "bellhop.http.NotFound",
  ),
  MethodNotAllowed: withHeaders(headersOf("Allow"))(
    "The address does not support the method; `Allow` lists those that it supports.",
    "bellhop.http.MethodNotAllowed",
  ),
  RequestTimeout: bare(
    "The headers or the body arrived too slowly. The connection is closed; send the request again.",
    "bellhop.http.RequestTimeout",
  ),
  HeadersTooLarge: bare(
    "The request has more than 100 headers, or more than 16 kB of headers. The connection is closed.",
    "bellhop.http.HeadersTooLarge",
  ),
  OAuthBadRequest: oauthAnswer(
    "The form is invalid; `error` says why (RFC 6749 section 5.2).",
    "unsupported_grant_type",
    "The only grant_type is client_credentials.",
  ),
  OAuthInvalidClient: withBasicChallenge(
    oauthAnswer(
      "The client id or the secret is invalid or missing.",
      "invalid_client",
      "The client id or secret is invalid. Check both for white space and line breaks.",
    ),
  ),
  OAuthForbidden: oauthAnswer(
    "The client lacks the scope `introspect`.",
    "unauthorized_client",
    "This client may not introspect tokens.",
  ),
  OAuthTooLarge: oauthAnswer("The form is too large.", "invalid_request", "The form is too large."),
  OAuthMediaType: oauthAnswer(
    "The body is not a form.",
    "invalid_request",
    "Send the parameters as application/x-www-form-urlencoded.",
  ),
  OAuthTooManyTokens: oauthAnswer(
    "The client has used its tokens, or too many authentications failed. Wait for `Retry-After`.",
    "temporarily_unavailable",
    "rate limit exceeded",
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
  ),
  OAuthTooManyFailures: oauthAnswer(
    "Too many authentications with this client id failed from this address. Wait for `Retry-After`.",
    "temporarily_unavailable",
    "rate limit exceeded",
    "Retry-After",
  ),
  OAuthUnavailable: oauthAnswer(
    "The service is unavailable. Retry after `Retry-After`.",
    "temporarily_unavailable",
    "The service is unavailable. Try again later.",
    "Retry-After",
  ),
} as const satisfies Record<string, Answer>;

/** Responses of every operation that precede authentication. */
export const ANYWHERE = {
  404: refTo("responses", "NotFound"),
  405: refTo("responses", "MethodNotAllowed"),
  408: refTo("responses", "RequestTimeout"),
  431: refTo("responses", "HeadersTooLarge"),
} as const;

function openEnum(
  description: string,
  words: Readonly<Record<string, string>>,
  charactersMax: number,
): Schema {
  return {
    type: "string",
    description,
    maxLength: charactersMax,
    pattern: "^[A-Za-z0-9._-]+$",
    examples: [Object.keys(words)[0]],
    "x-extensible-enum": Object.keys(words),
    "x-enumDescriptions": words,
  };
}

export type ErrorAnswerName = keyof typeof ERROR_ANSWERS;

/** References to error responses, by status. */
export function refusals(names: Readonly<Record<number, ErrorAnswerName>>): Record<string, Reference> {
  return Object.fromEntries(Object.entries(names).map(([code, name]) => [code, refTo("responses", name)]));
}

/** Error responses of every operation that requires a token. */
export const TOKEN_ERRORS = {
  ...ANYWHERE,
  ...refusals({
    401: "NoToken",
    403: "Forbidden",
    429: "TooManyRequests",
    500: "Internal",
    503: "Unavailable",
  }),
};

type Definition = Pick<Operation, "operationId" | "summary" | "description" | "parameters" | "requestBody">;

/** An operation that requires a token with one of the scopes. `answers`: responses by status, or names of error responses. */
export function tokenOperation(
  tag: string,
  scopes: readonly string[],
  answers: Readonly<Record<number, Answer | ErrorAnswerName>>,
  { operationId, summary, description, ...more }: Definition,
): Operation {
  const responses = Object.entries(answers).map(([status, answer]) => [
    status,
    typeof answer === "string" ? refTo("responses", answer) : answer,
  ]);
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    security: scopes.map((scope) => ({ oauth2: [scope] })),
    ...more,
    responses: { ...TOKEN_ERRORS, ...Object.fromEntries(responses) },
  };
}

/** An operation without authentication, unless `security` requires it. */
export function openOperation(
  tag: string,
  words: Pick<Operation, "operationId" | "summary" | "description" | "parameters">,
  responses: Operation["responses"],
  security: Operation["security"] = [],
): PathItem {
  const refused = refusals({ 400: "BadRequest", 500: "Internal" });
  return { get: { ...words, tags: [tag], security, responses: { ...ANYWHERE, ...refused, ...responses } } };
}

/** A JSON response with examples, of a named schema. */
export function jsonAnswer<Value = unknown>(
  description: string,
  schema: string | Component<Value>,
  examples: Readonly<Record<string, NoInfer<Value>>>,
  headers: Answer["headers"] = ratedHeadersOf("Cache-Control"),
): AnswerOf<Value> {
  return { description, headers: headers ?? {}, content: jsonContent(schema, examples) };
}

export function jsonContent<Value = unknown>(
  schema: string | Component<Value>,
  examples: Readonly<Record<string, NoInfer<Value>>>,
): Content {
  const shown = Object.entries(examples).map(([name, value]) => [name, { value }]);
  const named = typeof schema === "string" ? schemaOf(schema) : schema;
  return { "application/json": { schema: named, examples: Object.fromEntries(shown) } };
}

const ERROR_TEXTS = Object.fromEntries(Object.entries(ERRORS).map(([code, { text }]) => [code, text]));

/** The schemas of errors. Lists of codes are open: codes may be added, but never change their meaning. */
export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  ErrorBody: objectOf(
    "The body of every error, except those of the OAuth endpoints.",
    {
      timestamp: timestamp("When the error occurred."),
      status: integer("The HTTP status code.", 400, 599, 400),
      error: text("The HTTP status message.", 64, "Bad Request", "^[A-Za-z -]+$"),
      exception: openEnum(
        "A stable error code: handle errors by this code, never by the message.",
        ERROR_TEXTS,
        128,
      ),
      message: text(
        "An explanation for developers. It may change.",
        4096,
        "The batch has invalid records; violations lists them.",
      ),
      violations: list("The first 100 violations.", 100, schemaOf("ViolationBody")),
      violationTotal: count("The total number of violations.", 2),
    },
    "violations",
    "violationTotal",
  ),
  ViolationBody: objectOf("One reason why a record was refused.", {
    pointer: text(
      "JSON pointer (RFC 6901) into the batch.",
      512,
      "/3/roomStays/0/arrivalDate",
      "^(/[^\\u0000]*)?$",
    ),
    code: openEnum("A stable code.", VIOLATION_CODES, 64),
    message: text(
      "What the field accepts. It never repeats free text of the record.",
      1024,
      'occupancyDate must be a calendar date as YYYY-MM-DD; got "2026-02-30"',
    ),
  }),
  OAuthError: objectOf("An error of the OAuth endpoints (RFC 6749 section 5.2).", {
    error: {
      type: "string",
      description: "The error code.",
      enum: Object.keys(OAUTH_ERRORS),
      examples: ["invalid_client"],
    },
    error_description: text(
      "The explanation as text.",
      1024,
      "The client id or secret is invalid. Check both for white space and line breaks.",
    ),
  }),
};
