import type { IncomingMessage, ServerResponse } from "node:http";
import { letterOf, RESOURCES, type Resource } from "#contract/resource.ts";
import { noteRefusal } from "../certification/note-wire.ts";
import { EmptyRefusal, rateFields } from "../identity/authorize.ts";
import { writeScopeOf } from "../identity/permissions.ts";
import { COMMON_HEADERS, isLast, PacedRequest } from "../platform/http/connection.ts";
import { errorBody, JSON_TYPE, reportError, retryAfterOf } from "../platform/http/error-body.ts";
import type { RequestLog } from "../platform/http/request-log.ts";
import { pathOf } from "../platform/http/route-index.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { HttpContext } from "../service-context.ts";
import {
  admitBackfill,
  append,
  authenticate,
  type BatchMeter,
  checkFraming,
  checkReady,
  DataPost,
  type Endpoint,
  fingerprint,
  judgeRecords,
  limitRate,
  prefersText,
  readHeaders,
  readRecords,
  receive,
  redact,
  refuseForeign,
  registerProperties,
} from "./steps.ts";

/**
 * A POST to a data endpoint, step by step to its durable 202, in the contract's order. A step leaves what it finds in the post and
 * throws where the request is refused.
 */
const STEPS: readonly ((context: HttpContext, post: DataPost) => Promise<void> | void)[] = [
  checkFraming, // 400, and the connection is closed
  authenticate, // 401 no bearer token, 403 not a good one
  limitRate, // 403 scope, 429
  readHeaders, // 415 media type, 422 optional headers
  checkReady, // 503 disk almost full, no log writer
  admitBackfill, // 409, 422, 429: before the body is read, so that a batch put off costs little
  receive, // 413, 415, 503; inflates, and charges the client's rate for the bytes as they come
  readRecords, // 400 not a JSON array; checks each record and charges the rate for all of them
  refuseForeign, // 403 a property not granted, 422 one that is not the backfill's
  judgeRecords, // 400 invalid records
  registerProperties, // 429 too many new properties
  fingerprint, // of the path, the handling and the body, for the Idempotency-Key
  redact, // what the erasure list and the settings of a client code keep out
  append, // 409 Idempotency-Key reused, 503; on disk once it resolves
];

/** Resolves once the batch is on disk, with its id in `post.acceptedRequestId`; throws EmptyRefusal or what `asServiceError` renders. */
async function acceptPost(context: HttpContext, post: DataPost): Promise<void> {
  try {
    for (const step of STEPS) {
      const pending = step(context, post);
      // With one record a request each wait shows: what is known at once is not waited for.
      if (pending !== undefined) await pending;
    }
  } finally {
    post.body?.release();
    post.backfill?.done();
  }
}

const routeOf = (resource: Resource) => `/api/public/v1/${resource}`;

/** The paths of the three data endpoints (specification, section 4). */
export const DATA_ROUTES: readonly string[] = RESOURCES.map(routeOf);

const COMMON_FIELDS: readonly string[] = Object.entries(COMMON_HEADERS).flat();

/** Looks the label of the metrics up once, not for each batch. */
function meterOf(metrics: Metrics, resource: Resource): BatchMeter {
  const batches = metrics.acceptedBatches.labels({ resource });
  const records = metrics.acceptedRecords.labels({ resource });
  const rejections = metrics.rejectedRecords.labels({ resource });
  const bytes = metrics.bodyBytes.labels({ resource });
  return {
    accepted(recordCount, rejectedCount, bodyBytes) {
      batches.inc();
      records.inc(recordCount);
      rejections.inc(rejectedCount);
      bytes.observe(bodyBytes);
    },
    repeated: () => metrics.repeatedKeys.inc(),
  };
}

/** The status, the header fields of this response alone (name, value, name, value …) and the body. */
interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Serves POST requests to the data endpoints ahead of Fastify, whose routing, hooks and reply would double the cost of a request with
 * one record. Errors, log lines, traces and headers come from the functions that Fastify's routes use.
 */
