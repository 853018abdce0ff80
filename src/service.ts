import type { AddressInfo } from "node:net";
import { AcceptLog } from "./accept/accept-log.ts";
import { BUCKET_COUNT } from "./accept/bucket.ts";
import { PropertyRegister } from "./accept/property-register.ts";
import { keepUpAcceptLog } from "./accept/upkeep.ts";
import { Applier } from "./apply/applier.ts";
import { PropertyDirectory } from "./apply/property-directory.ts";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.ts";
import { createRateLimiter } from "./auth/rate-limiter.ts";
import { registerAuthRoutes } from "./auth/routes.ts";
import type { Config } from "./config.ts";
import { DiskWatch } from "./db/disk-watch.ts";
import { type Database, openDatabase } from "./db/open-database.ts";
import { buildApp } from "./http/app.ts";
import { BodyBudget } from "./http/body-budget.ts";
import type { HttpContext } from "./http/context.ts";
import { registerDataRoutes } from "./http/data-routes.ts";
import { registerDocsRoutes } from "./http/docs-routes.ts";
import { registerHealthRoutes } from "./http/health-routes.ts";
import { registerMetricsRoute } from "./http/metrics-route.ts";
import { registerReadRoutes } from "./http/read-routes.ts";
import type { Logger } from "./observe/log.ts";
import { createMetrics, type Metrics } from "./observe/metrics.ts";

const OUTCOME_NAMES = {
  a: "applied",
  u: "unchanged",
  s: "stale",
  d: "duplicate",
  q: "quarantined",
  x: "discarded",
} as const;
/** What is left of the 10 s that a drain may take, for the applier and the database. */
const DRAIN_REQUESTS_MS_MAX = 6_000;

/** A running service. */
export interface Service {
  /** Address of the data endpoints as this process serves them, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly authAddress: string;
  readonly database: Database;
  readonly authenticator: Authenticator;
  /** Answers what is in flight, applies what is running, and closes everything. */
  stop(): Promise<void>;
}

function startAppliers(config: Config, database: Database, metrics: Metrics, log: Logger): Applier[] {
  const properties = new PropertyDirectory(database.pool);
  return Array.from({ length: config.applyWriters }, (_, writer) => {
    const applier = new Applier({
      clientConfig: database.clientConfig,
      pool: database.pool,
      properties,
      owner: `${process.pid}/${writer}`,
      buckets: Array.from({ length: BUCKET_COUNT }, (_, bucket) => bucket).filter(
        (bucket) => bucket % config.applyWriters === writer,
      ),
      pollMs: config.applyPollMs,
      events: {
        applied(counts, oldestReceivedAt, durationMs) {
          for (const [letter, count] of Object.entries(counts)) {
            metrics.appliedRecords.inc(
              { outcome: OUTCOME_NAMES[letter as keyof typeof OUTCOME_NAMES] },
              count,
            );
          }
          metrics.applySeconds.observe(durationMs / 1000);
          metrics.applyLagSeconds.set(Math.max(0, (Date.now() - oldestReceivedAt.getTime()) / 1000));
        },
        failed(error) {
          metrics.applyFailures.inc();
          log.warn({ err: error }, "apply failed and is tried again");
        },
      },
    });
    applier.start();
    return applier;
  });
}

function openAcceptLog(
  config: Config,
  database: Database,
  metrics: Metrics,
  log: Logger,
  appliers: readonly Applier[],
): Promise<AcceptLog> {
  return AcceptLog.open(database.clientConfig, config.acceptWriters, {
    flushed(appends, bytes, durationMs) {
      metrics.flushAppends.observe(appends);
      metrics.flushBytes.observe(bytes);
      metrics.flushSeconds.observe(durationMs / 1000);
    },
    appended(buckets) {
      for (const applier of appliers) applier.wake(buckets);
    },
    failed(error) {
      metrics.laneFailures.inc();
      log.warn({ err: error }, "a lane failed");
    },
  });
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** How each thing that was started is stopped, in the order of the starts. */
type Stops = (() => unknown)[];

/** Stops what was started, the last first. */
async function stopAll(stops: Stops): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}

/** Starts everything in the order of its needs; what was started is stopped again when a later step fails. */
export async function startService(config: Config, log: Logger): Promise<Service> {
  const stops: Stops = [];
  try {
    return await startInOrder(config, log, stops);
  } catch (error) {
    await stopAll(stops).catch((cause: unknown) => log.warn({ err: cause }, "a failed start left something"));
    throw error;
  }
}

async function startInOrder(config: Config, log: Logger, stops: Stops): Promise<Service> {
  const database = await openDatabase(config, log, { role: "service" });
  stops.push(() => database.close());
  const metrics = createMetrics();
  let listening = { base: "", auth: "" };
  const addresses = () => ({
    baseUrl: config.baseUrl ?? listening.base,
    authUrl: config.authUrl ?? config.baseUrl ?? listening.auth,
  });
  const authenticator = createAuthenticator({ pool: database.pool, config, log, addresses });
  await authenticator.prepare();
  const appliers = startAppliers(config, database, metrics, log);
  stops.push(() => Promise.all(appliers.map((applier) => applier.stop())));
  const acceptLog = await openAcceptLog(config, database, metrics, log, appliers);
  stops.push(() => acceptLog.close());
  const upkeep = keepUpAcceptLog(database.pool, (error) =>
    log.warn({ err: error }, "upkeep of the log failed"),
  );
  stops.push(() => upkeep.stop());
  const diskWatch = new DiskWatch(database.dataDirectory, config.minFreeDiskBytes);
  stops.push(() => diskWatch.stop());
  const context: HttpContext = {
    pool: database.pool,
    log,
    metrics,
    authenticator,
    rateLimiter: createRateLimiter(),
    acceptLog,
    properties: new PropertyRegister(database.pool, config.newPropertiesPerDay),
    budget: new BodyBudget(config.limits.bodiesInFlightBytesMax, config.limits.inflatedBytesMax),
    limits: config.limits,
    blockedReason: () =>
      diskWatch.blocked ?? (acceptLog.ready ? undefined : "The accept log has no database connection."),
  };
  const app = buildApp(context);
  registerDataRoutes(app, context);
  registerReadRoutes(app, context);
  registerHealthRoutes(app, context);
  registerMetricsRoute(app, context, config.metricsToken);
  const { limits, requestRate, requestBurst, tokenBurst, sandbox } = config;
  registerDocsRoutes(app, { limits, requestRate, requestBurst, tokenBurst, sandbox, addresses });
  const authApp = config.authPort === undefined ? app : buildApp(context);
  await registerAuthRoutes(authApp, { internals: authenticator.internals, addresses });
  const addressAt = ({ server }: typeof app) =>
    addressOf(config.host, (server.address() as AddressInfo).port);
  // Known before the first connection is taken: a request in between would not know who issues its token.
  authApp.server.once("listening", () => {
    listening = { base: "", auth: addressAt(authApp) };
  });
  app.server.once("listening", () => {
    listening = { base: addressAt(app), auth: addressAt(authApp) };
  });
  stops.push(() =>
    Promise.race([
      Promise.all([...new Set([app, authApp])].map((listener) => listener.close())),
      new Promise((resolve) => setTimeout(resolve, DRAIN_REQUESTS_MS_MAX).unref()),
    ]),
  );
  if (authApp !== app) await authApp.listen({ host: config.host, port: config.authPort ?? 0 });
  await app.listen({ host: config.host, port: config.port });
  return {
    address: listening.base,
    authAddress: listening.auth,
    database,
    authenticator,
    stop: () => stopAll(stops),
  };
}
