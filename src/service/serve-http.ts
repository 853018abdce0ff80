import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type pg from "pg";
import { BackfillAdmission } from "../backfill/admission.ts";
import { registerBackfillChanges, registerBackfillReads } from "../backfill/backfill-routes.ts";
import { BackfillLog } from "../backfill/tally.ts";
import { registerCertificationRoute } from "../certification/certification-route.ts";
import { tokenWatchOf } from "../certification/note-wire.ts";
import { WireNotes } from "../certification/wire-notes.ts";
import type { Config } from "../config.ts";
import { registerDocsRoutes } from "../documentation/docs-routes.ts";
import { createFailureLimiter } from "../identity/attempt-limiters.ts";
import type { Addresses, Authenticator } from "../identity/authenticator.ts";
import { createRateLimiter } from "../identity/rate-limiter.ts";
import { registerAuthRoutes } from "../identity/routes.ts";
import { AcceptLog, PropertyRegister } from "../ingest/log/accept-log.ts";
import type { SealingKey } from "../ingest/log/log-writer-session.ts";
import { RequestIdStamp } from "../ingest/log/part-name.ts";
import { openSealedPayloads, PayloadSealing } from "../ingest/log/payload-keys.ts";
import { DataEndpoints } from "../ingest/pipeline.ts";
import { RedactionListWatch } from "../ingest/redact.ts";
import { registerInsightRoutes } from "../insight/insight-routes.ts";
import { registerMetricsRoute } from "../operations/metrics/metrics-route.ts";
import { DiskWatch } from "../platform/db/disk-watch.ts";
import { createQuestionPool, tellSlowStatements } from "../platform/db/pool.ts";
import type { Role } from "../platform/db/presence.ts";
import { clientAddressReader } from "../platform/http/client-address.ts";
import { BodyBudget, receiveSmallBody, roomOfLargestBody } from "../platform/http/receive-body.ts";
import { RequestLog } from "../platform/http/request-log.ts";
import { letLowerPriority } from "../platform/runtime/lower-priority.ts";
import { SharedCounter } from "../platform/runtime/shared-memory.ts";
import type { Stops } from "../platform/runtime/stops.ts";
import type { Logger } from "../platform/telemetry/log.ts";
import { type Metrics, type MetricValues, readMetrics } from "../platform/telemetry/metrics.ts";
import type { Tracer } from "../platform/telemetry/opentelemetry.ts";
import { registerReadRoutes } from "../query/read-routes.ts";
import type { HttpContext } from "../service-context.ts";
import { AddressRules } from "../webhooks/address-rules.ts";
import { registerWebhookRoutes } from "../webhooks/webhook-routes.ts";
import { buildApp } from "./app.ts";
import { BucketHints } from "./bucket-hints.ts";
import { registerConsole } from "./register-console.ts";
import { NodeCounts, type SharedState } from "./shared-state.ts";

/** Where the service is found: as it is set, else where it listens. */
export class ListeningAddresses {
  readonly #config: Pick<Config, "host" | "baseUrl" | "authUrl">;
  base = "";
  auth = "";

  constructor(config: Pick<Config, "host" | "baseUrl" | "authUrl">) {
    this.#config = config;
  }

  /** Notes the ports of the data endpoints and of the token endpoint, as far as they are known. */
  set({ base, auth }: { readonly base?: number; readonly auth?: number }): void {
    if (base !== undefined) this.base = this.#addressOf(base);
    if (auth !== undefined) this.auth = this.#addressOf(auth);
  }

  readonly read = (): Addresses => ({
    baseUrl: this.#config.baseUrl ?? this.base,
    authUrl: this.#config.authUrl ?? this.#config.baseUrl ?? this.auth,
  });

  #addressOf(port: number): string {
    const { host } = this.#config;
    return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
  }
}

/** `/healthz`: the process lives. `/readyz`: 200 when a balancer should send requests here, 503 with the reason when not. */
function registerHealthRoutes(app: FastifyInstance, context: HttpContext): void {
  app.get("/healthz", async (_request, reply) =>
    reply.header("cache-control", "no-store").send({ status: "alive" }),
  );
  app.get("/readyz", async (_request, reply) => {
    const reason = await context.processBlockedReason();
    reply.header("cache-control", "no-store").code(reason === undefined ? 200 : 503);
    const { roles } = context;
    return reply.send(
      reason === undefined ? { status: "ready", roles } : { status: "unready", roles, reason },
    );
  });
}

