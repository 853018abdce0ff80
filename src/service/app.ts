import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { DATA_ROUTES, type DataEndpoints } from "../ingest/pipeline.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import {
  COMMON_HEADERS,
  faultOf,
  followsLast,
  HEADERS_MAX,
  isLast,
  noteRequest,
  PacedRequest,
  pacedRequests,
  refuseConnection,
} from "../platform/http/connection.ts";
import { reportError, sendError } from "../platform/http/error-body.ts";
import { ReaderGone } from "../platform/http/reader.ts";
import { leaveBodies } from "../platform/http/receive-body.ts";
import { logRequests, type RequestLog } from "../platform/http/request-log.ts";
import { RouteIndex } from "../platform/http/route-index.ts";
import { preparePages } from "../query/read-page.ts";
import type { HttpContext } from "../service-context.ts";

/** Node's own default; a request line and headers beyond it are answered 431. */
const HEADER_BYTES_MAX = 16_384;
/** Node looks at its timeouts only this often; its default of 30 s would let a slow client stay three times as long. */
const TIMEOUT_CHECK_MS = 1_000;

/**
 * The Fastify app with what every route shares: limits, framing checks, errors, log line. Routes are added by the caller, except for
 * the data endpoints, which answer before the framework sees the request.
 */
export function buildApp(
  context: HttpContext,
  requestLog: RequestLog,
  dataEndpoints?: DataEndpoints,
): FastifyInstance {
  let draining = false;
  const isClosing = () => draining || context.isLeaving();
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 256 },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseConnection(error, socket),
    // An address that cannot be decoded: the router refuses it before any hook.
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...COMMON_HEADERS, "x-request-id": request.id });
      return handleError(context, error, request, reply);
    },
    serverFactory: (framework) =>
      makeServer(context, (raw, response) => {
        // Not in a hook: what follows a request in the same segment is parsed before any hook of it runs.
        noteRequest(raw, response);
        // It gets no answer: the connection ends with the answer before it.
        if (followsLast(raw)) return;
        if (dataEndpoints?.handle(raw, response, isClosing) !== true) framework(raw, response);
      }),
  });
  app.addHook("preClose", async () => {
    draining = true;
  });
  leaveBodies(app);
  // Fastify refuses it without a media type before it looks for the address; it is a method like others that nobody takes.
  app.addHttpMethod("QUERY", { overrideExisting: true });
  app.decorateRequest("principal", undefined);
  preparePages(app);
  addHooks(app, requestLog, isClosing);
  addErrorHandlers(app, context, dataEndpoints === undefined ? [] : DATA_ROUTES);
  return app;
}

function makeServer({ limits }: HttpContext, listener: RequestListener): Server {
  const options = {
    IncomingMessage: pacedRequests(),
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    // Checked by `findFramingFault`: Node's own answer has no body.
    requireHostHeader: false,
  };
  const server = createServer(options, listener);
  // Node's parser refuses what is beyond, after a ninth of the work; a version that drops it leaves `faultOf` enough to refuse.
  server.maxHeadersCount = HEADERS_MAX + 1;
  // Node's own answer to an expectation it does not know has no body. RFC 9110 section 10.1.1 allows ignoring it.
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
  server.on("connect", (_request, socket) => refuseConnection({}, socket as Socket));
  return server;
}

function addHooks(app: FastifyInstance, requestLog: RequestLog, isClosing: () => boolean): void {
  // The first, so that a refused request has its time too.
  logRequests(app, requestLog);
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(COMMON_HEADERS).header("x-request-id", request.id);
    if (isLast(request.raw)) reply.header("connection", "close");
    done(faultOf(request.raw) ?? encodedPathFault(request.url));
  });
  app.addHook("onSend", ({ raw }, _reply, payload, done) => {
    // A body that nobody reads, or no further.
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    done(null, payload);
  });
  // A client that keeps its connection, as most do, would send its next request to a node that is going, or hold up the drain.
  app.addHook("onSend", (_request, reply, payload, done) => {
    if (isClosing()) reply.header("connection", "close");
    done(null, payload);
  });
}

/**
 * The router decodes a path before it matches it, and no address here needs an escape: `/%6detrics` would be a second
 * spelling of one that a proxy in front may have been told to keep to itself.
 */
function encodedPathFault(address: string): ServiceError | undefined {
  const path = address.split("?", 1)[0] ?? "";
  return path.includes("%") ? new ServiceError("bellhop.http.NotFound") : undefined;
}

/** `posts`: addresses that take a POST in front of the framework. */
function addErrorHandlers(app: FastifyInstance, context: HttpContext, posts: readonly string[]): void {
  const routes = new RouteIndex();
  for (const route of posts) routes.add("POST", route);
  app.addHook("onRoute", ({ method, url, config }) => {
    if (config?.refuses !== true) routes.add(method, url);
  });
  app.setErrorHandler((thrown, request, reply) => handleError(context, thrown, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const methods = routes.methodsOf(request.url);
    if (methods.length === 0)
      return handleError(context, new ServiceError("bellhop.http.NotFound"), request, reply);
    reply.header("allow", methods.join(", "));
    return handleError(context, new ServiceError("bellhop.http.MethodNotAllowed"), request, reply);
  });
}

/** As web servers log it; no client ever sees it. */
const CLIENT_GONE = 499;

function handleError(context: HttpContext, thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  if (thrown instanceof ReaderGone) return reply.code(CLIENT_GONE).send();
  return sendError(reply, reportError(context, request.id, thrown));
}
