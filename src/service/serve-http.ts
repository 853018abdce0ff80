import { randomUUID } from "node:crypto";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type pg from "pg";
import { BackfillAdmission } from "../backfill/admission.ts";
import { BACKFILL_ENDPOINTS } from "../backfill/backfill-routes.ts";
import { CERTIFICATION_ENDPOINTS } from "../certification/certification-route.ts";
import { batchWatchOf, tokenWatchOf, waitAfterTooManyBy } from "../certification/note-wire.ts";
import { WireNotes } from "../certification/wire-notes.ts";
import { type Config, localAddress } from "../config.ts";
import { registerUnsubscribeRoutes } from "../delivery/unsubscribe.ts";
import { registerDocsRoutes } from "../documentation/docs-routes.ts";
import type { Addresses, Authenticator } from "../identity/authenticator.ts";
import { EmptyRefusal, refuseEmpty } from "../identity/authorize.ts";
import { createFailureLimiter } from "../identity/failure-limiter.ts";
import { readSandbox } from "../identity/local-clients.ts";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { registerAuthRoutes } from "../identity/routes.ts";
import { DATA_ROUTES, DataEndpoints } from "../ingest/data-endpoints.ts";
import { HeavySenders } from "../ingest/heavy-senders.ts";
import { AcceptLog, YieldingLog } from "../ingest/log/accept-log.ts";
import type { CurrentKey } from "../ingest/log/log-writer-session.ts";
import { BUCKET_COUNT, RequestIdStamp } from "../ingest/log/part-name.ts";
import { followPayloadKey, registerPayloadKeys } from "../ingest/log/payload-keys.ts";
import { PropertyRegister } from "../ingest/log/property-register.ts";
import { watchRedactionList } from "../ingest/redact.ts";
import { partnerAccess, registerInsightRoutes } from "../insight/insight-routes.ts";
import { PORTFOLIO_ENDPOINTS } from "../insight/portfolio-report-route.ts";
import { registerMetricsRoute } from "../operations/metrics/metrics-route.ts";
import { createQuestionPool, logSlowStatements, QUESTION_CONNECTIONS } from "../platform/db/connection.ts";
import type { Role } from "../platform/db/coordination.ts";
import { DiskWatch } from "../platform/db/disk-watch.ts";
import { ServiceError } from "../platform/errors/registry.ts";
import { ArrivingBodies } from "../platform/http/arriving-bodies.ts";
import { clientAddressReader } from "../platform/http/client-address.ts";
import { ClientSemaphores } from "../platform/http/client-semaphores.ts";
import {
  endWhenStalled,
  faultOf,
  HEADERS_MAX,
  isLast,
  PacedRequest,
  pacedRequests,
  refuseConnection,
  refuseTunnel,
  takeLaterTurn,
  takeTurn,
} from "../platform/http/connection.ts";
import { reportError, sendError } from "../platform/http/error-body.ts";
import { ReaderGone } from "../platform/http/reader.ts";
import {
  BodyBudget,
  leaveBodies,
  receiveSmallBody,
  roomOfLargestBody,
} from "../platform/http/receive-body.ts";
import { logRequests, RequestLog } from "../platform/http/request-log.ts";
import { pathOf, RouteIndex } from "../platform/http/route-index.ts";
import { COMMON_HEADERS } from "../platform/http/security-headers.ts";
import { letLowerPriority } from "../platform/runtime/lower-priority.ts";
import { Semaphore } from "../platform/runtime/semaphore.ts";
import { SharedCounter, SharedHints } from "../platform/runtime/shared-memory.ts";
import type { Stops } from "../platform/runtime/stops.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import { type Metrics, type MetricValues, readMetrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { extended, registerEndpoints } from "../query/endpoint.ts";
import { preparePages } from "../query/read-page.ts";
import { registerReadRoutes } from "../query/read-routes.ts";
import { AddressRules } from "../webhooks/address-rules.ts";
import { WEBHOOK_ENDPOINTS } from "../webhooks/webhook-routes.ts";
import type { HttpContext } from "./http-context.ts";
import { registerConsole } from "./register-console.ts";
import type { SharedState } from "./shared-state.ts";

