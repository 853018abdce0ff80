import type { IncomingMessage, ServerResponse } from "node:http";
import { letterOf, RESOURCES, type Resource } from "#contract/resource.ts";
import { EmptyRefusal, rateFields } from "../identity/authorize.ts";
import { writeScopeOf } from "../identity/scopes.ts";
import { isLast, PacedRequest } from "../platform/http/connection.ts";
import { errorBody, JSON_TYPE, reportError, retryAfterOf } from "../platform/http/error-body.ts";
import { prefersText } from "../platform/http/preferences.ts";
import type { RequestLog } from "../platform/http/request-log.ts";
import { pathOf } from "../platform/http/route-index.ts";
import { COMMON_HEADERS } from "../platform/http/security-headers.ts";
import type { Metrics } from "../platform/telemetry/metrics.ts";
import type { DataContext } from "./data-context.ts";
import { acceptPost, type BatchMeter, DataPost, type Endpoint } from "./pipeline.ts";

const routeOf = (resource: Resource) => `/api/public/v1/${resource}`;

/** The paths of the three data endpoints (specification, section 4). */
export const DATA_ROUTES: readonly string[] = RESOURCES.map(routeOf);

const COMMON_FIELDS: readonly string[] = Object.entries(COMMON_HEADERS).flat();

/** Resolves metric labels once instead of per batch. */
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

/** Status, body and the header fields (name, value, name, value …) specific to this response. */
interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Serves POST requests to the data endpoints without Fastify, which would double the cost of a request with one record. Shares the
 * functions for errors, log lines, traces and headers with Fastify's routes.
 */
export class DataEndpoints {
  readonly #context: DataContext;
  readonly #requestLog: RequestLog;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(context: DataContext, requestLog: RequestLog) {
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

  /** Returns false for any other request. `isClosing`: whether the response should close the connection. */
  handle(raw: IncomingMessage, response: ServerResponse, isClosing: () => boolean): boolean {
    const endpoint = raw.method === "POST" ? this.#endpointOf(raw.url ?? "") : undefined;
    if (endpoint === undefined) return false;
    this.#serve(new DataPost(endpoint, raw), response, isClosing).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "could not produce a response");
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
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    const fields = COMMON_FIELDS.concat("x-request-id", post.id, commonFields(post), answer.fields);
    if (isClosing() || isLast(raw)) fields.push("connection", "close");
    // `refuseConnection` may have responded meanwhile, to malformed data after the headers.
    const isOwed = !response.headersSent;
    if (isOwed) response.statusCode = answer.status;
    this.#requestLog.whenOver(response, () => describe(post));
    if (isOwed) response.writeHead(answer.status, fields as string[]).end(answer.body);
  }

  #refusal(post: DataPost, thrown: unknown): Answer {
    if (thrown instanceof EmptyRefusal) {
      const { status, challenge } = thrown;
      this.#context.batchWatch.refused(post, { status, code: "foreign-property" });
      return { status, fields: ["www-authenticate", challenge, "content-length", "0"], body: "" };
    }
    const error = reportError(this.#context, post.id, thrown);
    this.#context.batchWatch.refused(post, error);
    const body = JSON.stringify(errorBody(error));
    const fields = ["content-type", JSON_TYPE, "content-length", String(Buffer.byteLength(body))];
    const retryAfter = retryAfterOf(error);
    if (retryAfter !== undefined) fields.push("retry-after", retryAfter);
    return { status: error.status, fields, body };
  }
}

/** The 202 of a batch, as JSON or, if the client prefers it, text. */
function acceptedAnswer({ raw, acceptedRequestId = "", isReplayed }: DataPost): Answer {
  const isText = prefersText(raw.headers.accept, "text/plain");
  const body = isText ? acceptedRequestId : `{"requestId":"${acceptedRequestId}"}`;
  const location = `/api/public/v1/requests/${acceptedRequestId}`;
  const type = isText ? "text/plain; charset=utf-8" : JSON_TYPE;
  // Both bodies are ASCII.
  const fields = ["location", location, "content-type", type, "content-length", String(body.length)];
  if (isReplayed) fields.push("idempotent-replayed", "true");
  return { status: 202, fields, body };
}

/** Header fields for the client's rate and the request's parameters, as far as known. */
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