export class DataEndpoints {
  readonly #context: HttpContext;
  readonly #requestLog: RequestLog;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(context: HttpContext, requestLog: RequestLog) {
    this.#context = context;
    this.#endpoints = new Map(
      RESOURCES.map((resource) => {
        const [route, letter] = [routeOf(resource), letterOf(resource)];
        const meter = meterOf(context.metrics, resource);
        return [route, { route, resource, letter, scope: writeScopeOf(resource), meter }];
      }),
    );
    this.#requestLog = requestLog;
  }

  /** False for a request that is none of these. `isClosing`: whether the answer is to close its connection. */
  handle(raw: IncomingMessage, response: ServerResponse, isClosing: () => boolean): boolean {
    const endpoint = raw.method === "POST" ? this.#endpointOf(raw.url ?? "") : undefined;
    if (endpoint === undefined) return false;
    this.#serve(new DataPost(endpoint, raw), response, isClosing).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "an answer could not be made");
      raw.socket.destroy();
    });
    return true;
  }

  #endpointOf(address: string): Endpoint | undefined {
    const exact = this.#endpoints.get(address);
    if (exact !== undefined || (address.startsWith("/") && !address.includes("?"))) return exact;
    return this.#endpoints.get(pathOf(address));
  }

  async #serve(post: DataPost, response: ServerResponse, isClosing: () => boolean): Promise<void> {
    let answer: Answer;
    try {
      await acceptPost(this.#context, post);
      answer = acceptedAnswer(post);
    } catch (thrown) {
      answer = this.#refusal(post, thrown);
    }
    const { raw } = post;
    // A body that nobody reads, or no further.
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    const fields = COMMON_FIELDS.concat("x-request-id", post.id, commonFields(post), answer.fields);
    if (isClosing() || isLast(raw)) fields.push("connection", "close");
    // It may have been refused meanwhile, for what came behind its headers (`refuseConnection`).
    const isOwed = !response.headersSent;
    if (isOwed) response.statusCode = answer.status;
    this.#requestLog.whenOver(response, () => describe(post));
    if (isOwed) response.writeHead(answer.status, fields as string[]).end(answer.body);
  }

  #refusal(post: DataPost, thrown: unknown): Answer {
    if (thrown instanceof EmptyRefusal) {
      const { status, challenge } = thrown;
      noteRefusal(this.#context, post, { status, code: "foreign-property" });
      return { status, fields: ["www-authenticate", challenge, "content-length", "0"], body: "" };
    }
    const error = reportError(this.#context, post.id, thrown);
    noteRefusal(this.#context, post, error);
    const body = JSON.stringify(errorBody(error));
    const fields = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(body))];
    const retryAfter = retryAfterOf(error);
    if (retryAfter !== undefined) fields.push("retry-after", retryAfter);
    return { status: error.status, fields, body };
  }
}

/** The 202 of a batch: its id, as JSON or, for a client that prefers it, as text. */
function acceptedAnswer({ raw, acceptedRequestId = "" }: DataPost): Answer {
  const isText = prefersText(raw.headers.accept, "text/plain");
  const body = isText ? acceptedRequestId : `{"requestId":"${acceptedRequestId}"}`;
  const location = `/api/public/v1/requests/${acceptedRequestId}`;
  const type = isText ? "text/plain; charset=utf-8" : JSON_TYPE;
  // Characters are bytes here: both bodies are ASCII.
  const fields = ["location", location, "content-type", type, "content-length", String(body.length)];
  return { status: 202, fields, body };
}

/** What every answer tells of the client's rate and of the request's parameters, as far as they are known. */
function commonFields({ rate, parameters }: DataPost): string[] {
  const fields: string[] = [];
  if (rate !== undefined) {
    const { policy, limit } = rateFields(rate.of, rate.result);
    fields.push("ratelimit-policy", policy, "ratelimit", limit);
  }
  const { correlationId = null, preferenceApplied = null } = parameters ?? {};
  if (correlationId !== null) fields.push("x-correlation-id", correlationId);
  if (preferenceApplied !== null) fields.push("preference-applied", preferenceApplied);
  return fields;
}

function describe({ id, endpoint, startedAtMs, waits, trace, principal, acceptedRequestId, raw }: DataPost) {
  return {
    id,
    method: "POST",
    route: endpoint.route,
    startedAtMs,
    waits,
    trace,
    traceparent: undefined,
    clientId: principal?.clientId,
    acceptedRequestId,
    correlationId: raw.headers["x-correlation-id"],
  };
}