/** Node's default; larger request lines and headers get a 431. */
const HEADER_BYTES_MAX = 16_384;
/** Node checks its timeouts at this interval; the default of 30 s would let a slow client stay three times as long. */
const TIMEOUT_CHECK_MS = 1_000;
/** Waiting certification reports, in total and per client. A report of 1,000 requests takes seconds. */
const REPORTS_WAITING_MAX = 60;
const CLIENT_REPORTS_WAITING_MAX = 10;

const ADDRESS_PART_MAX = 256;

/**
 * Creates the Fastify app with what all routes share: limits, framing checks, errors, request log. The caller adds routes, except the data
 * endpoints, which answer before the framework sees the request.
 */
function buildApp(
  context: HttpContext,
  requestLog: RequestLog,
  dataEndpoints?: DataEndpoints,
): FastifyInstance {
  let draining = false;
  const isClosing = () => draining || context.isLeaving();
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: ADDRESS_PART_MAX },
    forceCloseConnections: "idle",
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => refuseConnection(error, socket),
    // The router rejects an undecodable path, or one with a part that is too long, before any hook.
    frameworkErrors: (cause, request, reply) => {
      reply.headers({ ...COMMON_HEADERS, "x-request-id": request.id });
      const message = `The address is not percent-encoded UTF-8, or a part of it is longer than ${ADDRESS_PART_MAX} characters.`;
      const error = new ServiceError("bellhop.http.BadRequest", { message, cause });
      return handleError(context, error, request, reply);
    },
    serverFactory: (framework) =>
      makeServer(context, (raw, response) => {
        // Not in a hook: a pipelined request in the same segment is parsed before any hook runs.
        takeTurn(raw, response, () => {
          endWhenStalled(response, context.limits.stalledTimeoutMs);
          if (dataEndpoints?.handle(raw, response, isClosing) === true) return;
          // Batches go before reads, pages and the console.
          takeLaterTurn(response, () => framework(raw, response));
        });
      }),
  });
  app.addHook("preClose", async () => {
    draining = true;
  });
  leaveBodies(app);
  // Fastify rejects it without a media type before routing; treat it as any other unsupported method.
  app.addHttpMethod("QUERY", { overrideExisting: true });
  app.decorateRequest("principal", undefined);
  app.decorateRequest("authorized", undefined);
  preparePages(app);
  addHooks(app, requestLog, isClosing);
  addErrorHandlers(app, context, dataEndpoints === undefined ? [] : DATA_ROUTES);
  return app;
}

function makeServer({ limits }: HttpContext, listener: RequestListener): Server {
  const options = {
    IncomingMessage: pacedRequests(),
    // Node refuses more than the time for the whole request.
    headersTimeout: Math.min(limits.headersTimeoutMs, limits.requestTimeoutMs),
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    maxHeaderSize: HEADER_BYTES_MAX,
    // Checked by `findFramingFault`, because Node's response has no body.
    requireHostHeader: false,
  };
  const server = createServer(options, listener);
  // Node's parser rejects more, after a ninth of the work; if a version drops the limit, `faultOf` still rejects them.
  server.maxHeadersCount = HEADERS_MAX + 1;
  // Node's response to an unknown expectation has no body. RFC 9110 section 10.1.1 allows ignoring it.
  server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
    server.emit("request", request, response);
  });
  // By default Node asks for the body before the listener sees the headers that it is refused for.
  server.on("checkContinue", (request: PacedRequest, response: ServerResponse) => {
    request.askForBody = () => {
      if (!response.headersSent) response.writeContinue();
    };
    server.emit("request", request, response);
  });
  server.on("connect", (_request, socket) => refuseTunnel(socket as Socket));
  return server;
}

