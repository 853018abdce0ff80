import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";
import { RESOURCES, type Resource } from "#contract/resource.ts";
import { earlyRequestOf, keepEarlyRequest } from "../early-request.ts";
import type { BearerResult } from "../identity/authenticator.ts";
import {
  announceRate,
  authorize,
  rateFields,
  refuseForbidden,
  takeRate,
  verifyBearer,
} from "../identity/authorize.ts";
import { hasScope, type Principal } from "../identity/principal.ts";
import type { RateResult } from "../identity/rate-limiter.ts";
import { COMMON_HEADERS, followsLast, isLast } from "../platform/http/refuse-connection.ts";
import type { RequestLog } from "../platform/http/request-log.ts";
import { beginTrace } from "../platform/http/request-trace.ts";
import { noWaits, type RequestWaits } from "../platform/telemetry/request-waits.ts";
import type { HttpContext } from "../service-context.ts";
import { type HeaderParameters, prefersText } from "./header-parameters.ts";
import { type DataRequest, type IngestedBatch, ingestBatch, writeScopeOf } from "./ingest-batch.ts";

/** The 202 of a batch (spec section 4): its id, as JSON or, for who would rather have that, as text. */
interface AcceptedAnswer {
  readonly location: string;
  readonly type: string;
  readonly body: string;
}

/** `accept` is the request's Accept header. */
function acceptedAnswer(accept: string | undefined, requestId: string): AcceptedAnswer {
  const location = `/api/public/v1/requests/${requestId}`;
  return prefersText(accept, "text/plain")
    ? { location, type: "text/plain; charset=utf-8", body: requestId }
    : { location, type: "application/json; charset=utf-8", body: `{"requestId":"${requestId}"}` };
}

/** A data endpoint as a request names it, and what is asked of one that comes to it. */
interface Endpoint {
  readonly route: string;
  readonly resource: Resource;
  readonly scope: string;
}

const ENDPOINTS: ReadonlyMap<string | undefined, Endpoint> = new Map(
  RESOURCES.map((resource) => {
    const route = `/api/public/v1/${resource}`;
    return [route, { route, resource, scope: writeScopeOf(resource) }];
  }),
);
const COMMON_FIELDS: readonly string[] = Object.entries(COMMON_HEADERS).flat();

/** When a request began, and what it has waited for since. */
interface Begun {
  readonly startedAtMs: number;
  readonly waits: RequestWaits;
}

/** A data request that was let in. */
interface LetIn {
  readonly route: string;
  readonly startedAtMs: number;
  readonly request: DataRequest;
  readonly rate: RateResult;
}

/**
 * Takes data requests ahead of the framework, whose routing, hooks and reply cost as much as all the rest of a request
 * with one record, and answers 202 with one list of headers. Whatever is unusual goes to the framework, from where it has
 * got to: other addresses, faults of framing, tokens that must be asked about first, every refusal and error.
 */
class AheadOfFramework {
  readonly #context: HttpContext;
  readonly #requestLog: RequestLog;
  readonly #framework: RequestListener;
  #draining = false;

  constructor(context: HttpContext, requestLog: RequestLog, framework: RequestListener) {
    this.#context = context;
    this.#requestLog = requestLog;
    this.#framework = framework;
  }

  /** From now on each answer closes its connection, as each does once the service was told to stop. */
  drain(): void {
    this.#draining = true;
  }

