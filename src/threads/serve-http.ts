import type { AddressInfo } from "node:net";
import type pg from "pg";
import { AcceptLog } from "../accept/accept-log.ts";
import { PropertyRegister } from "../accept/property-register.ts";
import type { Addresses, Authenticator } from "../auth/authenticator.ts";
import { createRateLimiter } from "../auth/rate-limiter.ts";
import { registerAuthRoutes } from "../auth/routes.ts";
import type { Config } from "../config.ts";
import { buildApp } from "../http/app.ts";
import { BodyBudget } from "../http/body-budget.ts";
import type { HttpContext } from "../http/context.ts";
import { registerDataRoutes } from "../http/data-routes.ts";
import { registerDocsRoutes } from "../http/docs-routes.ts";
import { registerHealthRoutes } from "../http/health-routes.ts";
import { registerMetricsRoute } from "../http/metrics-route.ts";
import { registerReadRoutes } from "../http/read-routes.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BucketHints } from "./bucket-hints.ts";
import type { Stops } from "./stops.ts";

/** What is left of the 10 s that a drain may take, for the applier and the database. */
const DRAIN_REQUESTS_MS_MAX = 6_000;

/** What HTTP is served with. */
export interface HttpParts {
  readonly config: Config;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly pool: pg.Pool;
  /** For the lanes, which have connections of their own. */
  readonly clientConfig: pg.ClientConfig;
  readonly authenticator: Authenticator;
  readonly hints: BucketHints;
  /** Told where the service listens before its first connection is taken. */
  readonly addresses: ListeningAddresses;
  /** Why the process can accept nothing now, whatever the lanes say. */
  blockedReason(): string | undefined;
  metricsText(): Promise<string>;
}

/** Where the service is found: as it is set, else where it listens. */
export class ListeningAddresses {
  readonly #config: Pick<Config, "baseUrl" | "authUrl">;
  base = "";
  auth = "";

  constructor(config: Pick<Config, "baseUrl" | "authUrl">) {
    this.#config = config;
  }

  readonly read = (): Addresses => ({
    baseUrl: this.#config.baseUrl ?? this.base,
    authUrl: this.#config.authUrl ?? this.#config.baseUrl ?? this.auth,
  });
}

function openAcceptLog({ config, clientConfig, metrics, log, hints }: HttpParts): Promise<AcceptLog> {
  return AcceptLog.open(clientConfig, config.acceptWriters, {
    flushed(appends, bytes, durationMs) {
      metrics.flushAppends.observe(appends);
      metrics.flushBytes.observe(bytes);
      metrics.flushSeconds.observe(durationMs / 1000);
    },
    appended(buckets) {
      hints.tell(buckets);
    },
    failed(error) {
      metrics.laneFailures.inc();
      log.warn({ err: error }, "a lane failed");
    },
  });
}

function createContext(parts: HttpParts, acceptLog: AcceptLog): HttpContext {
  const { config, log, metrics, pool, authenticator } = parts;
  const budget = new BodyBudget(config.limits.bodiesInFlightBytesMax, config.limits.inflatedBytesMax);
  return {
    pool,
    log,
    metrics,
    authenticator,
    rateLimiter: createRateLimiter(),
    acceptLog,
    properties: new PropertyRegister(pool, config.newPropertiesPerDay),
    budget,
    limits: config.limits,
    metricsText: () => {
      metrics.bodyBytesInFlight.set(budget.bytesInUse);
      return parts.metricsText();
    },
    blockedReason: () =>
      parts.blockedReason() ?? (acceptLog.ready ? undefined : "The accept log has no database connection."),
  };
}

function addressOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Serves HTTP on this thread: lanes, routes and ports. What it starts is pushed to `stops`. */
export async function serveHttp(parts: HttpParts, stops: Stops): Promise<void> {
  const { config, authenticator, addresses } = parts;
  const acceptLog = await openAcceptLog(parts);
  stops.push(() => acceptLog.close());
  const context = createContext(parts, acceptLog);
  const app = buildApp(context);
  registerDataRoutes(app, context);
  registerReadRoutes(app, context);
  registerHealthRoutes(app, context);
  registerMetricsRoute(app, context, config.metricsToken);
  const { limits, requestRate, requestBurst, tokenBurst, sandbox } = config;
  registerDocsRoutes(app, {
    limits,
    requestRate,
    requestBurst,
    tokenBurst,
    sandbox,
    addresses: addresses.read,
  });
  const authApp = config.authPort === undefined ? app : buildApp(context);
  await registerAuthRoutes(authApp, { internals: authenticator.internals, addresses: addresses.read });
  const addressAt = ({ server }: typeof app) =>
    addressOf(config.host, (server.address() as AddressInfo).port);
  // Known before the first connection is taken: a request in between would not know who issues its token.
  authApp.server.once("listening", () => {
    addresses.auth = addressAt(authApp);
  });
  app.server.once("listening", () => {
    addresses.base = addressAt(app);
  });
  stops.push(() =>
    Promise.race([
      Promise.all([...new Set([app, authApp])].map((listener) => listener.close())),
      new Promise((resolve) => setTimeout(resolve, DRAIN_REQUESTS_MS_MAX).unref()),
    ]),
  );
  if (authApp !== app) await authApp.listen({ host: config.host, port: config.authPort ?? 0 });
  await app.listen({ host: config.host, port: config.port });
}