function addHooks(app: FastifyInstance, requestLog: RequestLog, isClosing: () => boolean): void {
  // First, so that refused requests are timed too.
  logRequests(app, requestLog);
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(COMMON_HEADERS).header("x-request-id", request.id);
    if (isLast(request.raw)) reply.header("connection", "close");
    done(faultOf(request.raw) ?? encodedPathFault(request.url));
  });
  app.addHook("onSend", ({ raw }, _reply, payload, done) => {
    // Drain a body that was not read to its end.
    if (!raw.complete && raw instanceof PacedRequest) raw.drain();
    done(null, payload);
  });
  // A keep-alive client would otherwise send its next request to a node that is stopping, or delay the drain.
  app.addHook("onSend", (_request, reply, payload, done) => {
    if (isClosing()) reply.header("connection", "close");
    done(null, payload);
  });
}

/**
 * Rejects paths with escapes. The router decodes a path before matching, so `/%6detrics` would reach a path that a proxy may block; no path
 * here needs an escape.
 */
function encodedPathFault(address: string): ServiceError | undefined {
  const path = address.split("?", 1)[0] ?? "";
  return path.includes("%") ? new ServiceError("bellhop.http.NotFound") : undefined;
}

/** Names the address that a path with doubled slashes, or one at its end, was meant to be. */
function noAddress(routes: RouteIndex, address: string): ServiceError {
  const joined = `/${pathOf(address).split("/").filter(Boolean).join("/")}`;
  const isMeant = joined.length <= MEANT_MAX && routes.methodsOf(joined).length > 0;
  const message = `This address does not exist. Did you mean ${joined}?`;
  return new ServiceError("bellhop.http.NotFound", isMeant ? { message } : {});
}

/** Characters of an address that a message quotes. */
const MEANT_MAX = 200;

/** `posts`: paths that handle a POST before the framework. */
function addErrorHandlers(app: FastifyInstance, context: HttpContext, posts: readonly string[]): void {
  const routes = new RouteIndex();
  for (const route of posts) routes.add("POST", route);
  app.addHook("onRoute", ({ method, url, config }) => {
    if (config?.refuses !== true) routes.add(method, url);
  });
  app.setErrorHandler((thrown, request, reply) => handleError(context, thrown, request, reply));
  app.setNotFoundHandler((request, reply) => {
    const methods = routes.methodsOf(request.url);
    if (methods.length === 0) return handleError(context, noAddress(routes, request.url), request, reply);
    reply.header("allow", methods.join(", "));
    return handleError(context, new ServiceError("bellhop.http.MethodNotAllowed"), request, reply);
  });
}

/** Client closed the connection; only logged, never sent. */
const CLIENT_GONE = 499;

function handleError(context: HttpContext, thrown: unknown, request: FastifyRequest, reply: FastifyReply) {
  if (thrown instanceof ReaderGone) return reply.code(CLIENT_GONE).send();
  if (thrown instanceof EmptyRefusal) return refuseEmpty(reply, thrown);
  return sendError(reply, reportError(context, request.id, thrown));
}

/** Public addresses: as configured, otherwise where the service listens. */
export class ListeningAddresses {
  readonly #config: Pick<Config, "host" | "baseUrl" | "authUrl">;
  base = "";
  auth = "";

  constructor(config: Pick<Config, "host" | "baseUrl" | "authUrl">) {
    this.#config = config;
  }

  /** Sets the ports of the data and token endpoints, as far as known. */
  set({ base, auth }: { readonly base?: number; readonly auth?: number }): void {
    const { host } = this.#config;
    if (base !== undefined) this.base = localAddress({ host, port: base });
    if (auth !== undefined) this.auth = localAddress({ host, port: auth });
  }

  readonly read = (): Addresses => ({
    baseUrl: this.#config.baseUrl ?? this.base,
    authUrl: this.#config.authUrl ?? this.#config.baseUrl ?? this.auth,
  });
}

/** `/healthz`: the process is alive. `/readyz`: 200 if a load balancer should send requests here, otherwise 503 with the reason. */
function registerHealthRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get("/healthz", async () => ({ status: "alive" }));
  app.get("/readyz", async (_request, reply) => {
    const reason = await context.processBlockedReason();
    const { roles } = context;
    if (reason === undefined) return { status: "ready", roles };
    return reply.code(503).send({ status: "unready", roles, reason });
  });
}

/** One log writer per thread: waiting batches share its next flush. */
const YIELDING_WRITERS = 1;
/** A drain may take 10 s; the rest is for the applier and the database. */
const DRAIN_REQUESTS_MS_MAX = 6_000;