  /** Takes a request of the server, of which `noteRequest` has been told. */
  take(raw: IncomingMessage, response: ServerResponse): void {
    const endpoint = raw.method === "POST" ? ENDPOINTS.get(raw.url) : undefined;
    if (endpoint === undefined || followsLast(raw) || isLast(raw)) {
      this.#framework(raw, response);
      return;
    }
    const startedAtMs = performance.now();
    const waits = noWaits();
    const bearer = verifyBearer(this.#context, raw.headers);
    const begun = { startedAtMs, waits };
    if (!(bearer instanceof Promise)) {
      this.#letIn(endpoint, begun, bearer, raw, response);
      return;
    }
    const letIn = (known: BearerResult) => {
      waits.authentication = performance.now() - startedAtMs;
      this.#letIn(endpoint, begun, known, raw, response);
    };
    // The database cannot be asked: the framework's way tells so.
    bearer.then(letIn, () => this.#framework(raw, response));
  }

  #letIn(
    { route, resource, scope }: Endpoint,
    { startedAtMs, waits }: Begun,
    bearer: BearerResult,
    raw: IncomingMessage,
    response: ServerResponse,
  ): void {
    const rate =
      bearer.kind === "ok" && hasScope(bearer.principal, scope)
        ? this.#rateOf(bearer.principal, scope)
        : undefined;
    if (bearer.kind === "ok" && rate?.allowed === true) {
      const trace = beginTrace(this.#context.tracer, raw.headers["traceparent"], startedAtMs);
      const request = { resource, raw, waits, trace, principal: bearer.principal };
      this.#finish({ route, startedAtMs, request, rate }, response);
    } else {
      keepEarlyRequest(raw, { startedAtMs, waits, bearer, ...(rate === undefined ? {} : { rate }) });
      this.#framework(raw, response);
    }
  }

  #rateOf(principal: Principal, scope: string): RateResult | undefined {
    try {
      return takeRate(this.#context, principal, scope);
    } catch {
      // The framework's way fails at it as well, and tells so.
      return undefined;
    }
  }

  #finish(letIn: LetIn, response: ServerResponse): void {
    const { startedAtMs, request, rate } = letIn;
    const { raw, principal } = request;
    const batch = ingestBatch(this.#context, request);
    const handOn = () => {
      keepEarlyRequest(raw, {
        startedAtMs,
        waits: request.waits,
        bearer: { kind: "ok", principal },
        rate,
        taken: { request, batch },
      });
      this.#framework(raw, response);
    };
    const answer = (taken: IngestedBatch) => {
      if (taken.kind === "accepted") this.#answer(letIn, response, taken.requestId);
      else handOn();
    };
    batch.then(answer, handOn).catch((error: unknown) => {
      this.#context.log.error({ err: error }, "an answer could not be made");
      raw.socket.destroy();
    });
  }

  #answer(letIn: LetIn, response: ServerResponse, acceptedRequestId: string): void {
    const { route, request, startedAtMs, rate } = letIn;
    const { raw, principal, parameters } = request;
    const id = randomUUID();
    const { policy, limit } = rateFields(principal, request.rate ?? rate);
    const { location, type, body } = acceptedAnswer(raw.headers.accept, acceptedRequestId);
    const fields = COMMON_FIELDS.concat(
      ...["x-request-id", id, "ratelimit-policy", policy, "ratelimit", limit, "location", location],
      // Characters are bytes here: both answers are ASCII.
      ...["content-type", type, "content-length", String(body.length)],
    );
    const { correlationId = null, preferenceApplied = null } = parameters ?? {};
    if (correlationId !== null) fields.push("x-correlation-id", correlationId);
    if (preferenceApplied !== null) fields.push("preference-applied", preferenceApplied);
    if (this.#draining || this.#context.isLeaving()) fields.push("connection", "close");
    this.#requestLog.whenOver(response, () => ({
      id,
      method: "POST",
      route,
      startedAtMs,
      waits: request.waits,
      trace: request.trace,
      clientId: principal.clientId,
      acceptedRequestId,
      correlationId: raw.headers["x-correlation-id"],
      traceparent: undefined,
    }));
    response.writeHead(202, fields).end(body);
  }
}

/**
 * The three data endpoints (spec section 4), through the same steps: of a request that needs nothing unusual ahead of the
 * framework, of any other in its routes.
 */
export function registerDataRoutes(app: FastifyInstance, context: HttpContext, requestLog: RequestLog): void {
  for (const resource of RESOURCES) registerDataRoute(app, context, resource);
  const { server } = app;
  const framework = server.listeners("request").at(-1) as RequestListener;
  const ahead = new AheadOfFramework(context, requestLog, framework);
  app.addHook("preClose", async () => ahead.drain());
  server.off("request", framework);
  server.on("request", (raw: IncomingMessage, response: ServerResponse) => ahead.take(raw, response));
}

function registerDataRoute(app: FastifyInstance, context: HttpContext, resource: Resource): void {
  app.post(
    `/api/public/v1/${resource}`,
    { onRequest: authorize(context, writeScopeOf(resource)) },
    async (request, reply) => {
      const { raw } = request;
      const early = earlyRequestOf(raw)?.taken;
      const data: DataRequest = early?.request ?? {
        resource,
        raw,
        principal: request.principal as Principal,
        waits: request.waits ?? noWaits(),
        trace: beginTrace(context.tracer, raw.headers["traceparent"], request.startedAtMs),
      };
      request.trace = data.trace;
      let taken: IngestedBatch;
      try {
        taken = await (early?.batch ?? ingestBatch(context, data));
      } finally {
        announceParameters(reply, data.parameters);
        if (data.rate !== undefined) announceRate(reply, data.principal, data.rate);
      }
      if (taken.kind === "foreign") return refuseForbidden(reply, "insufficient_scope");
      request.acceptedRequestId = taken.requestId;
      const { location, type, body } = acceptedAnswer(raw.headers.accept, taken.requestId);
      return reply.code(202).header("location", location).type(type).send(body);
    },
  );
}

/** On every answer to a request whose parameters could be read, an error's too. */
function announceParameters(reply: FastifyReply, parameters: HeaderParameters | undefined): void {
  if (parameters === undefined) return;
  const { correlationId, preferenceApplied } = parameters;
  if (correlationId !== null) reply.header("x-correlation-id", correlationId);
  if (preferenceApplied !== null) reply.header("preference-applied", preferenceApplied);
}

declare module "fastify" {
  interface FastifyRequest {
    /** The UUID a batch was answered with, for the log line of the request. */
    acceptedRequestId?: string;
  }
}