/** One log writer a thread: batches of backfills that wait for it share its next flush. */
const BACKFILL_WRITERS = 1;
/** What is left of the 10 s that a drain may take, for the applier and the database. */
const DRAIN_REQUESTS_MS_MAX = 6_000;

/** What HTTP is served with on one thread. */
export interface HttpParts {
  readonly thread: string;
  readonly config: Config;
  readonly log: Logger;
  /** The thread's own. */
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly pool: pg.Pool;
  /** For the log writers, which have connections of their own. */
  readonly clientConfig: pg.ClientConfig;
  /** The embedded server's data directory, whose free space is watched. */
  readonly dataDirectory: string | undefined;
  readonly authenticator: Authenticator;
  readonly addresses: ListeningAddresses;
  readonly shared: SharedState;
  /** What only the whole process knows. */
  readonly process: Pick<HttpContext, "processBlockedReason" | "processMetrics">;
}

/** HTTP as one thread serves it. */
export interface HttpServing {
  /** Takes connections from now on; 0 for a port takes a free one. Answers the ports. */
  listen(ports: Ports): Promise<Ports>;
  /** Why this thread cannot do now what the role is for; undefined when it can. */
  blockedReason(role: Role): string | undefined;
  metrics(): Promise<MetricValues>;
}

/** Where to listen; `shared` when other threads listen there too. */
export interface Ports {
  readonly port: number;
  readonly authPort: number | undefined;
  readonly shared: boolean;
}