/** Answers requests in flight; closes connections that are not done in time. */
async function drain(app: FastifyInstance): Promise<void> {
  const late = setTimeout(() => app.server.closeAllConnections(), DRAIN_REQUESTS_MS_MAX);
  await app.close();
  clearTimeout(late);
}

/** Dependencies of serving HTTP on one thread. */
export interface HttpParts {
  readonly thread: string;
  readonly config: Config;
  readonly log: Logger;
  /** The thread's own metrics. */
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly pool: pg.Pool;
  /** For log writers, which use separate connections. */
  readonly clientConfig: pg.ClientConfig;
  /** The embedded server's data directory, whose free space is monitored. */
  readonly dataDirectory: string | undefined;
  readonly authenticator: Authenticator;
  readonly addresses: ListeningAddresses;
  readonly shared: SharedState;
  /** State of the whole process. */
  readonly process: Pick<HttpContext, "processBlockedReason" | "processMetrics">;
}

/** HTTP on one thread. */
export interface HttpServing {
  /** Starts listening and returns the ports; port 0 chooses a free one. */
  listen(ports: Ports): Promise<Ports>;
  /** Why this thread cannot serve the role now; undefined if it can. */
  blockedReason(role: Role): string | undefined;
  metrics(): Promise<MetricValues>;
}

/** `shared` if other threads listen on the same ports. */
export interface Ports {
  readonly port: number;
  readonly authPort: number | undefined;
  readonly shared: boolean;
}

/** Creates everything for HTTP on this thread without listening. Adds what it starts to `stops`. */
export async function prepareHttp(parts: HttpParts, stops: Stops): Promise<HttpServing> {
  const { config, metrics } = parts;
  const roles = new Set<Role>(config.roles);
  const accepts = roles.has("accept");
  const currentKey = await currentKeyOf(parts, stops);
  const openLog = (yieldingWriters?: number) => openAcceptLog(parts, currentKey, yieldingWriters);
  const acceptLog = accepts ? await openLog() : undefined;
  if (acceptLog !== undefined) stops.push(() => acceptLog.close());
  const yieldingLog = new YieldingLog(() => openLog(YIELDING_WRITERS));
  stops.push(() => yieldingLog.close());
  const diskWatch = stops.add(new DiskWatch(parts.dataDirectory, config.minFreeDiskBytes));
  const watch = logSlowStatements(config.slowQueryMs, parts.log, metrics);
  // Accepting a batch has priority over a query that runs for a second.
  const questions = createQuestionPool(parts.clientConfig, parts.log, watch, (processId) => {
    if (parts.dataDirectory !== undefined) letLowerPriority(processId);
  });
  stops.push(() => questions.end());
  const cursorKey = await parts.authenticator.internals.cursorKey();
  const context = createContext(parts, cursorKey, acceptLog, yieldingLog, diskWatch, questions);
  stops.push(() => context.wireNotes.settled());
  const requestLog = new RequestLog(context);
  const webhookRules = new AddressRules(config.webhookAllowedNetworks);
  const app = buildApp(context, requestLog, accepts ? new DataEndpoints(context, requestLog) : undefined);
  if (accepts)
    registerEndpoints(
      app,
      context,
      BACKFILL_ENDPOINTS.filter(({ method }) => method === "post"),
    );
  if (roles.has("read")) {
    registerReadRoutes(app, context);
    registerEndpoints(
      app,
      context,
      BACKFILL_ENDPOINTS.filter(({ method }) => method === "get"),
    );
    registerInsightRoutes(app, context, partnerAccess(context));
    registerEndpoints(app, context, PORTFOLIO_ENDPOINTS);
    const { cipher, changes } = parts.authenticator.internals;
    registerEndpoints(app, extended(context, { cipher, changes, rules: webhookRules }), WEBHOOK_ENDPOINTS);
    registerEndpoints(app, context, CERTIFICATION_ENDPOINTS);
  }
  registerHealthRoutes(app, context);
  registerMetricsRoute(app, context, config.metricsToken);
  const { limits, requestRate, requestBurst, tokenBurst, sandbox } = config;
  const addresses = parts.addresses.read;
  const sandboxId = sandbox ? sandboxOf(config.dataDir) : async () => undefined;
  registerDocsRoutes(app, { limits, requestRate, requestBurst, tokenBurst, addresses, sandboxId });
  if (roles.has("read")) {
    registerUnsubscribeRoutes(app, context);
    const { internals } = parts.authenticator;
    await registerConsole(app, context, {
      internals,
      addresses,
      logins: parts.shared.logins,
      webhookRules,
      isMailConfigured: config.mail !== undefined,
      singleSignOn: config.singleSignOn,
    });
  }
  const authApp = config.authPort === undefined ? app : buildApp(context, requestLog);
  if (accepts) await registerAuth(authApp, parts, context);
  stops.push(() => Promise.all([...new Set([app, authApp])].map(drain)));
  return {
    listen: (ports) => listen(app, authApp, parts, ports),
    blockedReason: (role) => (role === "accept" ? context.blockedReason() : undefined),
    metrics: () => {
      metrics.poolConnections.reset();
      for (const { idleCount, totalCount, waitingCount } of [parts.pool, questions]) {
        metrics.poolConnections.inc({ state: "idle" }, idleCount);
        metrics.poolConnections.inc({ state: "busy" }, totalCount - idleCount);
        metrics.poolConnections.inc({ state: "waiting" }, waitingCount);
      }
      metrics.bodyBytesInFlight.set(context.budget.bytesInUse);
      for (const role of ["accept", "read"] as const) metrics.nodesPresent.set({ role }, context.nodes(role));
      return readMetrics(metrics, parts.thread);
    },
  };
}

