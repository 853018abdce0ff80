import type { IncomingMessage, ServerResponse } from "node:http";
import { RESOURCES } from "#contract/resource.ts";
import { noteRefusal } from "../certification/note-wire.ts";
import { EmptyRefusal, rateFields } from "../identity/authorize.ts";
import { writeScopeOf } from "../identity/permissions.ts";
import { errorBody, JSON_TYPE, reportError, retryAfterOf } from "../platform/http/error-body.ts";
import { PacedRequest } from "../platform/http/paced-request.ts";
import { COMMON_HEADERS, isLast } from "../platform/http/refuse-connection.ts";
import type { RequestLog } from "../platform/http/request-log.ts";
import { pathOf } from "../platform/http/route-index.ts";
import type { HttpContext } from "../service-context.ts";
import { prefersText } from "./header-parameters.ts";
import { acceptPost } from "./pipeline.ts";
import { DataPost, type Endpoint } from "./steps.ts";

const ENDPOINTS: ReadonlyMap<string, Endpoint> = new Map(
  RESOURCES.map((resource) => {
    const route = `/api/public/v1/${resource}`;
    return [route, { route, resource, scope: writeScopeOf(resource) }];
  }),
);

/** The addresses of the three data endpoints (spec section 4). */
export const DATA_ROUTES: readonly string[] = [...ENDPOINTS.keys()];

const COMMON_FIELDS: readonly string[] = Object.entries(COMMON_HEADERS).flat();

function endpointOf(address: string): Endpoint | undefined {
  const exact = ENDPOINTS.get(address);
  if (exact !== undefined || (address.startsWith("/") && !address.includes("?"))) return exact;
  return ENDPOINTS.get(pathOf(address));
}

/** An answer: its status, its own header fields (name, value, name, value …) and its body. */
interface Answer {
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
}

/**
 * Answers POST requests to the data endpoints entirely, in front of the framework, whose routing, hooks and reply cost as much as all
 * the rest of a request with one record (docs/decisions/0011). Errors, log lines, traces and headers come from the functions that the
 * framework's routes use.
 */
export class DataEndpoints {
  readonly #context: HttpContext;
  readonly #requestLog: RequestLog;

  constructor(context: HttpContext, requestLog: RequestLog) {
    this.#context = context;
    this.#requestLog = requestLog;
  }

  /** False for a request that is none of these. `isClosing`: whether the answer is to close its connection. */
  handle(raw: IncomingMessage, response: ServerResponse, isClosing: () => boolean): boolean {
    const endpoint = raw.method === "POST" ? endpointOf(raw.url ?? "") : undefined;
    if (endpoint === undefined) return false;
    this.#serve(new DataPost(endpoint, raw), response, isClosing).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "an answer could not be made");
      raw.socket.destroy();
    });
    return true;
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
