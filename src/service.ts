import { keepUpAcceptLog } from "./accept/upkeep.ts";
import { type Authenticator, createAuthenticator } from "./auth/authenticator.ts";
import type { Config } from "./config.ts";
import { DiskWatch } from "./db/disk-watch.ts";
import { type Database, openDatabase } from "./db/open-database.ts";
import type { Logger, LoggerOptions } from "./observe/log.ts";
import { createMetrics, type Metrics, measureProcess, renderMetrics } from "./observe/metrics.ts";
import type { ApplyCalls } from "./threads/apply-thread.ts";
import { BucketHints } from "./threads/bucket-hints.ts";
import { ListeningAddresses, serveHttp } from "./threads/serve-http.ts";
import { ServiceThread } from "./threads/service-thread.ts";
import { Stops } from "./threads/stops.ts";
import { type ThreadLog, threadLogOf } from "./threads/thread-log.ts";

/** A running service. */
export interface Service {
  /** Address of the data endpoints as this process serves them, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly authAddress: string;
  readonly database: Database;
  readonly authenticator: Authenticator;
  /** Settles when a thread of the service ends without being told to: what is left has to be stopped. */
  readonly failed: Promise<Error>;
  /** Answers what is in flight, applies what is running, and closes everything. */
  stop(): Promise<void>;
}

/**
 * Starts everything in the order of its needs; what was started is stopped again when a later step fails. `logOptions` are
 * those that `log` was made with: its threads then write to the same place, else by way of it.
 */
export async function startService(
  config: Config,
  log: Logger,
  logOptions?: LoggerOptions,
): Promise<Service> {
  const stops = new Stops();
  try {
    return await startInOrder(config, log, threadLogOf(log, logOptions), stops);
  } catch (error) {
    await stops.all().catch((cause: unknown) => log.warn({ err: cause }, "a failed start left something"));
    throw error;
  }
}

async function startInOrder(
  config: Config,
  log: Logger,
  threadLog: ThreadLog,
  stops: Stops,
): Promise<Service> {
  // It loads its modules while the database is opened.
  const applyThread = config.apply
    ? new ServiceThread<ApplyCalls>("apply", "apply", threadLog, log)
    : undefined;
  stops.push(() => applyThread?.leave());
  const database = await openDatabase(config, log, { role: "service" });
  stops.push(() => database.close());
  const addresses = new ListeningAddresses(config);
  const { pool, clientConfig } = database;
  const authenticator = createAuthenticator({ pool, config, log, addresses: addresses.read });
  await authenticator.prepare();
  const hints = new BucketHints();
  if (applyThread !== undefined) await startToApply(applyThread, config, database, hints, stops);
  const upkeep = keepUpAcceptLog(pool, (error) => log.warn({ err: error }, "upkeep of the log failed"));
  stops.push(() => upkeep.stop());
  const diskWatch = new DiskWatch(database.dataDirectory, config.minFreeDiskBytes);
  stops.push(() => diskWatch.stop());
  const metrics = createMetrics();
  measureProcess(metrics);
  await serveHttp(
    {
      ...{ config, log, metrics, pool, clientConfig, authenticator, hints, addresses },
      blockedReason: () => diskWatch.blocked,
      metricsText: () => metricsOfProcess(metrics, database, applyThread),
    },
    stops,
  );
  return {
    address: addresses.base,
    authAddress: addresses.auth,
    database,
    authenticator,
    failed: applyThread?.died ?? new Promise<never>(() => undefined),
    stop: () => stops.all(),
  };
}

async function startToApply(
  thread: ServiceThread<ApplyCalls>,
  { applyWriters, applyPollMs }: Config,
  { session }: Database,
  hints: BucketHints,
  stops: Stops,
): Promise<void> {
  stops.push(() => thread.stop());
  await thread.call("start", { session, applyWriters, applyPollMs, hints: hints.memory });
}

async function metricsOfProcess(
  metrics: Metrics,
  { pool }: Database,
  applyThread: ServiceThread<ApplyCalls> | undefined,
): Promise<string> {
  metrics.poolConnections.set({ state: "idle" }, pool.idleCount);
  metrics.poolConnections.set({ state: "busy" }, pool.totalCount - pool.idleCount);
  metrics.poolConnections.set({ state: "waiting" }, pool.waitingCount);
  const own = await metrics.registry.getMetricsAsJSON();
  if (applyThread === undefined) return renderMetrics([own]);
  return renderMetrics([own, await applyThread.call("metrics", undefined)]);
}