/** Reads the id of the sandbox client until there is one. */
function sandboxOf(dataDir: string): () => Promise<string | undefined> {
  let known: string | undefined;
  return async () => {
    known ??= (await readSandbox(dataDir))?.clientId;
    return known;
  };
}

async function registerAuth(app: FastifyInstance, parts: HttpParts, context: HttpContext): Promise<void> {
  await registerAuthRoutes(app, {
    internals: parts.authenticator.internals,
    addresses: parts.addresses.read,
    failures: createFailureLimiter(undefined, parts.shared.failures),
    clientAddress: context.clientAddress,
    receiveBody: (request, bytesMax) => receiveSmallBody(context, request, bytesMax),
    watch: tokenWatchOf(context.wireNotes),
  });
}

/** Lets this thread decrypt encrypted parts; returns the key that new parts are encrypted with. */
async function currentKeyOf(
  { config, log, pool, authenticator }: HttpParts,
  stops: Stops,
): Promise<CurrentKey> {
  const { cipher } = authenticator.internals;
  stops.push(registerPayloadKeys(pool, cipher));
  if (!config.encryptPayloads) return () => undefined;
  const failed = (error: unknown) => log.warn({ err: error }, "rereading the payload key failed");
  return stops.add(await followPayloadKey(pool, cipher, failed)).key;
}

/** `yieldingWriters`: opens this many log writers of a YieldingLog instead of the others. */
function openAcceptLog(parts: HttpParts, currentKey: CurrentKey, yieldingWriters = 0): Promise<AcceptLog> {
  const { config, clientConfig, log, metrics, shared } = parts;
  const hints = new SharedHints(shared.hints, BUCKET_COUNT);
  const stamp = new RequestIdStamp(shared.stamp);
  const events = {
    flushed(appends: number, bytes: number, durationMs: number) {
      metrics.flushAppends.observe(appends);
      metrics.flushBytes.observe(bytes);
      metrics.flushSeconds.observe(durationMs / 1000);
    },
    appended(buckets: ReadonlySet<number>) {
      hints.notify(buckets);
    },
    failed(error: unknown) {
      metrics.logWriterFailures.inc();
      log.warn({ err: error }, "a log writer failed");
    },
  };
  const writers = yieldingWriters || config.acceptWriters;
  return AcceptLog.open(clientConfig, writers, events, stamp, {
    yields: yieldingWriters > 0,
    currentKey,
    watch: logSlowStatements(config.slowQueryMs, log, metrics),
  });
}