/** Makes everything that HTTP needs on this thread, and listens to nothing yet. What it starts is pushed to `stops`. */
export async function prepareHttp(parts: HttpParts, stops: Stops): Promise<HttpServing> {
  const { config, metrics } = parts;
  const roles = new Set<Role>(config.roles);
  const sealingKey = await followSealing(parts, stops);
  const openLog = (backfillWriters?: number) => openAcceptLog(parts, sealingKey, backfillWriters);
  const acceptLog = roles.has("accept") ? await openLog() : undefined;
  if (acceptLog !== undefined) stops.push(() => acceptLog.close());
  const backfillLog = new BackfillLog(() => openLog(BACKFILL_WRITERS));
  stops.push(() => backfillLog.close());
  const diskWatch = new DiskWatch(parts.dataDirectory, config.minFreeDiskBytes);
  stops.push(() => diskWatch.stop());
  const watch = tellSlowStatements(config.slowQueryMs, parts.log, metrics);
  // A batch that is to be accepted goes before a question that adds up for a second.
  const questions = createQuestionPool(parts.clientConfig, parts.log, watch, (processId) => {
    if (parts.dataDirectory !== undefined) letLowerPriority(processId);
  });
  stops.push(() => questions.end());
  const cursorKey = await parts.authenticator.internals.cursorKey();
  const context = createContext(parts, cursorKey, acceptLog, backfillLog, diskWatch, questions);
  stops.push(() => context.wireNotes.settled());
  const requestLog = new RequestLog(context);
  const webhookRules = new AddressRules(config.webhookAllowedNetworks);
  const accepts = roles.has("accept");
  const app = buildApp(context, requestLog, accepts ? new DataEndpoints(context, requestLog) : undefined);
  if (accepts) registerBackfillChanges(app, context);
  if (roles.has("read")) {
    registerReadRoutes(app, context);
    registerBackfillReads(app, context);
    registerInsightRoutes(app, context);
    registerWebhookRoutes(app, context, {
      sealer: parts.authenticator.internals.sealer,
      rules: webhookRules,
    });
    registerCertificationRoute(app, context);
  }
  registerHealthRoutes(app, context);
  registerMetricsRoute(app, context, config.metricsToken);
  const { limits, requestRate, requestBurst, tokenBurst, sandbox } = config;
  const addresses = parts.addresses.read;
  registerDocsRoutes(app, { limits, requestRate, requestBurst, tokenBurst, sandbox, addresses });
  if (roles.has("read")) {
    const { internals } = parts.authenticator;
    await registerConsole(app, context, {
      internals,
      addresses,
      logins: parts.shared.logins,
      webhookRules,
    });
  }
  const authApp = config.authPort === undefined ? app : buildApp(context, requestLog);
  if (accepts) await registerAuth(authApp, parts, context);
  stops.push(() =>
    Promise.race([
      Promise.all([...new Set([app, authApp])].map((listener) => listener.close())),
      new Promise((resolve) => setTimeout(resolve, DRAIN_REQUESTS_MS_MAX).unref()),
    ]),
  );
  return {
    listen: (ports) => listen(app, authApp, parts, ports),
    blockedReason: (role) => (role === "accept" ? context.blockedReason() : undefined),
    metrics: () => {
      const sum = (count: (pool: pg.Pool) => number) => count(parts.pool) + count(questions);
      metrics.poolConnections.set(
        { state: "idle" },
        sum(({ idleCount }) => idleCount),
      );
      metrics.poolConnections.set(
        { state: "busy" },
        sum(({ totalCount, idleCount }) => totalCount - idleCount),
      );
      metrics.poolConnections.set(
        { state: "waiting" },
        sum(({ waitingCount }) => waitingCount),
      );
      metrics.bodyBytesInFlight.set(context.budget.bytesInUse);
      for (const role of ["accept", "read"] as const) metrics.nodesPresent.set({ role }, context.nodes(role));
      return readMetrics(metrics, parts.thread);
    },
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

/** Has sealed parts open on this thread, and answers what new ones are sealed with. */
async function followSealing(
  { config, log, pool, authenticator }: HttpParts,
  stops: Stops,
): Promise<SealingKey> {
  const { sealer } = authenticator.internals;
  stops.push(openSealedPayloads(pool, sealer));
  if (!config.encryptPayloads) return () => undefined;
  const failed = (error: unknown) => log.warn({ err: error }, "the payload key could not be read again");
  const sealing = await PayloadSealing.follow(pool, sealer, failed);
  stops.push(() => sealing.stop());
  return () => sealing.key;
}

/** `backfillWriters`: so many log writers for batches of backfills instead of the others. */
function openAcceptLog(parts: HttpParts, sealingKey: SealingKey, backfillWriters = 0): Promise<AcceptLog> {
  const { config, clientConfig, log, metrics, shared } = parts;
  const hints = new BucketHints(shared.hints);
  const stamp = new RequestIdStamp(shared.stamp);
  const events = {
    flushed(appends: number, bytes: number, durationMs: number) {
      metrics.flushAppends.observe(appends);
      metrics.flushBytes.observe(bytes);
      metrics.flushSeconds.observe(durationMs / 1000);
    },
    appended(buckets: ReadonlySet<number>) {
      hints.tell(buckets);
    },
    failed(error: unknown) {
      metrics.logWriterFailures.inc();
      log.warn({ err: error }, "a log writer failed");
    },
  };
  const writers = backfillWriters || config.acceptWriters;
  return AcceptLog.open(clientConfig, writers, events, stamp, {
    isBackfill: backfillWriters > 0,
    sealingKey,
    watch: tellSlowStatements(config.slowQueryMs, log, metrics),
  });
}

/** Also hears of expired tokens, of which nothing else is known by then than whose they were. */
function openWireNotes({ pool, log, authenticator }: HttpParts): WireNotes {
  const { directory } = authenticator.internals;
  const failed = (error: unknown) => log.warn({ err: error }, "events of a certification could not be noted");
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
  backfillLog: BackfillLog,
  diskWatch: DiskWatch,
  questions: pg.Pool,
): HttpContext {
  const { config, log, metrics, tracer, pool, authenticator, shared } = parts;
  const { limits } = config;
  const nodes = new NodeCounts(shared.nodes);
  const leaving = new SharedCounter(shared.leaving);
  return {
    pool,
    questions,
    log,
    metrics,
    tracer,
    slowRequestMs: config.slowRequestMs,
    authenticator,
    cursorKey,
    rateLimiter: createRateLimiter(undefined, shared.rates),
    get acceptLog() {
      if (acceptLog === undefined) throw new Error("This node has not the role to accept.");
      return acceptLog;
    },
    backfillLog: () => backfillLog.open(),
    backfills: new BackfillAdmission(pool),
    properties: new PropertyRegister(pool, config.newPropertiesPerDay),
    redactions: new RedactionListWatch(pool, (error) =>
      log.warn({ err: error }, "the erasure list could not be looked at"),
    ),
    wireNotes: openWireNotes(parts),
    budget: new BodyBudget(limits.bodiesInFlightBytesMax, roomOfLargestBody(limits), shared.budget),
    limits,
    roles: config.roles,
    nodes: (role) => nodes.of(role),
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
  // Known before the first connection is taken: a request in between would not know who issues its token.
  authApp.server.once("listening", () => addresses.set({ auth: portOf(authApp) }));
  app.server.once("listening", () => addresses.set({ base: portOf(app), auth: portOf(authApp) }));
  const how = shared ? { host, reusePort: true } : { host };
  if (authApp !== app) await authApp.listen({ ...how, port: authPort ?? 0 });
  await app.listen({ ...how, port });
  return { port: portOf(app), authPort: authApp === app ? undefined : portOf(authApp), shared };
}