/** Also records expired tokens, of which only the client is known. */
function openWireNotes({ pool, log, authenticator }: HttpParts): WireNotes {
  const { directory } = authenticator.internals;
  const failed = (error: unknown) => log.warn({ err: error }, "certification events could not be recorded");
  const notes = new WireNotes(pool, directory.now, failed);
  const noteExpired = async (clientId: string) => {
    const certificationId = (await directory.findClient(clientId))?.certificationId ?? null;
    if (certificationId !== null) notes.note(certificationId, { kind: "token-expired", detail: {} });
  };
  authenticator.watchExpired((clientId) => void noteExpired(clientId).catch(failed));
  return notes;
}

function createContext(
  parts: HttpParts,
  cursorKey: Buffer,
  acceptLog: AcceptLog | undefined,
  yieldingLog: YieldingLog,
  diskWatch: DiskWatch,
  questions: pg.Pool,
): HttpContext {
  const { config, log, metrics, tracer, pool, authenticator, shared } = parts;
  const { limits } = config;
  const nodes = {
    accept: new SharedCounter(shared.nodes.accept),
    read: new SharedCounter(shared.nodes.read),
  };
  const leaving = new SharedCounter(shared.leaving);
  const rateLimiter = createRateLimiter(undefined, shared.rates);
  const wireNotes = openWireNotes(parts);
  return {
    pool,
    questions,
    querySemaphores: new ClientSemaphores(1),
    backfillSemaphore: new ClientSemaphores(QUESTION_CONNECTIONS - 1),
    log,
    metrics,
    tracer,
    slowRequestMs: config.slowRequestMs,
    authenticator,
    cursorKey,
    rateLimiter,
    heavySenders: new HeavySenders(rateLimiter, new SharedCounter(shared.heavyUntil)),
    get acceptLog() {
      if (acceptLog === undefined) throw new Error("This node lacks the role accept.");
      return acceptLog;
    },
    yieldingLog: () => yieldingLog.open(),
    backfills: new BackfillAdmission(pool),
    properties: new PropertyRegister(pool, config.newPropertiesPerDay),
    redactions: watchRedactionList(pool, (error) =>
      log.warn({ err: error }, "the erasure list could not be read"),
    ),
    wireNotes,
    batchWatch: batchWatchOf(wireNotes),
    waitAfterTooMany: waitAfterTooManyBy(wireNotes),
    reports: new Semaphore(1, REPORTS_WAITING_MAX, CLIENT_REPORTS_WAITING_MAX),
    budget: new BodyBudget(
      limits.bodiesInFlightBytesMax,
      roomOfLargestBody(limits),
      shared.budget,
      new ArrivingBodies(limits.slowBodyMs, ({ socket }) =>
        refuseConnection({ code: "ERR_HTTP_REQUEST_TIMEOUT" }, socket),
      ),
    ),
    limits,
    roles: config.roles,
    // At least one: this node.
    nodes: (role) => Math.max(1, nodes[role].value),
    clientAddress: clientAddressReader(config.trustedProxies),
    isLeaving: () => leaving.value > 0,
    blockedReason: () =>
      acceptLog === undefined
        ? undefined
        : (diskWatch.blocked ?? (acceptLog.ready ? undefined : "The accept log has no database connection.")),
    ...parts.process,
  };
}

async function listen(
  app: FastifyInstance,
  authApp: FastifyInstance,
  { config: { host }, addresses }: HttpParts,
  { port, authPort, shared }: Ports,
): Promise<Ports> {
  const portOf = ({ server }: FastifyInstance) => (server.address() as AddressInfo).port;
  // Set before the first connection is accepted, because requests need the token issuer.
  authApp.server.once("listening", () => addresses.set({ auth: portOf(authApp) }));
  app.server.once("listening", () => addresses.set({ base: portOf(app), auth: portOf(authApp) }));
  const how = shared ? { host, reusePort: true } : { host };
  if (authApp !== app) await authApp.listen({ ...how, port: authPort ?? 0 });
  await app.listen({ ...how, port });
  return { port: portOf(app), authPort: authApp === app ? undefined : portOf(authApp), shared };
}
